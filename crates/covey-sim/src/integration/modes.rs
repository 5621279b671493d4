//! The way to integrate that is in force.

use covey_alloc::Traffic;
use covey_alloc::{Allocator, Measure};
use covey_core::{CoflowId, LinkId, Ranking, Rule, Time};

use super::class_flows::ClassFlows;
use super::coflows::CoflowFluids;
use super::integrator::{FlowAt, Integrator, Network};
use super::priority_flows::PriorityFlows;
use super::readings::{Pace, Readings};

/// The way in which flows are followed; it depends on the form of the allocator's rates.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum IntegrationMode {
    /// Coflow by coflow.
    #[default]
    Coflows,
    /// All flows by priority: only running flows are followed.
    PriorityFlows,
    /// All flows in classes.
    ClassFlows,
}

/// Follows all flows, in one of three ways at a time; the integrators of the others are empty.
#[derive(Debug, Default)]
pub(crate) struct Integration {
    mode: IntegrationMode,
    coflows: CoflowFluids,
    priority: PriorityFlows,
    classes: ClassFlows,
}

impl Integration {
    /// The integrator in force.
    pub(crate) fn current(&self) -> &dyn Integrator {
        match self.mode {
            IntegrationMode::Coflows => &self.coflows,
            IntegrationMode::PriorityFlows => &self.priority,
            IntegrationMode::ClassFlows => &self.classes,
        }
    }

    /// The integrator in force. Do not call its `prepare` and `install`: [`Integration`] has
    /// methods of these names, which do more.
    pub(crate) fn current_mut(&mut self) -> &mut dyn Integrator {
        match self.mode {
            IntegrationMode::Coflows => &mut self.coflows,
            IntegrationMode::PriorityFlows => &mut self.priority,
            IntegrationMode::ClassFlows => &mut self.classes,
        }
    }

    /// Forgets all flows.
    pub(crate) fn clear(&mut self) {
        self.mode = IntegrationMode::Coflows;
        self.coflows.clear();
    }

    /// The coflows, for questions about their bytes; these are not known while
    /// [`Integration::is_flow_level`].
    pub(crate) fn coflows(&self) -> &CoflowFluids {
        &self.coflows
    }

    /// The coflows, as [`Integration::coflows`]. They receive every arrival and end of a coflow.
    pub(crate) fn coflows_mut(&mut self) -> &mut CoflowFluids {
        &mut self.coflows
    }

    /// The flows in classes, if they are followed so.
    pub(crate) fn classes_mut(&mut self) -> Option<&mut ClassFlows> {
        (self.mode == IntegrationMode::ClassFlows).then_some(&mut self.classes)
    }

    /// The flows in classes, if flows are followed in classes and tallies count bytes of coflows:
    /// that is possible where every flow counts the same.
    pub(crate) fn counted(&self) -> Option<&ClassFlows> {
        let counts = |classes: &&ClassFlows| classes.measure() == Measure::Number;
        Some(&self.classes).filter(|_| self.mode == IntegrationMode::ClassFlows).filter(counts)
    }

    /// The policy waits for bytes of a coflow through a link, which classes do not count.
    pub(crate) fn watch(&mut self, traffic: &Traffic, id: CoflowId, link: LinkId) {
        let state = traffic.state();
        if !state.is_present(id) || !state.coflow(id).demand().set().contains(link.index()) {
            return;
        }
        if self.is_flow_level() && !self.coflows.is_metered(id) {
            let sent: Vec<f64> = {
                let (readings, flows) = (self.readings(traffic), state.coflow(id).demand().width());
                (0..flows).map(|p| readings.of_flow(FlowAt::new(id, p)).sent).collect()
            };
            self.coflows.begin_meter(traffic, id, &sent);
        }
        self.coflows.watch(traffic, id, link);
    }

    /// A coflow's bytes sent and its rate, while all flows are followed as one group and no tally
    /// counts the coflow.
    pub(crate) fn pace(&self, traffic: &Traffic, id: CoflowId) -> Pace {
        self.readings(traffic).of_coflow(id)
    }

    /// The time at which the first flow of a coflow will have sent `bytes` if rates stay.
    pub(crate) fn when_flow_sent(
        &self,
        traffic: &Traffic,
        id: CoflowId,
        bytes: f64,
        horizon: Time,
    ) -> Time {
        if self.is_flow_level() {
            self.readings(traffic).when_flow_sent(id, bytes)
        } else {
            self.coflows.when_flow_sent(traffic.state(), id, bytes, horizon)
        }
    }

    fn readings<'a>(&'a self, traffic: &'a Traffic) -> Readings<'a, impl Fn(FlowAt) -> f64 + 'a> {
        let (state, allocator, now) = (traffic.state(), traffic.allocator(), traffic.now());
        let left = move |flow| match self.mode {
            IntegrationMode::Coflows => self.coflows.left(state, flow, now),
            IntegrationMode::PriorityFlows => {
                self.priority.left(state, allocator.priority_flows(), flow, now)
            }
            IntegrationMode::ClassFlows => {
                self.classes.left(state, allocator.class_shares(), flow, now)
            }
        };
        Readings { state, allocator, now, left }
    }

    /// Whether all flows are followed as one group: bytes of coflows are known only when written
    /// back.
    pub(crate) fn is_flow_level(&self) -> bool {
        self.mode != IntegrationMode::Coflows
    }

    /// Whether bytes left of flows have to be written back before a new plan comes into force: the
    /// allocator itself keeps them while flows are served by priority.
    pub(crate) fn needs_write_back(&self, ranking: &Ranking) -> bool {
        let by_priority = |rule| matches!(rule, Rule::OldestFirst | Rule::ShortestFirst);
        let first = ranking.entries.first();
        self.mode == IntegrationMode::PriorityFlows
            || first.is_some_and(|(_, entry)| by_priority(entry.rule))
    }

    /// Whether the allocator has decided rates in another form than those in force.
    pub(crate) fn is_superseded(&self, allocator: &Allocator) -> bool {
        let measure = allocator.class_shares().map(|shares| shares.measure());
        let is_other_measure = measure.is_some_and(|measure| measure != self.classes.measure());
        IntegrationMode::of(allocator) != self.mode || is_other_measure
    }

    /// Call it before flows change in another way than by starts and ends. Writes the bytes left of
    /// all flows into the state, and forgets all rates: the allocator has to decide them again from
    /// nothing.
    pub(crate) fn interrupt(&mut self, network: &mut Network<'_>) {
        if self.is_flow_level() {
            self.current_mut().write_back(network);
            self.current_mut().end(network);
            self.mode = IntegrationMode::Coflows;
            self.coflows.begin(network);
        } else {
            self.coflows.interrupt(network);
        }
    }

    /// Follows flows from now on in the way that the form of the allocator's rates needs.
    pub(crate) fn change_mode(&mut self, network: &mut Network<'_>) {
        self.current_mut().end(network);
        self.mode = IntegrationMode::of(network.allocator);
        self.current_mut().begin(network);
    }

    /// See [`Integrator::next_end`].
    pub(crate) fn next_end(&self) -> Time {
        let next = self.current().next_end();
        if self.is_flow_level() { next.min(self.coflows.next_threshold()) } else { next }
    }

    /// See [`Integrator::prepare`].
    pub(crate) fn prepare(&mut self, network: &mut Network<'_>) {
        for &id in network.allocator.compression_changed() {
            network.state.note_event(id);
        }
        self.current_mut().prepare(network);
    }

    /// See [`Integrator::install`].
    pub(crate) fn install(&mut self, network: &mut Network<'_>) {
        self.current_mut().install(network);
        if self.is_flow_level() {
            self.coflows.meter(network);
        }
    }
}

impl IntegrationMode {
    fn of(allocator: &Allocator) -> IntegrationMode {
        if allocator.priority_flows().is_some() {
            IntegrationMode::PriorityFlows
        } else if allocator.class_shares().is_some() {
            IntegrationMode::ClassFlows
        } else {
            IntegrationMode::Coflows
        }
    }
}
