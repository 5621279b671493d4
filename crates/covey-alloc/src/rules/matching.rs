//! Matching: one flow after another takes all that is free on its path (Philae §4.5).
//!
//! When links are either free or not, this serves one flow a port at full rate. Flows that run go
//! first, so that no flow is interrupted in favour of another of the same coflow; the others follow
//! in order of position. Whole coflows are matched by
//! [`IncrementalMatching`](crate::kept::incremental_matching::IncrementalMatching), which remembers
//! more of the previous decision and also knows the order [most loaded
//! first](super::most_loaded_first).

use super::sharing::{EntryFlows, Rates, RuleScratch, SharingRule};
use crate::error::PlanError;
use crate::flow_rate::FlowRate;
use crate::free_capacity::NEGLIGIBLE;
use covey_core::Demand;
use covey_core::Rule;

#[derive(Debug)]
pub struct Matching {
    /// The name of the rule: there are two orders in which flows of whole coflows begin.
    pub rule: Rule,
}

impl SharingRule for Matching {
    fn share(
        &self,
        flows: &mut EntryFlows<'_>,
        free: &mut [f64],
        rates: &mut Rates,
        scratch: &mut RuleScratch,
    ) -> Result<(), PlanError> {
        flows.select(&mut scratch.positions);
        one_by_one(flows.demand(), &scratch.positions, free, &mut rates.single);
        Ok(())
    }

    fn continues_flows(&self) -> bool {
        true
    }

    /// A coflow that has something has taken all that its flows can use together.
    fn in_backfill(&self, has_something: bool) -> Option<Rule> {
        (!has_something).then_some(self.rule)
    }
}

/// Each flow takes all that is free on its path. Those in `flow_rates` run, and go first.
fn one_by_one(demand: &Demand, flows: &[u32], free: &mut [f64], flow_rates: &mut Vec<FlowRate>) {
    flow_rates.retain_mut(|single| {
        single.rate = if flows.binary_search(&single.position).is_ok() {
            take(demand, single.position as usize, free)
        } else {
            0.0
        };
        single.rate > 0.0
    });
    for &position in flows {
        if demand.path(position as usize).all(|l| free[l] > 0.0) {
            let rate = take(demand, position as usize, free);
            flow_rates.push(FlowRate { position, rate });
        }
    }
}

/// Gives a flow all that is free on its links. A residue of rounding counts as nothing: a flow
/// must not count as running because of it.
fn take(demand: &Demand, position: usize, free: &mut [f64]) -> f64 {
    let rate = demand.path(position).map(|l| free[l]).fold(f64::INFINITY, f64::min);
    for l in demand.path(position) {
        let rest = free[l] - rate;
        free[l] = if rest > rate * NEGLIGIBLE { rest } else { 0.0 };
    }
    rate
}
