//! What is left at each link behind each entry of a plan that is kept.

use crate::free_capacity::FreeCapacity;
use covey_core::Demand;
use covey_core::Rank;

/// What is left at each link of the fabric behind each entry that takes something at the link.
#[derive(Debug, Default)]
pub struct LeftByRank {
    /// By link, the entries that take something, in order, each with what it leaves.
    left: Vec<Vec<(Rank, f64)>>,
    /// By link, what the first entry is offered.
    offered: Vec<f64>,
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
        self.left_before(link, rank) > 0.0
    }

    /// What was left at a link before a place, on the previous pass.
    fn left_before(&self, link: usize, rank: Rank) -> f64 {
        let last = self.left[link].iter().rev().find(|(other, _)| *other < rank);
        last.map_or(self.offered[link], |(_, rest)| *rest)
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
    pub fn record(&mut self, rank: Rank, link: usize, found: f64, rest: f64) {
        let is_listed = found != rest;
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

    /// Makes `free` what was left before `rank` at the links of `demand`, on the previous pass.
    pub fn find_before(&self, rank: Rank, demand: &Demand, free: &mut Vec<f64>) {
        free.resize(self.offered.len(), 0.0);
        for link in demand.links().iter().map(|link| link.index()) {
            free[link] = self.left_before(link, rank);
        }
    }
}
