//! Drives a policy by what really happens, as the simulator drives it by what would.
//!
//! [`Driver`] adds to [`covey_alloc::Driver`] what only a live world has: flows whose hosts are
//! away, sizes that are learned at the end of a flow, the layers of flows, and groups of the
//! policy's own making. It has no clock: every call says what time it is.

use covey_alloc::{Allocator, PlanError};
use covey_alloc::{Traffic, World};
use covey_core::state::{FlowSpec, Newcomer, Progress, Registration, State};
use covey_core::{
    Answer, AnyPolicy, Codec, CoflowId, Confidence, Demand, Event, Fabric, FlowId, Group, LinkId,
    Nearest, PortId, Rank, Ranking, Sender, TenantId, TenantWeights, Time, Wake, Wakes,
};

use crate::layers::LayerOf;

/// A policy, the facts it decides by, and the rates it has led to.
pub struct Driver {
    inner: covey_alloc::Driver<'static>,
    decided: Decided,
    tenants: Option<TenantWeights>,
}

/// A policy, and the tenants for each of whom it has an instance, if links are divided among
/// tenants.
pub struct Scheduler {
    /// The policy.
    pub policy: AnyPolicy,
    /// The tenants, by the numbers for which the policy has weights.
    pub tenants: Option<TenantWeights>,
}

impl From<AnyPolicy> for Scheduler {
    fn from(policy: AnyPolicy) -> Scheduler {
        Scheduler { policy, tenants: None }
    }
}

/// What decisions have led to.
#[derive(Default)]
struct Decided {
    /// The layers of flows in the plan in force.
    layers: LayerOf,
    /// Whether the policy wrote its plan again at the last decision, rather than keep it or edit
    /// it.
    is_rewritten: bool,
    regrouped: Regrouped,
}

/// What a policy has done with groups of its own making.
#[derive(Debug, Default)]
pub struct Regrouped {
    /// Groups that have begun.
    pub begun: Vec<CoflowId>,
    /// Flows that have been put into groups: the number of each, and its place from now on.
    pub placed: Vec<(u64, FlowId)>,
    /// Coflows that have left, because their last flows were put elsewhere.
    pub left: Vec<CoflowId>,
}

impl Regrouped {
    /// Whether the policy has left everything as it was.
    pub fn is_empty(&self) -> bool {
        self.begun.is_empty() && self.placed.is_empty() && self.left.is_empty()
    }
}

impl World for Decided {
    fn group_begun(&mut self, _: &Traffic, id: CoflowId) {
        self.regrouped.begun.push(id);
    }

    fn regrouped(&mut self, traffic: &mut Traffic, flows: &[FlowId]) {
        let number = |flow: FlowId| traffic.state().coflow(flow.coflow).flow_number(flow.index);
        self.regrouped.placed.extend(flows.iter().map(|&flow| (number(flow), flow)));
    }

    fn coflow_left(&mut self, _: &Traffic, id: CoflowId) {
        self.regrouped.left.push(id);
    }

    fn plan_changed(
        &mut self,
        _: &mut Traffic,
        ranking: &Ranking,
        edits: Option<&[(Rank, Group)]>,
    ) {
        self.is_rewritten = edits.is_none();
        self.layers.follow(ranking, edits);
    }
}

/// Coflows that leave, unless flows may still be added to them.
struct Leaving<F> {
    stays_open: F,
    /// The coflows that have left.
    left: Vec<CoflowId>,
}

impl<F: FnMut(CoflowId) -> bool> World for Leaving<F> {
    fn stays_open(&mut self, id: CoflowId) -> bool {
        (self.stays_open)(id)
    }

    fn coflow_left(&mut self, _: &Traffic, id: CoflowId) {
        self.left.push(id);
    }
}

impl Driver {
    /// Nothing has happened yet.
    pub fn new(fabric: Fabric, scheduler: impl Into<Scheduler>) -> Driver {
        let Scheduler { policy, tenants } = scheduler.into();
        Driver {
            inner: covey_alloc::Driver::new(Traffic::new(fabric), policy),
            decided: Decided::default(),
            tenants,
        }
    }

    /// The number of a tenant; whoever has no name is one more.
    pub fn tenant(&mut self, name: Option<&str>) -> TenantId {
        let tenants = self.tenants.as_mut();
        tenants.map_or(TenantId::default(), |tenants| tenants.number(name.unwrap_or_default()))
    }

    /// The facts.
    pub fn state(&self) -> &State {
        self.inner.traffic().state()
    }

    /// The rates in force.
    pub fn rates(&self) -> &Allocator {
        self.inner.traffic().allocator()
    }

    /// The plan in force.
    pub fn ranking(&self) -> &Ranking {
        self.inner.ranking()
    }

    /// Whether the policy wrote its plan again at the last decision, rather than keep it or edit
    /// it.
    pub fn plan_was_rewritten(&self) -> bool {
        self.decided.is_rewritten
    }

    /// The layers of flows in the plan in force.
    pub fn layers(&self) -> &LayerOf {
        &self.decided.layers
    }

    /// The wake-ups that the policy waits for.
    pub fn wakes(&self) -> &Wakes {
        self.inner.wakes()
    }

    /// The coflows and DAGs for whose bytes the policy has begun to wait since this was last
    /// called.
    pub fn take_fresh(&mut self) -> Vec<Sender> {
        let wakes = self.inner.traffic_and_wakes().1;
        let fresh: Vec<_> = wakes.take_fresh().collect();
        fresh.into_iter().filter_map(|id| wakes.at(id)?.sender()).collect()
    }

    /// The numbers of bytes of a coflow through a link that the policy is told of, ascending.
    pub fn link_thresholds(&self) -> &[f64] {
        self.inner.link_thresholds()
    }

    /// Whether the policy decides by what flows have sent, or by what is left of them. Then that is
    /// to be brought up to date all the time ([`Driver::report`], [`Driver::progress_mut`]).
    pub fn needs_progress(&self) -> bool {
        self.inner.wants().attained || self.reads_flows()
    }

    /// Whether hosts may go on by themselves between two plans, in the order of layers and DAGs.
    pub fn goes_in_turn(&self) -> bool {
        self.inner.wants().in_turn
    }

    /// Bytes that a coflow may send at each host before a schedule mentions its flows.
    pub fn start_small(&self) -> u64 {
        self.inner.wants().start_small
    }

    /// Whether the policy decides by what single flows have sent, or by what is left of them.
    pub fn reads_flows(&self) -> bool {
        self.needs_sizes() || self.inner.wants().progress
    }

    /// Whether applications name coflows to the policy. If not, flows [appear](Driver::appear) by
    /// themselves.
    pub fn sees_coflows(&self) -> bool {
        self.inner.sees_coflows()
    }

    /// Why the policy has put a flow into its group, if it makes groups.
    pub fn why(&self, flow: FlowId) -> Option<Nearest> {
        self.inner.why(flow)
    }

    /// How far the policy trusts the groups that it has made, if it makes groups.
    pub fn confidence(&self) -> Option<Confidence> {
        self.inner.confidence()
    }

    /// Whether the policy groups only flows whose community is known.
    pub fn wants_communities(&self) -> bool {
        self.inner.wants().communities
    }

    /// Whether sizes of flows must be known when they are registered.
    pub fn needs_sizes(&self) -> bool {
        self.inner.sees_sizes()
    }

    /// Writes down that a coflow has sent `bytes` in all.
    pub fn report(&mut self, id: CoflowId, bytes: f64, now: Time) {
        self.inner.traffic_mut().state_mut().report(id, bytes, now);
    }

    /// The bytes left of a coflow's flows. The caller brings them up to date before a decision, if
    /// the policy sees sizes. A flow with no bytes left ends only by [`Driver::finish`].
    pub fn progress_mut(&mut self, id: CoflowId) -> (&Demand, &mut Progress) {
        self.inner.traffic_mut().progress_mut(id)
    }

    /// An active flow of `bytes` has ended; compression may have made the bytes that were `sent`
    /// fewer. The policy is told by [`Driver::tell_ends`].
    pub fn finish(&mut self, flow: FlowId, bytes: f64, sent: f64) {
        let traffic = self.inner.traffic_mut();
        traffic.state_mut().set_size(flow, bytes);
        traffic.state_mut().compressed_mut(flow.coflow).account(bytes - sent, 0.0);
        let position = traffic.state().coflow(flow.coflow).demand().position(flow.index);
        traffic.finish(flow.coflow, position);
    }

    /// A coflow is to leave, whatever is left of it. Its active flows must have been finished.
    pub fn leave(&mut self, id: CoflowId) {
        self.inner.traffic_mut().leave(id);
    }

    /// Tells the policy what has ended, and lets the coflows leave of which every flow has ended,
    /// unless one `stays_open`. Returns those that have left; their ids will be used again.
    pub fn tell_ends(
        &mut self,
        stays_open: impl FnMut(CoflowId) -> bool,
        now: Time,
    ) -> Vec<CoflowId> {
        self.inner.advance_to(now);
        let mut leaving = Leaving { stays_open, left: Vec::new() };
        self.inner.tell_ends(&mut leaving);
        leaving.left
    }

    /// A coflow has arrived. Its flows for which `starts` holds have started.
    pub fn arrive(
        &mut self,
        registration: Registration,
        flows: impl Iterator<Item = FlowSpec> + Clone,
        mut starts: impl FnMut(u32) -> bool,
        now: Time,
    ) -> CoflowId {
        let width = flows.clone().count() as u32;
        let id = self.inner.traffic_mut().register(registration, flows);
        for index in (0..width).filter(|&index| starts(index)) {
            self.begin(FlowId { coflow: id, index });
        }
        self.tell(Event::CoflowArrived(id), now);
        id
    }

    /// Starts a flow; one without bytes ends at once.
    fn begin(&mut self, flow: FlowId) {
        if !self.inner.traffic_mut().start(flow) {
            self.finish(flow, 0.0, 0.0);
        }
    }

    /// Flows have started that belong to no coflow.
    pub fn appear(&mut self, newcomers: impl Iterator<Item = Newcomer>, now: Time) {
        let state = self.inner.traffic_mut().state_mut();
        newcomers.for_each(|newcomer| state.arrive(newcomer));
        self.tell(Event::FlowsArrived, now);
    }

    /// A flow that belongs to no coflow has ended.
    pub fn forget_newcomer(&mut self, number: u64) {
        self.inner.traffic_mut().state_mut().forget_newcomer(number);
    }

    /// Takes what the policy has done with groups of its own making since this was last called.
    pub fn take_regrouped(&mut self) -> Regrouped {
        std::mem::take(&mut self.decided.regrouped)
    }

    /// A registered flow has started.
    pub fn start(&mut self, flow: FlowId, now: Time) {
        self.begin(flow);
        self.tell(Event::FlowsStarted(flow.coflow), now);
    }

    /// Flows are added to a coflow and start.
    pub fn extend(
        &mut self,
        id: CoflowId,
        flows: impl Iterator<Item = FlowSpec> + Clone,
        now: Time,
    ) {
        let first = self.state().coflow(id).demand().width() as u32;
        self.inner.traffic_mut().extend(id, flows);
        for index in first..self.state().coflow(id).demand().width() as u32 {
            self.begin(FlowId { coflow: id, index });
        }
        self.tell(Event::FlowsStarted(id), now);
    }

    /// Moves flows to another coflow, each with the bytes that it has sent. None may be suspended.
    /// Returns their new names.
    pub fn move_flows(&mut self, flows: &[(FlowId, f64)], to: CoflowId, now: Time) -> Vec<FlowId> {
        self.inner.advance_to(now);
        self.inner.move_flows(flows, Some(to), &mut ())
    }

    /// A flow has lost what it had sent, and begins again.
    pub fn restart(&mut self, flow: FlowId, now: Time) {
        self.inner.traffic_mut().restart(flow);
        self.tell(Event::FlowRestarted(flow), now);
    }

    /// Active flows cannot be served for a while: their hosts are away.
    pub fn suspend(&mut self, flows: &[FlowId], now: Time) {
        self.inner.advance_to(now);
        self.inner.suspend(flows);
    }

    /// Suspended flows can be served again.
    pub fn resume(&mut self, flows: &[FlowId], now: Time) {
        self.inner.advance_to(now);
        self.inner.resume(flows, &mut ());
    }

    /// A time or a number of bytes that the policy waits for has come. A wake-up that it does not
    /// wait for is ignored.
    pub fn reached(&mut self, wake: Wake, now: Time) {
        self.inner.advance_to(now);
        self.inner.reach(wake, &mut ());
    }

    /// Tells the policy of the times it waits for that have come.
    pub fn wake(&mut self, now: Time) {
        self.inner.advance_to(now);
        self.inner.tell_due(&mut ());
    }

    /// The bytes that a coflow has sent through a link have reached the next of
    /// [`Driver::link_thresholds`].
    pub fn limit_reached(&mut self, id: CoflowId, link: LinkId, bytes: f64, now: Time) {
        self.tell(Event::LinkBytesReached(id, link, bytes), now);
    }

    /// Hosts have reported the speed and the ratio of their compressor, which replace earlier
    /// values. The policy sees them when it is asked for its plan.
    pub fn codec_measured(&mut self, codec: Codec) {
        self.inner.traffic_mut().state_mut().set_measured_codec(Some(codec));
        self.inner.ask_for_plan();
    }

    /// Sets the share of a port's processor that is available for compressing.
    pub fn set_processor(&mut self, port: PortId, share: f64) {
        self.inner.traffic_mut().state_mut().set_processor(port, share);
    }

    /// Sets how many compressed bytes a flow has for each raw byte, whatever the codec.
    pub fn set_ratio(&mut self, flow: FlowId, ratio: f64) {
        self.inner.traffic_mut().state_mut().set_ratio(flow, ratio);
    }

    /// Sets how many bytes per second a link carries beside the flows that are scheduled. The
    /// policy is asked for its plan.
    pub fn set_other_traffic(&mut self, link: LinkId, rate: f64) {
        self.inner.traffic_mut().state_mut().set_other_traffic(link, rate);
        self.inner.ask_for_plan();
    }

    fn tell(&mut self, event: Event, now: Time) {
        self.inner.advance_to(now);
        self.inner.tell(event, &mut ());
    }

    /// Ends a round: asks for the plan if the policy was told anything, and shares the links.
    /// Returns whether the plan has changed.
    ///
    /// # Errors
    /// When the policy's plan cannot be carried out; rates are then undefined.
    pub fn decide(&mut self, now: Time) -> Result<bool, PlanError> {
        self.inner.advance_to(now);
        self.decided.is_rewritten = false;
        Ok(self.inner.decide(&mut self.decided)? == Answer::Replaced)
    }
}
