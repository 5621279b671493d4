//! Flows followed coflow by coflow, each coflow as a fluid.

use covey_alloc::Traffic;
use covey_core::state::{CoflowState, State};
use covey_core::{CoflowId, Demand, FlowId, LinkId, Time};

use super::fluid::Fluid;
use super::integrator::{FlowAt, Integrator, Network};
use super::meters::Meters;
use super::moving::Moving;

/// A fluid for each coflow that is present. Only coflows that send cost time.
#[derive(Debug, Default)]
pub(crate) struct CoflowFluids {
    /// By [`CoflowId`].
    fluids: Vec<Fluid>,
    moving: Moving,
    /// Bytes that coflows have sent through each of their links, if the policy sets thresholds for
    /// these or, where coflows are followed one by one, waits for them.
    meters: Meters,
    /// Coflows that have stopped sending since the last round.
    stopped: Vec<CoflowId>,
}

impl CoflowFluids {
    /// No coflow is sending.
    pub(super) fn clear(&mut self) {
        self.moving.clear();
    }

    /// The policy receives an event when a coflow has sent one of `thresholds`, in bytes, through a
    /// link.
    pub(crate) fn set_thresholds(&mut self, thresholds: &[f64]) {
        self.meters.start(thresholds);
    }

    /// A coflow has arrived.
    pub(crate) fn admit(&mut self, id: CoflowId, coflow: &CoflowState, now: Time) {
        if self.fluids.len() <= id.index() {
            self.fluids.resize_with(id.index() + 1, Fluid::new);
        }
        self.fluids[id.index()].resume(now, 0.0);
        self.meters.reset(id, coflow, now);
    }

    /// A coflow has ended.
    pub(crate) fn forget(&mut self, id: CoflowId) {
        self.fluids[id.index()].halt();
        self.meters.forget(id);
    }

    /// Whether bytes of a coflow through its links are counted.
    pub(super) fn is_metered(&self, id: CoflowId) -> bool {
        self.meters.is_on(id)
    }

    /// Begins to count them, while all flows are followed as one group. So far flows have `sent`
    /// these bytes, by position.
    pub(super) fn begin_meter(&mut self, traffic: &Traffic, id: CoflowId, sent: &[f64]) {
        let (state, now, rates) = (traffic.state(), traffic.now(), traffic.allocator().rates());
        let coflow = state.coflow(id);
        self.meters.turn_on(id, coflow, now);
        self.meters.recount(id, coflow.demand(), now, |position| sent[position]);
        self.meters.install(id, now, |by_link| rates.link_rates(state, id, by_link));
    }

    /// The policy waits for bytes of a coflow through a link of the coflow.
    pub(super) fn watch(&mut self, traffic: &Traffic, id: CoflowId, link: LinkId) {
        let (state, now) = (traffic.state(), traffic.now());
        if !self.meters.is_on(id) {
            let coflow = state.coflow(id);
            self.meters.turn_on(id, coflow, now);
            self.count_sent(state, id, now);
            if self.rate(id) > 0.0 {
                let allocation = traffic.allocator().allocation(id);
                let demand = coflow.demand();
                self.meters.install(id, now, |rates| allocation.link_rates(demand, rates));
            }
        }
        self.meters.wait(id, link);
    }

    /// Works out what a coflow's flows have sent through each link.
    fn count_sent(&mut self, state: &State, id: CoflowId, now: Time) {
        let fluid = &self.fluids[id.index()];
        let is_written = fluid.sent(now) == 0.0;
        let coflow = state.coflow(id);
        let (demand, progress) = (coflow.demand(), coflow.progress());
        self.meters.recount(id, demand, now, |position| {
            if demand.is_active(position) && !is_written {
                progress.size[position] - fluid.left(progress, position, now)
            } else {
                coflow.sent_at(position)
            }
        });
    }

    /// The links through which the policy waits for bytes of a coflow.
    pub(crate) fn awaited_links(&self, id: CoflowId) -> &[LinkId] {
        self.meters.awaited(id)
    }

    /// The time at which `bytes` of a coflow will have passed a link if rates stay.
    pub(crate) fn when_passed(
        &self,
        state: &State,
        id: CoflowId,
        link: LinkId,
        bytes: f64,
    ) -> Time {
        self.meters.when_passed(state, id, link, bytes)
    }

    /// The coflows that send, in no particular order; some may have ended.
    pub(crate) fn moving(&self) -> &[CoflowId] {
        self.moving.all()
    }

    /// Bytes that a coflow has sent up to `now`.
    pub(crate) fn bytes_sent(&self, id: CoflowId, now: Time) -> f64 {
        self.fluids[id.index()].sent(now)
    }

    /// Bytes per second of a coflow.
    pub(crate) fn rate(&self, id: CoflowId) -> f64 {
        self.fluids[id.index()].rate()
    }

    /// Bytes left of an unfinished flow at `now`, whether or not they are written back.
    pub(crate) fn left(&self, state: &State, flow: FlowAt, now: Time) -> f64 {
        let coflow = state.coflow(flow.coflow);
        self.fluids[flow.coflow.index()].left(coflow.progress(), flow.place(), now)
    }

    /// The time at which a coflow will have sent `bytes` if rates stay.
    pub(crate) fn when_sent(&self, id: CoflowId, bytes: f64) -> Time {
        self.fluids[id.index()].when_sent(bytes)
    }

    /// The time at which the first flow of a coflow will have sent `bytes` if rates stay. The time
    /// need not be exact if it is not earlier than the `horizon`.
    pub(crate) fn when_flow_sent(
        &self,
        state: &State,
        id: CoflowId,
        bytes: f64,
        horizon: Time,
    ) -> Time {
        self.fluids[id.index()].when_flow_sent(state.coflow(id), bytes, horizon)
    }

    /// Finds the coflows that reach a threshold at a link by `now`. [`CoflowFluids::found`] has
    /// them in order of arrival.
    pub(crate) fn find_thresholds_reached(&mut self, state: &State, now: Time) {
        let CoflowFluids { moving, meters, .. } = self;
        moving.find(state, |id| meters.next(id).due(now));
    }

    /// The time at which any coflow will reach its next threshold at a link, if rates stay.
    pub(super) fn next_threshold(&self) -> Time {
        self.meters.next_of_all()
    }

    /// Takes over what coflows send through their links, while all flows are followed as one group.
    pub(super) fn meter(&mut self, network: &mut Network<'_>) {
        if !self.meters.any_is_on() {
            return;
        }
        self.moving.clear();
        for &id in network.state.present() {
            if self.meters.is_on(id) {
                let rates = network.allocator.rates();
                let link_rates = |by_link: &mut _| rates.link_rates(network.state, id, by_link);
                self.meters.install(id, network.now, link_rates);
                self.moving.add(id);
            }
        }
    }

    /// The coflows that were found last.
    pub(crate) fn found(&self) -> &[CoflowId] {
        self.moving.found()
    }

    /// Calls `reached` with each link at which a coflow has reached a threshold by `now`, and the
    /// threshold.
    pub(crate) fn take_thresholds_reached(
        &mut self,
        id: CoflowId,
        coflow: &CoflowState,
        now: Time,
        reached: impl FnMut(LinkId, f64),
    ) {
        self.meters.take_reached(id, coflow, now, reached);
    }

    /// Removes the coflows that have stopped sending from the moving ones, and reports their bytes
    /// sent. If `writes_back`, writes back the bytes left of their flows. Returns those that are
    /// still present.
    pub(crate) fn report_stopped(
        &mut self,
        network: &mut Network<'_>,
        writes_back: bool,
    ) -> &[CoflowId] {
        self.stopped.clear();
        let CoflowFluids { fluids, moving, stopped, .. } = self;
        moving.retain(|id| {
            let is_present = network.state.is_present(id);
            let is_moving = fluids[id.index()].is_moving();
            if is_present && !is_moving {
                stopped.push(id);
            }
            is_present && is_moving
        });
        for k in 0..self.stopped.len() {
            let id = self.stopped[k];
            network.state.report(id, self.bytes_sent(id, network.now), network.now);
            if writes_back {
                self.advance(network, id);
            }
        }
        &self.stopped
    }

    /// Flows are about to move into or out of a coflow. Writes back the bytes left of its flows.
    pub(crate) fn before_regrouping(&mut self, network: &mut Network<'_>, id: CoflowId) {
        self.begin_again(network, id);
        self.meters.forget(id);
    }

    /// Writes back the bytes left of all flows, and forgets all rates.
    pub(super) fn interrupt(&mut self, network: &mut Network<'_>) {
        for k in 0..network.state.present().len() {
            let id = network.state.present()[k];
            self.begin_again(network, id);
            self.meters.halt(id, network.now);
        }
    }

    /// A coflow has got flows, and so other links than those `before`.
    pub(crate) fn extended(&mut self, id: CoflowId, before: &[LinkId], demand: &Demand) {
        self.meters.extended(id, before, demand);
    }

    /// Writes back the bytes left of a coflow's flows, and forgets its rates. They have to be
    /// decided again.
    fn begin_again(&mut self, network: &mut Network<'_>, id: CoflowId) {
        self.advance(network, id);
        let fluid = &mut self.fluids[id.index()];
        let sent = fluid.sent(network.now);
        fluid.resume(network.now, sent);
    }

    /// Writes back the bytes left of a coflow's flows.
    pub(crate) fn advance(&mut self, network: &mut Network<'_>, id: CoflowId) {
        let fluid = &mut self.fluids[id.index()];
        if fluid.is_out_of_proportion() {
            network.allocator.touch(id);
        }
        let (demand, progress) = network.state.progress_mut(id);
        fluid.advance(demand, progress, network.now);
    }
}

impl Integrator for CoflowFluids {
    fn begin(&mut self, network: &mut Network<'_>) {
        for &id in network.state.present() {
            let sent = network.state.coflow(id).sent();
            self.fluids[id.index()].resume(network.now, sent);
            if self.meters.is_on(id) {
                self.meters.halt(id, network.now);
                self.count_sent(network.state, id, network.now);
            }
        }
    }

    fn end(&mut self, network: &mut Network<'_>) {
        self.write_back(network);
        for &id in network.state.present() {
            self.fluids[id.index()].halt();
            self.meters.halt(id, network.now);
        }
        self.moving.clear();
    }

    fn next_end(&self) -> Time {
        let next = |&id: &CoflowId| self.fluids[id.index()].next().min(self.meters.next(id));
        self.moving.all().iter().map(next).fold(Time::NEVER, Time::min)
    }

    fn find_ending(&mut self, network: &mut Network<'_>, ending: &mut Vec<FlowAt>) {
        let CoflowFluids { moving, fluids, .. } = self;
        moving.find(network.state, |id| fluids[id.index()].next().due(network.now));
        for &id in moving.found() {
            let (demand, progress) = network.state.progress_mut(id);
            let fluid = &mut fluids[id.index()];
            let before = ending.len();
            fluid.finish(demand, progress, network.now, |p| ending.push(FlowAt::new(id, p)));
            ending[before..].sort_unstable();
            network.state.note_event(id);
        }
    }

    /// Updates coflows whose provisional shares fall because their flows are raised, if an event
    /// has affected the coflows that share links with them. So no coflow finds less than the free
    /// capacity.
    fn prepare(&mut self, network: &mut Network<'_>) {
        for k in 0..self.moving.all().len() {
            let id = self.moving.all()[k];
            if !self.fluids[id.index()].is_raised() {
                continue;
            }
            let links = network.state.coflow(id).demand().links();
            if links.first().is_some_and(|&link| network.state.has_events(link)) {
                self.advance(network, id);
                network.allocator.reconsider(id);
            }
            let scale = network.state.coflow(id).progress().scale;
            let seconds = self.fluids[id.index()].take_unreported(scale);
            network.allocator.elapse(id, seconds);
        }
    }

    fn install(&mut self, network: &mut Network<'_>) {
        for &id in network.allocator.changed() {
            let (demand, progress) = network.state.progress_mut(id);
            let allocation = network.allocator.allocation(id);
            self.fluids[id.index()].install(demand, progress, allocation, network.now);
            self.meters.install(id, network.now, |rates| allocation.link_rates(demand, rates));
            self.moving.add(id);
        }
    }

    fn write_back(&mut self, network: &mut Network<'_>) {
        for k in 0..network.state.present().len() {
            self.advance(network, network.state.present()[k]);
        }
    }

    /// Shares that change with time stay as they are where no event has happened.
    fn write_back_for_policy(&mut self, network: &mut Network<'_>) {
        for k in 0..self.moving.all().len() {
            let id = self.moving.all()[k];
            if !self.fluids[id.index()].is_out_of_proportion() || network.state.is_dirty(id) {
                self.advance(network, id);
            }
        }
    }

    fn is_idle(&self) -> bool {
        self.moving.all().iter().all(|&id| self.rate(id) == 0.0)
    }

    fn sent(&self, _: &State, now: Time, id: CoflowId) -> f64 {
        self.fluids[id.index()].sent(now)
    }

    fn report_sent(&mut self, network: &mut Network<'_>) {
        for &id in self.moving.all() {
            let sent = self.fluids[id.index()].sent(network.now);
            network.state.report(id, sent, network.now);
        }
    }

    fn before_start(&mut self, network: &mut Network<'_>, id: CoflowId) {
        let (demand, progress) = network.state.progress_mut(id);
        self.fluids[id.index()].start(demand, progress, network.now);
    }

    fn before_toggles(&mut self, _: &mut Network<'_>, _: bool) {}

    fn hold(&mut self, network: &mut Network<'_>, flow: FlowAt) -> f64 {
        let (demand, progress) = network.state.progress_mut(flow.coflow);
        self.fluids[flow.coflow.index()].hold(demand, progress, flow.place(), network.now)
    }

    fn before_let_go(&mut self, network: &mut Network<'_>, id: CoflowId) {
        let (demand, progress) = network.state.progress_mut(id);
        self.fluids[id.index()].let_go(demand, progress, network.now);
    }

    fn restart(&mut self, network: &mut Network<'_>, flow: FlowId) {
        self.begin_again(network, flow.coflow);
        network.state.restart(flow);
        // The findings about the coflow's ends are no longer valid.
        network.allocator.forget(network.state, flow.coflow);
    }
}
