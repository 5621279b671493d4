//! Drives a policy by what really happens, as the simulator drives it by what would.
//!
//! The driver keeps the facts ([`State`]), tells the policy ([`Driver::arrive`] and so on, in the order
//! of the simulator's moments: ends, arrivals, wake-ups), and at the end of each moment asks for
//! the plan and has the shared allocators make rates of it ([`Driver::decide`]). It has no clock: every
//! call says what time it is.

use std::collections::BTreeSet;

use covey_core::alloc::{Allocator, PlanError};
use covey_core::state::{FlowSpec, Progress, Registration, State};
use covey_core::{
    Answer, AnyPolicy, Codec, CoflowId, Demand, Fabric, FlowId, Group, Knowledge, LinkId, Plan,
    Policy, PortId, Rank, Ranking, Sender, Time, View, Wake, Wakes, Wants,
};

use crate::layers::LayerOf;

/// What a policy is told.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Told {
    Arrived(CoflowId),
    Started(CoflowId),
    Restarted(FlowId),
    Ended(FlowId),
    Drained(CoflowId, LinkId),
    Left(CoflowId),
    Sent(CoflowId, f64),
    DagSent(u64, f64),
    LinkSent(CoflowId, LinkId, f64),
    FlowSent(CoflowId, f64),
    Measured(Codec),
    Woke,
}

impl Told {
    /// The coflow that it concerns, if it is one.
    fn coflow(&self) -> Option<CoflowId> {
        match *self {
            Told::Arrived(id)
            | Told::Started(id)
            | Told::Drained(id, _)
            | Told::Left(id)
            | Told::Sent(id, _)
            | Told::LinkSent(id, ..)
            | Told::FlowSent(id, _) => Some(id),
            Told::Restarted(flow) | Told::Ended(flow) => Some(flow.coflow),
            Told::DagSent(..) | Told::Measured(_) | Told::Woke => None,
        }
    }
}

/// A policy with its plan, whatever it knows.
trait Mind: Send {
    fn tell(&mut self, told: Told, state: &State, now: Time);
    fn plan(&mut self, state: &State, now: Time) -> Answer;
    fn edits(&self) -> Option<&[(Rank, Group)]>;
    fn tell_allocator(&mut self, allocator: &mut Allocator);
    fn ranking(&self) -> &Ranking;
    fn wakes(&self) -> &Wakes;
    fn wakes_mut(&mut self) -> &mut Wakes;
}

struct Typed<K: Knowledge> {
    policy: Box<dyn Policy<K>>,
    plan: Plan<K>,
}

impl<K: Knowledge> Mind for Typed<K> {
    fn tell(&mut self, told: Told, state: &State, now: Time) {
        let (policy, view) = (&mut self.policy, &View::new(state, now));
        match told {
            Told::Arrived(id) => policy.coflow_arrived(id, view),
            Told::Started(id) => policy.flows_started(id, view),
            Told::Restarted(flow) => policy.flow_restarted(flow, view),
            Told::Ended(flow) => policy.flow_ended(flow, view),
            Told::Drained(id, link) => policy.port_drained(id, link, view),
            Told::Left(id) => policy.coflow_ended(id, view),
            Told::Sent(id, bytes) => policy.bytes_reached(id, bytes, view),
            Told::DagSent(dag, bytes) => policy.dag_bytes_reached(dag, bytes, view),
            Told::LinkSent(id, link, bytes) => policy.link_bytes_reached(id, link, bytes, view),
            Told::FlowSent(id, bytes) => policy.flow_bytes_reached(id, bytes, view),
            Told::Measured(codec) => policy.codec_measured(codec),
            Told::Woke => policy.woke(view),
        }
    }

    fn plan(&mut self, state: &State, now: Time) -> Answer {
        self.policy.plan(&View::new(state, now), &mut self.plan)
    }

    fn edits(&self) -> Option<&[(Rank, Group)]> {
        self.plan.edits()
    }

    fn tell_allocator(&mut self, allocator: &mut Allocator) {
        allocator.read_edits(&mut self.plan);
    }

    fn ranking(&self) -> &Ranking {
        self.plan.ranking()
    }

    fn wakes(&self) -> &Wakes {
        self.plan.wakes()
    }

    fn wakes_mut(&mut self) -> &mut Wakes {
        self.plan.wakes_mut()
    }
}

fn mind<K: Knowledge>(policy: Box<dyn Policy<K>>) -> (Box<dyn Mind>, Wants, Vec<f64>) {
    let (wants, limits) = (policy.wants(), policy.link_limits().to_vec());
    (Box::new(Typed { policy, plan: Plan::default() }), wants, limits)
}

/// What has ended since the policy was last told.
#[derive(Debug, Default)]
struct Ended {
    flows: Vec<FlowId>,
    drained: Vec<(CoflowId, LinkId)>,
    /// Coflows of which every flow has.
    complete: Vec<CoflowId>,
    leaving: Vec<CoflowId>,
}

/// A policy, the facts it decides by, and the rates it has led to.
pub struct Driver {
    mind: Box<dyn Mind>,
    wants: Wants,
    limits: Vec<f64>,
    sees_sizes: bool,
    state: State,
    allocator: Allocator,
    layers: LayerOf,
    /// Whether the last decision's plan was written anew, and not kept.
    planned_anew: bool,
    /// Coflows by DAG.
    dags: BTreeSet<(u64, CoflowId)>,
    /// Whether the policy has been told anything since it was last asked.
    told: bool,
    ended: Ended,
}

impl Driver {
    /// Nothing has happened yet.
    pub fn new(fabric: Fabric, policy: AnyPolicy) -> Driver {
        let sees_sizes = matches!(policy, AnyPolicy::Clairvoyant(_));
        let (mind, wants, limits) = match policy {
            AnyPolicy::Clairvoyant(policy) => mind(policy),
            AnyPolicy::NonClairvoyant(policy) => mind(policy),
        };
        Driver {
            mind,
            wants,
            limits,
            sees_sizes,
            state: State::new(fabric),
            allocator: Allocator::default(),
            layers: LayerOf::default(),
            planned_anew: false,
            dags: BTreeSet::new(),
            told: false,
            ended: Ended::default(),
        }
    }

    /// The facts.
    pub fn state(&self) -> &State {
        &self.state
    }

    /// The rates in force.
    pub fn rates(&self) -> &Allocator {
        &self.allocator
    }

    /// The plan in force.
    pub fn ranking(&self) -> &Ranking {
        self.mind.ranking()
    }

    /// Whether the policy wrote its plan anew at the last decision, and did not keep it.
    pub fn planned_anew(&self) -> bool {
        self.planned_anew
    }

    /// The layers of flows in the plan in force.
    pub fn layers(&self) -> &LayerOf {
        &self.layers
    }

    /// The wake-ups that the policy waits for.
    pub fn wakes(&self) -> &Wakes {
        self.mind.wakes()
    }

    /// Whose bytes the policy has begun to wait for since this was last called.
    pub fn take_fresh(&mut self) -> impl Iterator<Item = Sender> {
        self.mind.wakes_mut().take_fresh()
    }

    /// The numbers of bytes of a coflow through a link that the policy is told of, ascending.
    pub fn link_limits(&self) -> &[f64] {
        &self.limits
    }

    /// Whether the policy decides by what flows have sent, or by what is left of them: then that is to
    /// be brought up to date ([`Driver::report`], [`Driver::progress_mut`]) all the time.
    pub fn needs_progress(&self) -> bool {
        self.sees_sizes || self.wants.attained
    }

    /// Whether sizes of flows must be known when they are registered.
    pub fn needs_sizes(&self) -> bool {
        self.sees_sizes
    }

    /// Writes down that a coflow has sent so many bytes in all.
    pub fn report(&mut self, id: CoflowId, bytes: f64, now: Time) {
        self.state.report(id, bytes, now);
    }

    /// What is left of a coflow's flows, to be brought up to date before a moment for policies that see
    /// sizes. A flow of which nothing is left has not ended before [`Driver::finish`] says so.
    pub fn progress_mut(&mut self, id: CoflowId) -> (&Demand, &mut Progress) {
        self.allocator.touch(id);
        self.state.progress_mut(id)
    }

    /// An active flow has ended, of so many bytes, for which fewer may have been sent. The policy hears of it
    /// by [`Driver::tell_ends`].
    pub fn finish(&mut self, flow: FlowId, bytes: f64, sent: f64) {
        self.state.set_size(flow, bytes);
        self.state.compressed_mut(flow.coflow).account(bytes - sent, 0.0);
        let position = self.state.coflow(flow.coflow).demand().position(flow.index);
        let drained = &mut self.ended.drained;
        self.state.finish(flow.coflow, position, |link| drained.push((flow.coflow, link)));
        self.allocator.touch(flow.coflow);
        self.allocator.adjust(&self.state, flow.coflow, position, -1.0);
        self.ended.flows.push(flow);
        if self.state.coflow(flow.coflow).is_over() {
            self.ended.complete.push(flow.coflow);
        }
    }

    /// A coflow is to go, whatever is left of it: what is active of it must have been finished.
    pub fn leave(&mut self, id: CoflowId) {
        self.ended.leaving.push(id);
    }

    /// Tells the policy what has ended, and lets coflows go of which every flow has, unless
    /// `stays_open`. Returns those that have gone, whose numbers will be used again.
    pub fn tell_ends(
        &mut self,
        mut stays_open: impl FnMut(CoflowId) -> bool,
        now: Time,
    ) -> Vec<CoflowId> {
        let mut ended = std::mem::take(&mut self.ended);
        let mut over = std::mem::take(&mut ended.leaving);
        for id in ended.complete.drain(..) {
            // Flows may have been added since.
            if self.state.coflow(id).is_over() && !over.contains(&id) && !stays_open(id) {
                over.push(id);
            }
        }
        for &id in &over {
            let coflow = self.state.coflow(id);
            let sent = coflow.finished_bytes() - coflow.compressed().saved();
            let sent = coflow.attained().0.max(sent);
            self.state.report(id, sent, now);
            self.state.retire(id);
        }
        if self.wants.flow_ends {
            ended.flows.iter().for_each(|&flow| self.tell(Told::Ended(flow), now));
        }
        self.tell_drained(&ended.drained, now);
        for &id in &over {
            self.tell(Told::Left(id), now);
        }
        for &id in &over {
            self.allocator.forget(&self.state, id);
            self.dags.remove(&(self.state.coflow(id).registration.lineage.external, id));
            self.state.release(id);
        }
        ended.flows.clear();
        ended.drained.clear();
        self.ended = ended;
        over
    }

    fn tell_drained(&mut self, drained: &[(CoflowId, LinkId)], now: Time) {
        if !self.wants.port_drains {
            return;
        }
        for &(id, link) in drained {
            // Flows that started at the same moment may use the link again.
            if self.state.coflow(id).unfinished().unfinished_at(link) == 0 {
                self.tell(Told::Drained(id, link), now);
            }
        }
    }

    /// A coflow has come. Its flows for which `starts` holds have started.
    pub fn arrive(
        &mut self,
        registration: Registration,
        flows: impl Iterator<Item = FlowSpec> + Clone,
        mut starts: impl FnMut(u32) -> bool,
        now: Time,
    ) -> CoflowId {
        let width = flows.clone().count() as u32;
        let id = self.state.register(registration, flows);
        self.dags.insert((registration.lineage.external, id));
        for index in (0..width).filter(|&index| starts(index)) {
            self.begin(FlowId { coflow: id, index });
        }
        self.tell(Told::Arrived(id), now);
        id
    }

    /// Starts a flow; one without bytes ends at once.
    fn begin(&mut self, flow: FlowId) {
        self.state.start(flow);
        self.join(flow);
        let coflow = self.state.coflow(flow.coflow);
        if coflow.progress().size[coflow.demand().position(flow.index)] <= 0.0 {
            self.finish(flow, 0.0, 0.0);
        }
    }

    /// An active flow is to be served from now on.
    fn join(&mut self, flow: FlowId) {
        let position = self.state.coflow(flow.coflow).demand().position(flow.index);
        self.allocator.touch(flow.coflow);
        self.allocator.adjust(&self.state, flow.coflow, position, 1.0);
    }

    /// A registered flow has started.
    pub fn start(&mut self, flow: FlowId, now: Time) {
        self.begin(flow);
        self.tell(Told::Started(flow.coflow), now);
    }

    /// Flows are added to a coflow and start.
    pub fn extend(
        &mut self,
        id: CoflowId,
        flows: impl Iterator<Item = FlowSpec> + Clone,
        now: Time,
    ) {
        let first = self.state.coflow(id).demand().width() as u32;
        self.state.extend(id, flows);
        // Positions are others now.
        self.allocator.clear();
        for index in first..self.state.coflow(id).demand().width() as u32 {
            self.begin(FlowId { coflow: id, index });
        }
        self.tell(Told::Started(id), now);
    }

    /// What a flow has sent is lost, and it begins anew.
    pub fn restart(&mut self, flow: FlowId, now: Time) {
        self.state.restart(flow);
        self.allocator.forget(&self.state, flow.coflow);
        self.tell(Told::Restarted(flow), now);
    }

    /// Active flows cannot be served for a while: their hosts are away.
    pub fn suspend(&mut self, flows: &[FlowId], now: Time) {
        let mut drained = Vec::new();
        for &flow in flows {
            let position = self.state.coflow(flow.coflow).demand().position(flow.index);
            self.state.suspend(flow, |link| drained.push((flow.coflow, link)));
            self.allocator.touch(flow.coflow);
            self.allocator.adjust(&self.state, flow.coflow, position, -1.0);
        }
        self.tell_drained(&drained, now);
        flows.iter().for_each(|flow| self.state.stir(flow.coflow));
        self.told = true;
    }

    /// Suspended flows can be served again.
    pub fn resume(&mut self, flows: &[FlowId], now: Time) {
        for coflow in flows.chunk_by(|a, b| a.coflow == b.coflow) {
            for &flow in coflow {
                self.state.resume(flow);
                self.join(flow);
            }
            self.tell(Told::Started(coflow[0].coflow), now);
        }
    }

    /// What the policy waits for has come. A wake-up that it has not asked for is nothing.
    pub fn reached(&mut self, wake: Wake, now: Time) {
        if !self.mind.wakes_mut().take(wake) {
            return;
        }
        let told = match wake {
            Wake::At(_) => Told::Woke,
            Wake::WhenSent(id, bytes) => Told::Sent(id, bytes),
            Wake::WhenDagSent(dag, bytes) => Told::DagSent(dag, bytes),
            Wake::WhenFlowSent(id, bytes) => Told::FlowSent(id, bytes),
        };
        self.tell(told, now);
    }

    /// The times that the policy waits for, as far as they have come.
    pub fn wake(&mut self, now: Time) {
        let mut come = Vec::new();
        self.mind.wakes_mut().take_due(now, std::iter::empty(), |_| false, &mut come);
        come.iter().for_each(|_| self.tell(Told::Woke, now));
    }

    /// What a coflow has sent through a link has reached the next of [`Driver::link_limits`].
    pub fn limit_reached(&mut self, id: CoflowId, link: LinkId, bytes: f64, now: Time) {
        self.tell(Told::LinkSent(id, link, bytes), now);
    }

    /// The compressor that the policy asks for is as fast and makes flows as small as this.
    pub fn codec_measured(&mut self, codec: Codec, now: Time) {
        self.tell(Told::Measured(codec), now);
    }

    /// That share of a port's processor is there for compressing.
    pub fn set_processor(&mut self, port: PortId, share: f64) {
        self.state.set_processor(port, share);
    }

    fn tell(&mut self, told: Told, now: Time) {
        self.told = true;
        match (told, told.coflow()) {
            (_, Some(id)) => self.state.stir(id),
            (Told::DagSent(external, _), None) => {
                let all = (external, CoflowId(0))..=(external, CoflowId(u32::MAX));
                self.dags.range(all).for_each(|&(_, id)| self.state.stir(id));
            }
            _ => {}
        }
        self.mind.tell(told, &self.state, now);
    }

    /// Ends a moment: asks for the plan if anything was told, and shares the links anew. Returns
    /// whether the plan was made anew.
    ///
    /// # Errors
    /// When the policy's plan cannot be carried out; rates are then undefined.
    pub fn decide(&mut self, now: Time) -> Result<bool, PlanError> {
        let mut replaced = false;
        if std::mem::take(&mut self.told) {
            replaced = self.mind.plan(&self.state, now) == Answer::Replaced;
            self.state.settle();
        }
        self.planned_anew = replaced && self.mind.edits().is_none();
        if replaced {
            self.layers.follow(self.mind.ranking(), self.mind.edits());
            self.mind.tell_allocator(&mut self.allocator);
        }
        self.allocator.allocate(&self.state, self.mind.ranking())?;
        self.state.end_moment();
        Ok(replaced)
    }
}
