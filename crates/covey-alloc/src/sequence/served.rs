//! The entries that have something, in the order in which they are served.

use crate::kept::allocations::Allocations;
use crate::kept::target::AllocationPart;
use covey_core::CoflowId;
use covey_core::Demand;
use covey_core::state::State;

/// Entries that are served one after another, each from what those before it leave.
#[derive(Debug, Default)]
pub struct ServedEntries {
    /// Bytes per second that the first entry is offered at each link.
    pub offered: Vec<f64>,
    /// Entries that have something on this pass, in order.
    takers: Vec<(CoflowId, AllocationPart)>,
    /// Working memory, by link of the fabric.
    free: Vec<f64>,
}

impl ServedEntries {
    /// No entry has been served.
    pub fn start(&mut self) {
        self.takers.clear();
    }

    /// An entry has something.
    pub fn push(&mut self, id: CoflowId, which: AllocationPart) {
        self.takers.push((id, which));
    }

    /// What is free behind all entries served so far, by link of the fabric. Valid at the links of
    /// `demand`.
    pub fn free(&mut self, state: &State, coflows: &Allocations, demand: &Demand) -> &[f64] {
        self.free.resize(self.offered.len(), 0.0);
        for link in demand.links().iter().map(|link| link.index()) {
            self.free[link] = self.offered[link];
        }
        for &(id, which) in &self.takers {
            let taker = state.coflow(id).demand();
            let after = &coflows[id].part(which).after;
            for (link, l) in taker.set().shared(demand.set()) {
                self.free[link] = after[l];
            }
        }
        &self.free
    }
}
