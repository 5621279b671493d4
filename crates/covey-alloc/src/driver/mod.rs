//! Drives a policy, in simulation and live alike.

pub mod erased_policy;
pub mod traffic;
pub mod world;

use crate::PlanError;
use covey_core::Confidence;
use covey_core::Criterion;
use covey_core::Event;
use covey_core::Nearest;
use covey_core::Ranking;
use covey_core::Time;
use covey_core::{Answer, AnyPolicy, Wants};
use covey_core::{CoflowId, FlowId, LinkId};
use covey_core::{Destination, Member, OwnGroup, Regrouping};
use covey_core::{Wake, Wakes};
use erased_policy::ErasedPolicy;
use traffic::{MovedFlow, Traffic};
use world::{Change, World};

/// A policy with its plan, and the traffic that it decides about.
///
/// A scheduling round is all that happens at one time. First the policy is told of all events, then
/// it is asked for its plan once, then the links are shared once. [`Driver::round`] has the order
/// of events; a simulator finds out what happens when it is asked. A live world tells its driver of
/// events when they happen ([`Driver::tell`], [`Driver::tell_ends`]), and ends a round by
/// [`Driver::decide`].
pub struct Driver<'p> {
    policy: Box<dyn ErasedPolicy + 'p>,
    wants: Wants,
    traffic: Traffic,
    /// Whether the policy has been told anything since it was last asked for its plan.
    is_told: bool,
    /// Working memory: wake-ups that have come.
    due: Vec<(u64, Wake)>,
    /// Working memory: thresholds that were reached.
    reached: Vec<Event>,
    /// Working memory: coflows whose flows the policy is about to read.
    read: Vec<CoflowId>,
    /// Working memory: flows that the policy puts into groups of its own.
    regrouping: Regrouping,
}

impl<'p> Driver<'p> {
    /// Drives a policy from now on, by what is to happen to `traffic`.
    pub fn new(traffic: Traffic, policy: AnyPolicy) -> Driver<'static> {
        Driver::with(traffic, erased_policy::owned(policy))
    }

    /// The same for a policy that is borrowed. [`Driver::into_traffic`] ends that.
    pub fn borrowing(traffic: Traffic, policy: &'p mut AnyPolicy) -> Driver<'p> {
        Driver::with(traffic, erased_policy::borrowed(policy))
    }

    fn with(traffic: Traffic, policy: Box<dyn ErasedPolicy + 'p>) -> Driver<'p> {
        let wants = policy.wants();
        let (due, reached, read, regrouping) = Default::default();
        Driver { policy, wants, traffic, is_told: false, due, reached, read, regrouping }
    }

    /// Gives the traffic back, for its memory.
    pub fn into_traffic(self) -> Traffic {
        self.traffic
    }

    /// Which events the policy asks for.
    pub fn wants(&self) -> Wants {
        self.wants
    }

    /// Whether the policy may ask for the sizes of flows, which must be known then when they are
    /// registered.
    pub fn sees_sizes(&self) -> bool {
        self.policy.sees_sizes()
    }

    /// Whether applications name coflows to the policy. If not, flows
    /// [arrive](covey_core::state::State::arrive) by themselves.
    pub fn sees_coflows(&self) -> bool {
        self.policy.sees_coflows()
    }

    /// Why the policy has put a flow into its group, if it makes groups
    /// ([`Policy::why`](covey_core::Policy::why)).
    pub fn why(&self, flow: FlowId) -> Option<Nearest> {
        self.policy.why(flow)
    }

    /// How far the policy trusts the groups that it has made
    /// ([`Policy::confidence`](covey_core::Policy::confidence)).
    pub fn confidence(&self) -> Option<Confidence> {
        self.policy.confidence()
    }

    /// What the policy ranks a flow by at a link of its path, most important first
    /// ([`Policy::ranked_by`](covey_core::Policy::ranked_by)).
    pub fn ranked_by(&self, flow: FlowId, link: LinkId) -> Vec<Criterion> {
        self.policy.ranked_by(flow, link, self.traffic.state(), self.traffic.now())
    }

    /// Numbers of bytes, ascending: the policy is told when a coflow has sent one of them through a
    /// link.
    pub fn link_thresholds(&self) -> &[f64] {
        self.policy.link_thresholds()
    }

    /// The coflows that are present, and their rates.
    pub fn traffic(&self) -> &Traffic {
        &self.traffic
    }

    /// The coflows that are present, to be told of what happens to them.
    pub fn traffic_mut(&mut self) -> &mut Traffic {
        &mut self.traffic
    }

    /// The plan in force.
    pub fn ranking(&self) -> &Ranking {
        self.policy.ranking()
    }

    /// The wake-ups that the policy waits for.
    pub fn wakes(&self) -> &Wakes {
        self.policy.wakes()
    }

    /// The coflows that are present, and the wake-ups that the policy waits for.
    pub fn traffic_and_wakes(&mut self) -> (&Traffic, &mut Wakes) {
        (&self.traffic, self.policy.wakes_mut())
    }

    /// Sets the time to `now`.
    pub fn advance_to(&mut self, now: Time) {
        self.traffic.set_now(now);
    }

    /// A whole scheduling round at `now`: has the world find out what happens, tells the policy,
    /// and decides.
    ///
    /// # Errors
    /// When the policy's plan cannot be carried out; rates are then undefined.
    pub fn round(&mut self, now: Time, world: &mut impl World) -> Result<Answer, PlanError> {
        self.advance_to(now);
        world.end_flows(&mut self.traffic);
        self.tell_ends(world);
        self.change(world);
        while let Some(event) = world.begin_next(&mut self.traffic) {
            self.tell(event, world);
            self.change(world);
        }
        // Flows without bytes have ended at their start.
        self.tell_ends(world);
        self.tell_due(world);
        self.tell_thresholds(world);
        self.decide(world)
    }

    /// Carries out what the cluster does to flows by now.
    fn change(&mut self, world: &mut impl World) {
        while let Some(change) = world.next_change(&mut self.traffic) {
            match change {
                Change::Suspended(flows) => self.suspend(&flows),
                Change::Resumed(flows) => self.resume(&flows, world),
                Change::Happened(event) => {
                    self.tell_ends(world);
                    event.into_iter().for_each(|event| self.tell(event, world));
                }
            }
        }
    }

    /// Tells the policy of an event.
    pub fn tell(&mut self, event: Event, world: &mut impl World) {
        self.traffic.mark_dirty(event);
        world.refresh(&mut self.traffic);
        self.pass_on(event);
    }

    fn pass_on(&mut self, event: Event) {
        self.is_told = true;
        self.policy.event(event, self.traffic.state(), self.traffic.now());
    }

    /// Tells the policy what has ended. Lets the coflows leave of which every flow has ended,
    /// unless the world keeps them open, and those that are to leave.
    pub fn tell_ends(&mut self, world: &mut impl World) {
        if self.traffic.ended.is_empty() {
            return;
        }
        let mut ended = std::mem::take(&mut self.traffic.ended);
        for id in ended.complete.drain(..) {
            // Flows may have been added since.
            let is_over = self.traffic.state().coflow(id).is_over();
            if is_over && !ended.leaving.contains(&id) && !world.stays_open(id) {
                ended.leaving.push(id);
            }
        }
        for &id in &ended.leaving {
            let sent = world.bytes_sent(&self.traffic, id);
            let now = self.traffic.now();
            self.traffic.state_mut().report(id, sent, now);
            self.traffic.state_mut().retire(id);
        }
        let Wants { flow_ends, port_drains, .. } = self.wants;
        let flows = if flow_ends { &ended.flows[..] } else { &[] };
        let drained = if port_drains { &ended.drained[..] } else { &[] };
        if !flows.is_empty() || !drained.is_empty() || !ended.leaving.is_empty() {
            self.is_told = true;
            flows.iter().for_each(|flow| self.traffic.state_mut().mark_dirty(flow.coflow));
            drained.iter().for_each(|&(id, _)| self.traffic.state_mut().mark_dirty(id));
            world.refresh(&mut self.traffic);
            flows.iter().for_each(|&flow| self.pass_on(Event::FlowEnded(flow)));
            self.pass_on_drained(drained);
            ended.leaving.iter().for_each(|&id| self.pass_on(Event::CoflowEnded(id)));
        }
        for &id in &ended.leaving {
            world.coflow_left(&self.traffic, id);
            self.traffic.forget(id);
        }
        ended.flows.clear();
        ended.drained.clear();
        ended.leaving.clear();
        self.traffic.ended = ended;
    }

    fn pass_on_drained(&mut self, drained: &[(CoflowId, LinkId)]) {
        for &(id, link) in drained {
            // Flows that started in the same round may use the link again.
            if self.traffic.state().coflow(id).unfinished().unfinished_at(link) == 0 {
                self.pass_on(Event::PortDrained(id, link));
            }
        }
    }

    /// Takes active flows out of what is served, because their hosts are away.
    pub fn suspend(&mut self, flows: &[FlowId]) {
        let mut drained = Vec::new();
        for &flow in flows {
            self.traffic.suspend(flow, |link| drained.push((flow.coflow, link)));
            self.traffic.state_mut().mark_dirty(flow.coflow);
        }
        self.is_told = true;
        if self.wants.port_drains {
            self.pass_on_drained(&drained);
        }
    }

    /// Has suspended flows served again.
    pub fn resume(&mut self, flows: &[FlowId], world: &mut impl World) {
        for of_coflow in flows.chunk_by(|a, b| a.coflow == b.coflow) {
            of_coflow.iter().for_each(|&flow| self.traffic.resume(flow));
            self.tell(Event::FlowsStarted(of_coflow[0].coflow), world);
        }
    }

    /// Moves flows to another coflow that is present, or out of all coflows, each with the bytes
    /// that it has sent. No flow may be suspended. In its coflow a flow counts as ended from now
    /// on. Returns the new names of the flows.
    pub fn move_flows(
        &mut self,
        flows: &[(FlowId, f64)],
        to: Option<CoflowId>,
        world: &mut impl World,
    ) -> Vec<FlowId> {
        let is_active = |&(flow, _): &(FlowId, f64)| {
            let demand = self.traffic.state().coflow(flow.coflow).demand();
            demand.is_active(demand.position(flow.index))
        };
        let active: Vec<bool> = flows.iter().map(is_active).collect();
        let moved = self.traffic.move_flows(flows, to);
        for (k, &(from, _)) in flows.iter().enumerate().filter(|(k, _)| active[*k]) {
            self.tell(Event::FlowMoved { from, to: moved.get(k).copied() }, world);
        }
        moved
    }

    /// Tells the policy of the wake-ups that have come.
    pub fn tell_due(&mut self, world: &mut impl World) {
        let mut due = std::mem::take(&mut self.due);
        world.take_due(&self.traffic, self.policy.wakes_mut(), &mut due);
        due.iter().for_each(|&(_, wake)| self.traffic.mark_dirty(wake.into()));
        if !due.is_empty() {
            world.refresh(&mut self.traffic);
        }
        if self.wants.progress {
            let (read, now) = (&mut self.read, self.traffic.now());
            read.clear();
            due.iter().for_each(|&(_, wake)| self.policy.reads_flows_of(wake, now, read));
            read.sort_unstable();
            read.dedup();
            world.refresh_flows(&mut self.traffic, read);
        }
        due.iter().for_each(|&(_, wake)| self.pass_on(wake.into()));
        due.clear();
        self.due = due;
    }

    fn tell_thresholds(&mut self, world: &mut impl World) {
        let mut reached = std::mem::take(&mut self.reached);
        world.find_thresholds_reached(&self.traffic, &mut reached);
        reached.drain(..).for_each(|event| self.tell(event, world));
        self.reached = reached;
    }

    /// Tells the policy that what it waits for has come. Does nothing if it does not wait for that.
    pub fn reach(&mut self, wake: Wake, world: &mut impl World) {
        if self.policy.wakes_mut().take(wake) {
            self.tell(wake.into(), world);
        }
    }

    /// Has the policy asked for its plan at the end of the round: facts have changed that are no
    /// event.
    pub fn ask_for_plan(&mut self) {
        self.is_told = true;
    }

    /// Ends a round: asks for the plan if the policy was told anything, and has the links shared.
    ///
    /// # Errors
    /// When the policy's plan cannot be carried out; rates are then undefined.
    pub fn decide(&mut self, world: &mut impl World) -> Result<Answer, PlanError> {
        if self.is_told && self.wants.regroups {
            self.regroup(world);
        }
        let Driver { policy, traffic, is_told, .. } = self;
        let mut answer = Answer::Unchanged;
        if std::mem::take(is_told) {
            world.refresh(traffic);
            answer = policy.plan(traffic.state(), traffic.now());
            traffic.state_mut().clear_dirty();
        }
        if answer == Answer::Replaced {
            world.plan_changed(traffic, policy.ranking(), policy.edits());
            policy.notify(traffic.parts_mut().1);
        }
        world.before_sharing(traffic, policy.ranking(), answer);
        traffic.share(policy.ranking())?;
        world.rates_changed(traffic);
        traffic.state_mut().end_round();
        Ok(answer)
    }

    /// Has the policy put flows into groups of its own, and moves the flows into these groups.
    fn regroup(&mut self, world: &mut impl World) {
        let Driver { policy, traffic, read, regrouping, .. } = self;
        let now = traffic.now();
        read.clear();
        policy.reads_flows_of(Wake::At(now), now, read);
        read.sort_unstable();
        read.dedup();
        world.refresh_flows(traffic, read);
        regrouping.clear();
        policy.regroup(traffic.state(), now, regrouping);
        if regrouping.is_empty() {
            return;
        }
        let flows = move_into_groups(traffic, regrouping, world);
        policy.regrouped(&flows, traffic.state(), now);
        self.tell_ends(world);
    }
}

/// Moves flows into the groups of a policy's own making. Returns their new names, in the order of
/// `regrouping`.
fn move_into_groups(
    traffic: &mut Traffic,
    regrouping: &Regrouping,
    world: &mut impl World,
) -> Vec<FlowId> {
    let Regrouping { begun, put } = regrouping;
    let mut touched: Vec<CoflowId> = Vec::new();
    for &(member, into) in put {
        touched.extend(if let Member::Flow(flow) = member { Some(flow.coflow) } else { None });
        touched.extend(if let Destination::Coflow(id) = into { Some(id) } else { None });
    }
    touched.sort_unstable();
    touched.dedup();
    world.before_regrouping(traffic, &touched);
    traffic.begin_regrouping(&touched);
    let begin = |group: &OwnGroup| {
        let id = traffic.register(group.registration(), std::iter::empty());
        world.group_begun(traffic, id);
        id
    };
    let begun: Vec<CoflowId> = begun.iter().map(begin).collect();
    let mut new = begun.clone();
    new.sort_unstable();
    let number = |&(member, _): &(Member, Destination)| match member {
        Member::Newcomer(number) => Some(number),
        Member::Flow(_) => None,
    };
    let numbers: Vec<u64> = put.iter().filter_map(number).collect();
    let mut newcomers = traffic.take_newcomers(&numbers);
    let mut moved: Vec<(CoflowId, usize, MovedFlow)> = Vec::with_capacity(put.len());
    for (k, &(member, into)) in put.iter().enumerate() {
        let into = match into {
            Destination::Coflow(id) => id,
            Destination::Own(group) => begun[group as usize],
        };
        let flow = match member {
            Member::Newcomer(_) => newcomers.next().expect("one for each number"),
            Member::Flow(flow) => traffic.withdraw_unfinished(flow),
        };
        moved.push((into, k, flow));
    }
    moved.sort_by_key(|&(into, ..)| into);
    let mut names = vec![None; put.len()];
    for into in moved.chunk_by(|a, b| a.0 == b.0) {
        let id = into[0].0;
        let flows: Vec<MovedFlow> = into.iter().map(|&(.., flow)| flow).collect();
        if new.binary_search(&id).is_ok() {
            traffic.reserve(id, &flows);
        }
        let new = traffic.join(id, &flows);
        into.iter().zip(new).for_each(|(&(_, k, _), name)| names[k] = Some(name));
        traffic.state_mut().mark_dirty(id);
    }
    let is_empty = |&&id: &&CoflowId| traffic.state().coflow(id).demand().width() == 0;
    assert_eq!(begun.iter().find(is_empty), None, "a group has begun without flows");
    touched.iter().for_each(|&id| traffic.state_mut().mark_dirty(id));
    let names: Vec<FlowId> = names.into_iter().flatten().collect();
    world.regrouped(traffic, &names);
    names
}
