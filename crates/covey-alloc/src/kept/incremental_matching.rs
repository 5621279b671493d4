//! Matching, decided again only where something has changed.
//!
//! Flows that run go first, in the order in which they began, so that no flow is interrupted in
//! favour of another of the same coflow. Then come those that do not run, sender by sender in order
//! of first flow, and within a sender in order of registration; or the [most loaded ports
//! first](crate::rules::most_loaded_first). Each takes all that is free on its links
//! ([`matching`](crate::rules::matching)).
//!
//! Little of that changes from one pass to the next. So each running flow remembers what it found
//! at its links. It is looked at again only when it has ended or when one of these links is *dirty*
//! by its turn ([`Decision`]); if it then takes another amount, its other links are dirty for those
//! after it. A flow that does not run had nothing free at one of its links in the end: it can begin
//! only where a link has opened since. Rows of bits find such flows ([`MatchedFlows`]).

use super::changes::Changes;
use super::decision::{ChangedLinks, Decision};
use super::matched_flows::{MatchedFlows, OpenedPorts};
use crate::flow_rate::FlowRate;
use crate::rules::sharing::can_send;
use covey_core::state::CoflowState;

/// The running flows of a coflow, in the order in which they take.
#[derive(Debug, Default)]
pub struct IncrementalMatching {
    /// Whether flows begin at the most loaded ports first, instead of in order of position.
    pub most_loaded_first: bool,
    flows: MatchedFlows,
    /// Whether what the flows found, and which others can begin, is up to date.
    valid: bool,
    /// Whether it is not known any more which others can begin, because nothing could be sent.
    is_open_stale: bool,
    /// How many times flows of the coflow had begun.
    begun: u32,
    /// Whether any flow has stopped since the last decision began.
    any_stopped: bool,
    /// Flows that go first on a decision from nothing.
    resumed: Vec<u32>,
}

/// Working memory.
#[derive(Debug, Default)]
pub struct MatchingScratch {
    changed: ChangedLinks,
    ports: OpenedPorts,
}

impl IncrementalMatching {
    pub fn is_empty(&self) -> bool {
        self.flows.is_empty()
    }

    pub fn flow_rates(&self) -> impl Iterator<Item = FlowRate> + '_ {
        self.flows.rates()
    }

    /// Whether the last decision changed the rate of any flow.
    pub fn any_changed(&self) -> bool {
        self.any_stopped || self.flows.any_changed
    }

    /// The flows that run, in the order in which they take.
    pub fn running(&self) -> Vec<u32> {
        self.flow_rates().map(|flow| flow.position).collect()
    }

    /// The next decision, which is one from nothing, lets these flows go first.
    pub fn resume(&mut self, running: Vec<u32>) {
        self.resumed = running;
    }

    /// To be called before each decision.
    pub fn forget_changes(&mut self) {
        self.any_stopped = false;
        self.flows.any_changed = false;
    }

    /// All flows stop.
    pub fn withdraw(&mut self) {
        self.valid = false;
        self.resumed.clear();
        self.any_stopped |= !self.flows.is_empty();
        self.flows.clear();
    }

    /// Hands `before` (capacity at the local links, without negligible residues) to the active
    /// flows of `coflow`. `after` is what the previous decision left, and becomes what this one
    /// leaves. `changes.dirty` are the links at which `before` has changed since;
    /// `changes.dirty_after` receives those at which `after` has.
    pub fn decide(
        &mut self,
        coflow: &CoflowState,
        before: &[f64],
        after: &mut Vec<f64>,
        capacity: &[f64],
        changes: &mut Changes,
        scratch: &mut MatchingScratch,
    ) {
        let Changes { touched, dirty: found, dirty_after: left, .. } = changes;
        let demand = coflow.demand();
        let is_new = !self.valid;
        if is_new {
            self.flows.clear();
            after.clear();
            after.extend_from_slice(before);
        }
        if !is_new && self.is_empty() && !can_send(demand, before) {
            self.is_open_stale = true;
            found.iter().for_each(|l| after[l] = before[l]);
            return left.copy(found);
        }
        let was_stale = std::mem::take(&mut self.is_open_stale);
        let anywhere = is_new || was_stale || self.begun != coflow.begun();
        self.valid = true;
        self.begun = coflow.begun();
        let MatchingScratch { changed, ports } = scratch;
        changed.start(before.len());
        let mut decision = Decision { demand, capacity, after, changed };
        let flows = &mut self.flows;
        flows.find(&mut decision, before, found, anywhere);
        flows.keep(&mut decision, *touched);
        flows.resume(&mut decision, &self.resumed, ports);
        flows.begin(&mut decision, anywhere, self.most_loaded_first, ports);
        self.resumed.clear();
        if is_new {
            left.insert_below(before.len());
        }
        changed.end(after, (!is_new).then_some(left));
    }
}
