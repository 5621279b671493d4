//! What is left at each link behind each entry of a plan that is kept.

use super::target::{PlacedEntry, coflow_of};
use crate::free_capacity::FreeCapacity;
use covey_core::Demand;
use covey_core::Rank;
use covey_core::state::State;

/// What is left at each link of the fabric behind each entry that takes something there.
///
/// Of a wide entry only the places are listed at which a link closes or opens: what such an entry
/// leaves is in its allocation.
#[derive(Debug, Default)]
pub struct LeftByRank {
    /// By link, the entries that take something, in order, each with what it leaves.
    left: Vec<Vec<(Rank, f64)>>,
    /// By link, what the first entry is offered.
    offered: Vec<f64>,
    /// Working memory: the entry that has left what is free at a link.
    source: Vec<Rank>,
}

impl LeftByRank {
    /// Forgets all entries.
    pub fn clear(&mut self) {
        self.left.iter_mut().for_each(Vec::clear);
    }

    /// Begins a pass: what the first entry is offered differs at the dirty links of `free`.
    pub fn start(&mut self, free: &FreeCapacity) {
        let count = free.amount.len();
        self.offered.resize(count, 0.0);
        self.left.resize_with(count, Vec::new);
        for link in free.dirty.iter() {
            let is_open = free.is_open_and_dirty(link);
            self.offered[link] = if is_open { free.amount[link] } else { 0.0 };
        }
    }

    /// Whether anything was left at a link before a place, on the previous pass.
    pub fn was_open_before(&self, link: usize, rank: Rank) -> bool {
        let last = self.left[link].iter().rev().find(|(other, _)| *other < rank);
        last.map_or(self.offered[link], |(_, rest)| *rest) > 0.0
    }

    /// The first place from which on nothing has been left at a link before `rank`, where it is
    /// closed.
    pub fn closed_since(&self, link: usize, rank: Rank) -> Rank {
        let takers = self.left[link].iter().rev().filter(|(other, _)| *other < rank);
        let last = takers.take_while(|(_, rest)| *rest == 0.0).last();
        last.map_or(Rank::default(), |(rank, _)| *rank)
    }

    /// The entry at `rank` has `found` and left (`rest`) something at a link, residues of rounding
    /// left out.
    pub fn record(&mut self, rank: Rank, link: usize, found: f64, rest: f64, is_wide: bool) {
        let is_listed = if is_wide { (found > 0.0) != (rest > 0.0) } else { found != rest };
        let left = &mut self.left[link];
        if left.is_empty() && !is_listed {
            return;
        }
        let k = left.partition_point(|(other, _)| *other < rank);
        let is_there = left.get(k).is_some_and(|(other, _)| *other == rank);
        match (is_there, is_listed) {
            (true, true) => left[k].1 = rest,
            (false, true) => left.insert(k, (rank, rest)),
            (true, false) => _ = left.remove(k),
            (false, false) => {}
        }
    }

    /// Makes `free` what is left before `rank` at the links of `demand` that are not dirty.
    /// `passed` are the entries before it that have something, and `after` says what a wide one has
    /// left, by local link.
    pub fn find_before<'a>(
        &mut self,
        state: &'a State,
        rank: Rank,
        demand: &Demand,
        free: &mut Vec<f64>,
        passed: &[PlacedEntry],
        after: impl Fn(&PlacedEntry) -> &'a [f64],
    ) {
        free.resize(self.offered.len(), 0.0);
        self.source.resize(self.offered.len(), Rank::default());
        for link in demand.links().iter().map(|link| link.index()) {
            let last = self.left[link].iter().rev().find(|(other, _)| *other < rank);
            let last = last.copied().unwrap_or((Rank::default(), self.offered[link]));
            (self.source[link], free[link]) = last;
        }
        for placed in passed.iter().filter(|placed| placed.is_wide) {
            let after = after(placed);
            let taker = state.coflow(coflow_of(placed.entry.group)).demand();
            for (link, l) in taker.set().shared(demand.set()).filter(|_| !after.is_empty()) {
                if self.source[link] < placed.rank {
                    free[link] = after[l];
                }
            }
        }
    }
}
