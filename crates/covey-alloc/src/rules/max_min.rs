//! Exact max-min fairness among some flows of a coflow. Whole coflows do not come here: their
//! levels are [kept](crate::kept::kept_levels).
//!
//! An allocation is max-min fair when no flow can get more without taking from one that has no more
//! (Bertsekas and Gallager, Data Networks, §6.5). Rates are worked out by progressive
//! [filling](crate::water::filling) at each decision.

use std::ops::Deref;

use super::sharing::{EntryFlows, Rates, RuleScratch, SharingRule};
use crate::error::PlanError;
use crate::flow_rate::FlowRate;
use crate::water::filling::Flows;
use covey_core::{Demand, Rule};

#[derive(Debug)]
pub struct MaxMin;

impl SharingRule for MaxMin {
    fn share(
        &self,
        flows: &mut EntryFlows<'_>,
        free: &mut [f64],
        rates: &mut Rates,
        scratch: &mut RuleScratch,
    ) -> Result<(), PlanError> {
        let demand = flows.demand();
        let RuleScratch { filling, positions, .. } = scratch;
        flows.select(positions);
        filling.start(demand.width(), free.iter().copied());
        // A flow that crosses a link where nothing is free gets nothing, and takes no part.
        let can_send = |&&position: &&u32| {
            demand.whole_path(position as usize).iter().all(|&l| free[l as usize] > 0.0)
        };
        positions.iter().filter(can_send).for_each(|&p| filling.open(demand, p as usize));
        filling.fill(demand, |position, _, rate| {
            rates.single.push(FlowRate { position: position as u32, rate });
        });
        rates.single.sort_unstable_by_key(|flow| flow.position);
        free.iter_mut().zip(filling.rest()).for_each(|(free, rest)| *free = rest);
        Ok(())
    }

    fn in_backfill(&self, _: bool) -> Option<Rule> {
        Some(Rule::MaxMin)
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
