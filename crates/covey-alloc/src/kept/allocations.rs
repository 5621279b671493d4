//! What each coflow gets, and which coflows get something else than before.

use std::ops::{Index, IndexMut};

use super::coflow_allocation::CoflowAllocation;
use super::target::AllocationPart;
use crate::rules::list;
use covey_core::CoflowId;
use covey_core::state::State;
use covey_core::{Entry, Group};

/// The allocations of all coflows.
#[derive(Debug, Default)]
pub struct Allocations {
    by_coflow: Vec<CoflowAllocation>,
    /// Coflows whose allocation this pass has changed, each once.
    pub changed: Vec<CoflowId>,
    /// Number of this allocation pass.
    pub pass: u64,
    /// Whether entries for whole coflows are served provisionally, as backfill follows.
    pub is_provisional: bool,
}

impl Index<CoflowId> for Allocations {
    type Output = CoflowAllocation;

    fn index(&self, id: CoflowId) -> &CoflowAllocation {
        &self.by_coflow[id.index()]
    }
}

impl IndexMut<CoflowId> for Allocations {
    fn index_mut(&mut self, id: CoflowId) -> &mut CoflowAllocation {
        &mut self.by_coflow[id.index()]
    }
}

impl Allocations {
    /// Begins a pass over the plan.
    pub fn start_pass(&mut self, slots: usize) {
        self.changed.clear();
        self.pass += 1;
        self.grow(slots);
    }

    /// Makes room for so many coflows.
    pub fn grow(&mut self, slots: usize) {
        if self.by_coflow.len() < slots {
            self.by_coflow.resize_with(slots, Default::default);
        }
    }

    /// Withdraws all allocations.
    pub fn clear(&mut self) {
        self.by_coflow.iter_mut().for_each(CoflowAllocation::clear);
        self.changed.clear();
    }

    /// The flows that run by matching: the coflows, and the flows of each in the order in which
    /// they take, before backfill and after it.
    pub fn running(&mut self) -> Vec<(usize, [Vec<u32>; 2])> {
        let running = |(k, coflow): (usize, &mut CoflowAllocation)| {
            let running = [&coflow.provisional, &coflow.main].map(|part| part.matched.running());
            running.iter().any(|flows| !flows.is_empty()).then_some((k, running))
        };
        self.by_coflow.iter_mut().enumerate().filter_map(running).collect()
    }

    /// Has these flows go first on the next pass.
    pub fn resume(&mut self, running: Vec<(usize, [Vec<u32>; 2])>) {
        for (k, [provisional, main]) in running {
            self.by_coflow[k].provisional.matched.resume(provisional);
            self.by_coflow[k].main.matched.resume(main);
        }
    }

    /// A coflow's allocation, if it has ever been present.
    pub fn get_mut(&mut self, id: CoflowId) -> Option<&mut CoflowAllocation> {
        self.by_coflow.get_mut(id.index())
    }

    /// Which part of a coflow's allocation its own entry decides on this pass.
    pub fn whole(&self) -> AllocationPart {
        if self.is_provisional { AllocationPart::Provisional } else { AllocationPart::Main }
    }

    /// Whether an entry that gets nothing may be idle.
    pub fn may_idle(&self, which: AllocationPart, entry: &Entry) -> bool {
        (which == self.whole() || matches!(entry.group, Group::Flow(_)))
            && list::with(entry.rule, |rule| rule.waits_for_links())
    }

    /// Adds a coflow to those that this pass has changed.
    pub fn report(&mut self, id: CoflowId) {
        let allocation = &mut self.by_coflow[id.index()];
        if allocation.reported != self.pass {
            allocation.reported = self.pass;
            self.changed.push(id);
        }
    }

    /// No coflow is served provisionally any more.
    pub fn end_provisional(&mut self, state: &State) {
        for &id in state.present() {
            if self.by_coflow[id.index()].set_provisional(false, self.pass) {
                self.report(id);
            }
        }
    }
}
