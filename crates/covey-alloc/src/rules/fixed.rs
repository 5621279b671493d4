//! The same given rate for each flow of an entry. A rate that does not fit is an error.

use super::sharing::{EntryFlows, Rates, RuleScratch, SharingRule};
use crate::error::PlanError;
use crate::flow_rate::FlowRate;
use crate::free_capacity::NEGLIGIBLE;
use covey_core::Rule;

#[derive(Debug)]
pub struct Fixed {
    pub bytes_per_s: f64,
}

impl SharingRule for Fixed {
    fn share(
        &self,
        flows: &mut EntryFlows<'_>,
        free: &mut [f64],
        rates: &mut Rates,
        scratch: &mut RuleScratch,
    ) -> Result<(), PlanError> {
        flows.select(&mut scratch.positions);
        let (demand, rate) = (flows.demand(), self.bytes_per_s);
        for &position in &scratch.positions {
            for l in demand.path(position as usize) {
                let link = demand.links()[l];
                let slack = flows.capacity[link.index()] * NEGLIGIBLE;
                // `!(a <= b)` also refuses a rate that is not a number.
                if !(rate >= 0.0 && rate <= free[l] + slack) {
                    return Err(PlanError::Overbooked { link, asked: rate, free: free[l] });
                }
                free[l] = (free[l] - rate).max(0.0);
            }
            if rate > 0.0 {
                rates.single.push(FlowRate { position, rate });
            }
        }
        Ok(())
    }

    fn in_backfill(&self, _: bool) -> Option<Rule> {
        None
    }

    fn is_exact(&self) -> bool {
        true
    }

    fn waits_for_links(&self) -> bool {
        false
    }
}
