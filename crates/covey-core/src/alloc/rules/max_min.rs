//! Exact max-min fairness.
//!
//! An allocation is max-min fair when no flow can get more without taking from one that has no more
//! (Bertsekas and Gallager, Data Networks, §6.5). It follows that every link has a *water level*,
//! and that a flow's rate is the least level on its path. So a level is kept for each link instead
//! of a rate for each flow. Levels are found by [progressive filling](super::progressive_filling).

use super::progressive_filling::{Shuffle, fill};
use super::sharing::{EntryFlows, Rates, RuleScratch, SharingRule};
use crate::alloc::error::PlanError;
use crate::alloc::flow_rate::FlowRate;
use crate::demand::Demand;
use crate::plan::Rule;

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
        if flows.is_by_link() {
            if flows.rows.is_empty() {
                flows.rows.tell_apart(demand);
            }
            let filling = &mut scratch.max_min;
            fill(&Shuffle { demand, rows: flows.rows }, free, filling);
            rates.levels.extend_from_slice(&filling.level);
            free.iter_mut().zip(&filling.free).for_each(|(free, rest)| *free = rest.max(0.0));
        } else {
            flows.select(&mut scratch.positions);
            by_path(demand, free, &mut rates.flow_rates, scratch);
        }
        Ok(())
    }

    fn in_backfill(&self, _: bool) -> Option<Rule> {
        Some(Rule::MaxMin)
    }
}

/// The same for flows at `scratch.positions`, over paths of any number of links: one bottleneck
/// share a round.
fn by_path(
    demand: &Demand,
    free: &mut [f64],
    flow_rates: &mut Vec<FlowRate>,
    scratch: &mut RuleScratch,
) {
    scratch.count(demand, free.len());
    let RuleScratch { positions: flows, open: unfixed, numbers: rates, .. } = scratch;
    rates.clear();
    rates.resize(flows.len(), f64::NAN);
    loop {
        let share = |l: usize| free[l].max(0.0) / f64::from(unfixed[l]);
        let least =
            (0..free.len()).filter(|&l| unfixed[l] > 0).map(share).fold(f64::INFINITY, f64::min);
        if least == f64::INFINITY {
            break;
        }
        let limit = least * (1.0 + 1e-12);
        // Decide with the shares at the start of the round which flows are fixed; only then take.
        for (i, &p) in flows.iter().enumerate() {
            let open = rates[i].is_nan();
            if open && demand.path(p as usize).any(|l| share(l) <= limit) {
                rates[i] = -least;
            }
        }
        for (i, &p) in flows.iter().enumerate() {
            if rates[i].is_sign_negative() && !rates[i].is_nan() {
                rates[i] = least;
                for l in demand.path(p as usize) {
                    free[l] -= least;
                    unfixed[l] -= 1;
                }
            }
        }
    }
    for (&position, &rate) in flows.iter().zip(&*rates) {
        if rate > 0.0 {
            flow_rates.push(FlowRate { position, rate });
        }
    }
    free.iter_mut().for_each(|f| *f = f.max(0.0));
}
