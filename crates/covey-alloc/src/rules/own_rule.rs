//! At most a tenth: no flow takes more than a tenth of a link.
use super::sharing::{EntryFlows, Rates, RuleScratch, SharingRule};
use crate::{FlowRate, PlanError};
use covey_core::Rule;
#[derive(Debug)]
pub struct AtMostATenth;
impl SharingRule for AtMostATenth {
    fn share(
        &self,
        flows: &mut EntryFlows<'_>,
        free: &mut [f64], // bytes per second at each link of the coflow
        rates: &mut Rates,
        scratch: &mut RuleScratch,
    ) -> Result<(), PlanError> {
        let (demand, capacity) = (flows.demand(), flows.capacity);
        flows.select(&mut scratch.positions);
        for &position in &scratch.positions {
            let path = || demand.path(position as usize);
            let tenth = |l: usize| free[l].min(capacity[demand.links()[l].index()] / 10.0);
            let rate = path().map(tenth).fold(f64::INFINITY, f64::min);
            path().for_each(|l| free[l] -= rate);
            rates.single.push(FlowRate { position, rate });
        }
        Ok(())
    }
    fn in_backfill(&self, _: bool) -> Option<Rule> {
        None // its flows keep what they have
    }
}
