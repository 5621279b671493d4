//! What entries for some flows of one coflow give.

use super::entry_allocation::EntryAllocation;
use super::plan_place::PlanPlace;
use covey_core::Group;

/// The allocations of a coflow's entries for some of its flows. Where the plan is read whole, the
/// entries take them in the order of the plan. In a plan that is kept, each entry keeps its own.
#[derive(Debug, Default)]
pub struct Subsets {
    all: Vec<EntryAllocation>,
    /// How many entries have taken theirs in the pass `pass`.
    taken: usize,
    /// The pass in which an entry last took one.
    pass: u64,
}

impl Subsets {
    /// The index of the next one that no entry has taken in this pass.
    pub fn take_next(&mut self, pass: u64) -> usize {
        if self.pass != pass {
            self.pass = pass;
            self.taken = 0;
        }
        self.taken += 1;
        if self.all.len() < self.taken {
            self.all.push(EntryAllocation::default());
        }
        self.taken - 1
    }

    /// The index of the one that an entry for this group has in a plan that is kept; of a vacant
    /// one if it has none.
    pub fn of(&mut self, group: Group) -> usize {
        let stands = |place: &PlanPlace| place.at.is_some_and(|(_, other)| other == group);
        let known = self.all.iter().position(|subset| stands(&subset.place));
        let vacant = || self.all.iter().position(|subset| subset.place.at.is_none());
        known.or_else(vacant).unwrap_or_else(|| {
            self.all.push(EntryAllocation::default());
            self.all.len() - 1
        })
    }

    /// All of them, those included that no entry of the plan has.
    pub fn all(&self) -> &[EntryAllocation] {
        &self.all
    }

    /// All of them, to be decided or withdrawn.
    pub fn all_mut(&mut self) -> &mut [EntryAllocation] {
        &mut self.all
    }
}
