//! The flows that are sent, and the flows that are compressed meanwhile or before.

use covey_alloc::Traffic;
use covey_core::{Answer, CoflowId, FlowId, LinkId, Ranking, Time, Wake, WakeId, Wakes};
use covey_trace::Availability;

use crate::integration::{CoflowFluids, FlowAt, Integration, Network};
use crate::processors::Processors;

/// Follows flows by the rates of the network and of the hosts' processors.
#[derive(Debug, Default)]
pub(super) struct Transfers {
    integration: Integration,
    processors: Processors,
    /// Whether all bytes for which the policy waits have to be counted anew: flows are followed in
    /// another way, or have moved.
    counts_anew: bool,
    /// Whether flows have changed in another way than by starts and ends since links were last
    /// shared.
    is_interrupted: bool,
    /// Whether flows may be compressed.
    pub compresses: bool,
}

impl Transfers {
    /// No flow is sent. The policy receives an event when a coflow has sent one of
    /// `link_thresholds` through a link.
    pub fn clear(&mut self, ports: usize, link_thresholds: &[f64]) {
        self.integration.clear();
        self.integration.coflows_mut().set_thresholds(link_thresholds);
        self.processors.clear(ports);
        (self.counts_anew, self.is_interrupted, self.compresses) = (false, false, true);
    }

    /// Sets the shares of processors for all runs from now on.
    pub fn set_availability(&mut self, availability: Availability) {
        self.processors.set_availability(availability);
    }

    /// The time of the next end of a flow or of a compression, if rates stay.
    pub fn next_end(&self) -> Time {
        self.integration.next_end().min(self.processors.next())
    }

    /// Whether no flow is sent, and no processor will change that.
    pub fn is_idle(&self) -> bool {
        self.integration.current().is_idle() && !self.processors.next().comes()
    }

    /// The coflows, for questions about the thresholds that they have reached.
    pub fn coflows_mut(&mut self) -> &mut CoflowFluids {
        self.integration.coflows_mut()
    }

    /// All flows, for questions about bytes.
    pub fn integration(&self) -> &Integration {
        &self.integration
    }

    /// Begins to count the bytes for which the policy waits, if it waits for those of the wake-ups
    /// `fresh`.
    pub fn watch(&mut self, traffic: &Traffic, wakes: &Wakes, fresh: &[WakeId]) {
        let may_count = wakes.wait_at_links() || self.integration.counted().is_some();
        if std::mem::take(&mut self.counts_anew) && may_count {
            let all = wakes.senders().flat_map(|sender| wakes.of(sender));
            all.for_each(|wake| self.watch_one(traffic, wake));
        } else {
            let fresh = fresh.iter().filter_map(|&id| wakes.at(id));
            fresh.for_each(|wake| self.watch_one(traffic, wake));
        }
    }

    fn watch_one(&mut self, traffic: &Traffic, wake: Wake) {
        if self.integration.counted().is_some()
            && let Some(classes) = self.integration.classes_mut()
        {
            classes.watch(traffic, wake);
        } else if let Wake::WhenPassed(id, link, _) = wake {
            self.integration.watch(traffic, id, link);
        }
    }

    /// Whether all flows are followed as one group: bytes of coflows are known only when written
    /// back.
    pub fn is_flow_level(&self) -> bool {
        self.integration.is_flow_level()
    }

    /// Adds the flows that end now to `ending`.
    pub fn find_ending(&mut self, traffic: &mut Traffic, ending: &mut Vec<FlowAt>) {
        self.integration.current_mut().find_ending(&mut Network::of(traffic), ending);
    }

    /// A coflow has arrived.
    pub fn admit(&mut self, traffic: &Traffic, id: CoflowId) {
        let coflow = traffic.state().coflow(id);
        self.integration.coflows_mut().admit(id, coflow, traffic.now());
        if let Some(classes) = self.integration.classes_mut() {
            classes.admit(traffic.state(), id, traffic.now());
        }
    }

    /// A coflow has left.
    pub fn forget(&mut self, id: CoflowId) {
        self.processors.forget(id);
        self.integration.coflows_mut().forget(id);
        if let Some(classes) = self.integration.classes_mut() {
            classes.forget(id);
        }
    }

    /// Starts a flow. Returns whether it has bytes to send.
    #[inline]
    pub fn start(&mut self, traffic: &mut Traffic, flow: FlowId) -> bool {
        self.integration.current_mut().before_start(&mut Network::of(traffic), flow.coflow);
        traffic.start(flow)
    }

    /// A flow has started; a processor may have to compress it.
    pub fn note_start(&mut self, id: CoflowId, position: usize) {
        self.processors.flow_started(id, position);
    }

    /// A flow is about to end.
    pub fn before_end(&mut self, traffic: &mut Traffic, id: CoflowId, position: usize) {
        let mut network = Network::of(traffic);
        self.processors.flow_ended(id, position, &mut network, self.integration.coflows());
    }

    /// Restarts a flow that is under way.
    pub fn restart(&mut self, traffic: &mut Traffic, flow: FlowId) {
        let mut network = Network::of(traffic);
        let coflow = network.state.coflow(flow.coflow);
        if coflow.compressed().is_on() {
            let position = coflow.demand().position(flow.index);
            let Transfers { integration, processors, .. } = self;
            processors.restart(flow.coflow, position, &mut network, integration.coflows());
            self.hold_and_let_go(&mut network);
        }
        if self.integration.is_flow_level() {
            self.processors.record_all(&mut network, self.integration.coflows());
        }
        self.integration.current_mut().restart(&mut network, flow);
    }

    /// Call it before flows change in another way than by starts and ends; no coflow may be
    /// compressed. Writes the bytes left of all flows into the facts. The links are then shared
    /// from nothing.
    pub fn interrupt(&mut self, traffic: &mut Traffic) {
        if !std::mem::replace(&mut self.is_interrupted, true) {
            let mut network = Network::of(traffic);
            self.integration.interrupt(&mut network);
            network.allocator.clear();
            self.counts_anew = true;
        }
    }

    /// A coflow has got flows after an interruption, and so other links than those `before`.
    pub fn extended(&mut self, traffic: &Traffic, id: CoflowId, before: &[LinkId]) {
        let demand = traffic.state().coflow(id).demand();
        self.integration.coflows_mut().extended(id, before, demand);
    }

    /// Advances the processors to this round.
    pub fn advance_processors(&mut self, traffic: &mut Traffic) {
        let mut network = Network::of(traffic);
        self.processors.advance(&mut network, self.integration.coflows());
        self.hold_and_let_go(&mut network);
    }

    /// Withdraws flows that have to be compressed first from sharing, and returns those that have
    /// been compressed.
    fn hold_and_let_go(&mut self, network: &mut Network<'_>) {
        let toggles = self.processors.take_toggles();
        let integration = self.integration.current_mut();
        if !toggles.is_empty() {
            integration.before_toggles(network, toggles.iter().any(|toggle| toggle.hold));
        }
        for toggle in &toggles {
            let (id, position) = (toggle.coflow, toggle.position);
            let coflow = network.state.coflow(id);
            // Two events of one round may ask for the same flow.
            if toggle.hold != coflow.demand().is_active(position) {
                continue;
            }
            network.allocator.touch(id);
            if toggle.hold {
                let left = integration.hold(network, FlowAt::new(id, position));
                network.state.hold(id, position, left);
                network.allocator.adjust(network.state, id, position, -1.0);
            } else {
                integration.before_let_go(network, id);
                network.state.let_go(id, position);
                network.allocator.adjust(network.state, id, position, 1.0);
            }
        }
        self.processors.keep(toggles);
    }

    /// The plan has changed, and the allocator has not used it yet.
    pub fn plan_changed(&mut self, traffic: &mut Traffic, ranking: &Ranking) {
        if self.integration.needs_write_back(ranking) {
            let mut network = Network::of(traffic);
            self.processors.record_all(&mut network, self.integration.coflows());
            self.integration.current_mut().write_back(&mut network);
        }
    }

    /// Prepares the sharing of links: assigns flows to processors by the plan.
    pub fn before_sharing(&mut self, traffic: &mut Traffic, ranking: &Ranking, answer: Answer) {
        let mut network = Network::of(traffic);
        if std::mem::take(&mut self.is_interrupted) {
            network.allocator.clear();
        }
        let changed = (answer == Answer::Replaced && self.compresses).then_some(ranking);
        self.processors.plan(changed, &mut network, self.integration.coflows());
        self.hold_and_let_go(&mut network);
        self.processors.assign(&mut network, self.integration.coflows());
        self.integration.prepare(&mut network);
        if !ranking.tenants.is_empty() {
            // Rates of all flows are decided from nothing.
            self.processors.record_all(&mut network, self.integration.coflows());
            self.integration.current_mut().write_back(&mut network);
        }
    }

    /// Puts the rates into force that the allocator has decided. Returns the coflows that have
    /// stopped sending; none at flow level. If `writes_back`, writes the bytes left of their flows
    /// into the facts.
    pub fn take_rates(&mut self, traffic: &mut Traffic, writes_back: bool) -> &[CoflowId] {
        let mut network = Network::of(traffic);
        let Transfers { integration, processors, counts_anew, .. } = self;
        if integration.is_superseded(network.allocator) {
            // The mode in force ends here: processors record what they have compressed before.
            processors.record_all(&mut network, integration.coflows());
            integration.change_mode(&mut network);
            *counts_anew = true;
        }
        processors.before_rates_change(&mut network, integration.coflows());
        integration.install(&mut network);
        // At flow level nothing is known here of single coflows.
        if integration.is_flow_level() {
            return &[];
        }
        integration.coflows_mut().report_stopped(&mut network, writes_back)
    }

    /// Writes bytes left of flows into the facts, if the policy may see them.
    pub fn write_left(&mut self, traffic: &mut Traffic) {
        let mut network = Network::of(traffic);
        self.processors.record_all(&mut network, self.integration.coflows());
        self.integration.current_mut().write_back_for_policy(&mut network);
    }

    /// Writes bytes left of the flows of some coflows into the facts.
    pub fn write_left_of(&mut self, traffic: &mut Traffic, coflows: &[CoflowId]) {
        if coflows.is_empty() {
            return;
        }
        let network = &mut Network::of(traffic);
        if let Some(classes) = self.integration.classes_mut() {
            coflows.iter().for_each(|&id| classes.write_back_of(network, id));
        } else if self.integration.is_flow_level() {
            self.write_left(traffic);
        } else {
            self.processors.record_all(network, self.integration.coflows());
            let fluids = self.integration.coflows_mut();
            for &id in coflows {
                fluids.advance(network, id);
                network.state.report(id, fluids.bytes_sent(id, network.now), network.now);
            }
        }
    }

    /// Flows are about to move into or out of these coflows. Writes bytes left of all their flows
    /// into the facts.
    pub fn before_regrouping(&mut self, traffic: &mut Traffic, coflows: &[CoflowId]) {
        let integration = self.integration.coflows_mut();
        coflows.iter().for_each(|&id| integration.before_regrouping(&mut Network::of(traffic), id));
        self.counts_anew = true;
    }

    /// Writes bytes sent by coflows into the facts.
    pub fn report_sent(&mut self, traffic: &mut Traffic) {
        self.integration.current_mut().report_sent(&mut Network::of(traffic));
    }

    /// Bytes that a coflow has sent.
    pub fn sent(&self, traffic: &Traffic, id: CoflowId) -> f64 {
        self.integration.current().sent(traffic.state(), traffic.now(), id)
    }
}
