//! Equal shares in one step: not max-min fairness, but what the released Aalo and CoflowSim do.
//!
//! Each link is divided equally among the flows that can send at all: those with something free at
//! all their links. A flow gets the least share on its path. Capacity that a link's flows cannot
//! use is left for others.

use super::sharing::{EntryFlows, Rates, RuleScratch, SharingRule};
use crate::error::PlanError;
use crate::flow_rate::FlowRate;
use covey_core::Demand;
use covey_core::Rule;

#[derive(Debug)]
pub struct Equal;

impl SharingRule for Equal {
    fn share(
        &self,
        flows: &mut EntryFlows<'_>,
        free: &mut [f64],
        rates: &mut Rates,
        scratch: &mut RuleScratch,
    ) -> Result<(), PlanError> {
        if flows.is_whole() {
            levels(flows.demand(), free, &mut rates.levels, &mut scratch.open);
        } else {
            flows.select(&mut scratch.positions);
            by_path(flows.demand(), free, &mut rates.single, scratch);
        }
        Ok(())
    }

    fn in_backfill(&self, _: bool) -> Option<Rule> {
        Some(Rule::MaxMin)
    }
}

/// Makes `level` the levels of the local links of a coflow that finds `free`. Leaves in `free` what
/// is not used. `flows` is working memory.
fn levels(demand: &Demand, free: &mut [f64], level: &mut Vec<f64>, flows: &mut Vec<u32>) {
    flows.clear();
    flows.resize(free.len(), 0);
    for path in demand.active().map(|position| demand.whole_path(position)) {
        if path.iter().all(|&l| free[l as usize] > 0.0) {
            path.iter().for_each(|&l| flows[l as usize] += 1);
        }
    }
    level.clear();
    let share = |(free, &n): (&f64, &u32)| if n > 0 { free / f64::from(n) } else { 0.0 };
    level.extend(free.iter().zip(&*flows).map(share));
    for path in demand.active().map(|position| demand.whole_path(position)) {
        let rate = path.iter().map(|&l| level[l as usize]).fold(f64::INFINITY, f64::min);
        for &l in path.iter() {
            free[l as usize] = (free[l as usize] - rate).max(0.0);
        }
    }
}

/// The same for flows at `scratch.positions`, over paths of any number of links.
fn by_path(
    demand: &Demand,
    free: &mut [f64],
    flow_rates: &mut Vec<FlowRate>,
    scratch: &mut RuleScratch,
) {
    let RuleScratch { positions, open, numbers: start, .. } = scratch;
    open.clear();
    open.resize(free.len(), 0);
    start.clear();
    start.extend_from_slice(free);
    let can_send = |p: u32| demand.path(p as usize).all(|l| start[l] > 0.0);
    for &p in positions.iter().filter(|&&p| can_send(p)) {
        demand.path(p as usize).for_each(|l| open[l] += 1);
    }
    for &position in positions.iter().filter(|&&p| can_send(p)) {
        let rate = demand
            .path(position as usize)
            .map(|l| start[l] / f64::from(open[l]))
            .fold(f64::INFINITY, f64::min);
        demand.path(position as usize).for_each(|l| free[l] = (free[l] - rate).max(0.0));
        flow_rates.push(FlowRate { position, rate });
    }
}
