//! Exact max-min fairness.
//!
//! An allocation is max-min fair when no flow can get more without taking from one that has no more
//! (Bertsekas and Gallager, Data Networks, §6.5). It follows that every link has a *water level*,
//! and that a flow's rate is the least level on its path. So a level is kept for each link instead
//! of a rate for each flow. Levels are found by progressive [filling](crate::water::filling).
//!
//! A flow that crosses a link where nothing is free gets nothing, and takes no part. In a plan of many coflows these
//! are most flows: those before have filled some link on their path.

use std::ops::Deref;

use super::sharing::{EntryFlows, Rates, RuleScratch, SharingRule, UNLIMITED};
use crate::error::PlanError;
use crate::flow_rate::FlowRate;
use crate::water::filling::{Filling, Flows};
use covey_core::sets::bits::has_bit;
use covey_core::sets::simd::bitmask;
use covey_core::{Demand, Rule};

#[derive(Debug)]
pub struct MaxMin;

/// Working memory of the rule.
#[derive(Debug, Default)]
pub struct MaxMinScratch {
    filling: Filling,
    /// Links at which something is free, a bit each: to look these up takes less memory at once.
    has_free: Vec<u64>,
    /// Receivers at which something is free, a bit each.
    receivers: Vec<u64>,
    /// Number of flows that took part in the last decision.
    pub opened: usize,
}

impl SharingRule for MaxMin {
    fn share(
        &self,
        flows: &mut EntryFlows<'_>,
        free: &mut [f64],
        rates: &mut Rates,
        scratch: &mut RuleScratch,
    ) -> Result<(), PlanError> {
        let demand = flows.demand();
        let RuleScratch { max_min, positions, .. } = scratch;
        max_min.start(demand, free);
        if flows.is_whole() {
            max_min.open_all(demand, free);
            // Flows that cross a full link get nothing.
            let level = |free: &f64| if *free > 0.0 { UNLIMITED } else { 0.0 };
            rates.levels.extend(free.iter().map(level));
            max_min.filling.fill(demand, |_, l, level| rates.levels[l] = level);
        } else {
            flows.select(positions);
            positions.iter().for_each(|&position| max_min.open(demand, position as usize));
            max_min.filling.fill(demand, |position, _, rate| {
                rates.single.push(FlowRate { position: position as u32, rate });
            });
            rates.single.sort_unstable_by_key(|flow| flow.position);
        }
        free.iter_mut().zip(max_min.filling.rest()).for_each(|(free, rest)| *free = rest);
        Ok(())
    }

    fn in_backfill(&self, _: bool) -> Option<Rule> {
        Some(Rule::MaxMin)
    }
}

impl MaxMinScratch {
    fn start(&mut self, demand: &Demand, free: &[f64]) {
        self.filling.start(demand.width(), free.iter().copied());
        self.has_free.clear();
        let some = free.chunks(64).map(|some| bitmask(some.iter().map(|free| *free > 0.0)));
        self.has_free.extend(some);
        self.opened = 0;
    }

    /// Every active flow with something free on its whole path takes part.
    fn open_all(&mut self, demand: &Demand, free: &[f64]) {
        let MaxMinScratch { filling, has_free, receivers, opened } = self;
        demand.each_active_between(
            free,
            |free| free > 0.0,
            receivers,
            |position| {
                let path = demand.whole_path(position);
                if path[2..].iter().all(|&l| has_bit(has_free, l as usize)) {
                    filling.open(demand, position);
                    *opened += 1;
                }
            },
        );
    }

    /// A flow takes part, if something is free on its whole path.
    fn open(&mut self, demand: &Demand, position: usize) {
        let is_free = |&l: &u32| has_bit(&self.has_free, l as usize);
        if demand.whole_path(position).iter().all(is_free) {
            self.filling.open(demand, position);
        }
    }
}

/// The flows of a coflow, by position, each with the weight 1.
impl Flows for Demand {
    fn path(&self, position: usize) -> impl Deref<Target = [u32]> {
        self.whole_path(position)
    }

    fn weight(&self, _: usize) -> f64 {
        1.0
    }

    fn has_exact_sums(&self) -> bool {
        true
    }

    fn each_at(&self, link: usize, set: &mut [u64], visit: impl FnMut(&mut [u64], usize)) {
        Demand::each_at(self, link, set, visit);
    }
}
