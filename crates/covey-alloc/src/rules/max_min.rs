//! Exact max-min fairness.
//!
//! An allocation is max-min fair when no flow can get more without taking from one that has no more
//! (Bertsekas and Gallager, Data Networks, §6.5). It follows that every link has a *water level*,
//! and that a flow's rate is the least level on its path. So a level is kept for each link instead
//! of a rate for each flow. Levels are found by [progressive filling](super::filling_on_paths).

use super::filling_on_paths::Served;
use super::sharing::{EntryFlows, Rates, RuleScratch, SharingRule, UNLIMITED};
use crate::error::PlanError;
use crate::flow_rate::FlowRate;
use covey_core::Rule;

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
        let filling = &mut scratch.on_paths;
        if flows.is_whole() {
            // Flows that cross a full link get nothing.
            let level = |free: &f64| if *free > 0.0 { UNLIMITED } else { 0.0 };
            rates.levels.extend(free.iter().map(level));
            let set_level = |_, l: usize, level| rates.levels[l] = level;
            filling.fill(demand, Served::All, free, set_level);
        } else {
            flows.select(&mut scratch.positions);
            let push = |position, _, rate| {
                rates.flow_rates.push(FlowRate { position: position as u32, rate });
            };
            filling.fill(demand, Served::At(&scratch.positions), free, push);
            rates.flow_rates.sort_unstable_by_key(|flow| flow.position);
        }
        free.iter_mut().zip(filling.rest()).for_each(|(free, rest)| *free = rest);
        Ok(())
    }

    fn in_backfill(&self, _: bool) -> Option<Rule> {
        Some(Rule::MaxMin)
    }
}
