//! All or none: every flow of an entry gets the same rate, or none gets any (Saath, CoNEXT 2017,
//! §3).
//!
//! A coflow ends with its slowest flow. It gains nothing by sending where it can while it waits
//! elsewhere; others do. The rate is that of the slowest flow under max-min fairness (Philae §4.5):
//! the least, over the links that the flows need, of what is free for each of them.

use super::sharing::{EntryFlows, Rates, RuleScratch, SharingRule, UNLIMITED};
use crate::error::PlanError;
use crate::flow_rate::FlowRate;
use covey_core::Rule;

#[derive(Debug)]
pub struct AllOrNone;

impl SharingRule for AllOrNone {
    fn share(
        &self,
        flows: &mut EntryFlows<'_>,
        free: &mut [f64],
        rates: &mut Rates,
        scratch: &mut RuleScratch,
    ) -> Result<(), PlanError> {
        let demand = flows.demand();
        if flows.is_whole() {
            let rate = rate(demand.count(), free);
            // Every flow has one sender, so nothing else needs to limit it.
            rates.levels.resize(demand.senders(), rate);
            rates.levels.resize(free.len(), UNLIMITED);
            return Ok(());
        }
        flows.select(&mut scratch.positions);
        scratch.count(demand, free.len());
        let rate = rate(&scratch.open, free);
        if rate > 0.0 {
            let positions = scratch.positions.iter();
            rates.single.extend(positions.map(|&position| FlowRate { position, rate }));
        }
        Ok(())
    }

    /// Once a coflow has something, nothing ties the rates of its flows together. Where it has
    /// nothing, a flow at full rate ends early.
    fn in_backfill(&self, has_something: bool) -> Option<Rule> {
        Some(if has_something { Rule::MaxMin } else { Rule::Matching })
    }

    fn needs_all_links(&self) -> bool {
        true
    }
}

/// Takes from `free` the largest rate that `flows` flows at each link can all have. Returns 0 when
/// a link that is needed is full, or when none is needed.
fn rate(flows: &[u32], free: &mut [f64]) -> f64 {
    let needed = flows.iter().zip(&*free).filter(|(flows, _)| **flows > 0);
    let rate = needed.map(|(&flows, free)| free / f64::from(flows)).fold(f64::INFINITY, f64::min);
    if !(rate.is_finite() && rate > 0.0) {
        return 0.0;
    }
    for (free, &flows) in free.iter_mut().zip(flows) {
        *free = (*free - rate * f64::from(flows)).max(0.0);
    }
    rate
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fullest_link_decides_for_all_flows() {
        let mut free = [1.0, 1.0, 0.5];
        assert_eq!(rate(&[2, 1, 0], &mut free), 0.5);
        assert_eq!(free, [0.0, 0.5, 0.5]);
    }

    #[test]
    fn a_full_link_that_is_needed_stops_all_flows() {
        let mut free = [1.0, 0.0];
        assert_eq!(rate(&[1, 1], &mut free), 0.0);
        assert_eq!(free, [1.0, 0.0]);
        assert_eq!(rate(&[1, 0], &mut free), 1.0);
        assert_eq!(rate(&[0, 0], &mut free), 0.0);
    }
}
