//! The sharing rules for any set of flows of a coflow, over paths of any number of links.
//!
//! Used for single flows, for a coflow at one port, and for fabrics with inner links. Each rule
//! appends a rate for every flow that gets one and takes it from `free` (capacity at local links).

use super::{FlowRate, PlanError, all_or_none as same};
use crate::demand::Demand;
use crate::ids::LinkId;

/// Working memory: numbers per local link and per flow.
#[derive(Debug, Default)]
pub(super) struct Work {
    open: Vec<u32>,
    rate: Vec<f64>,
}

/// Exact max-min by progressive filling, one bottleneck share a round.
pub(super) fn max_min(
    demand: &Demand,
    flows: &[u32],
    free: &mut [f64],
    singles: &mut Vec<FlowRate>,
    work: &mut Work,
) {
    work.open.clear();
    work.open.resize(free.len(), 0);
    work.rate.clear();
    work.rate.resize(flows.len(), f64::NAN);
    for &p in flows {
        demand.path(p as usize).for_each(|l| work.open[l] += 1);
    }
    loop {
        let share = |l: usize| free[l].max(0.0) / f64::from(work.open[l]);
        let least =
            (0..free.len()).filter(|&l| work.open[l] > 0).map(share).fold(f64::INFINITY, f64::min);
        if least == f64::INFINITY {
            break;
        }
        let limit = least * (1.0 + 1e-12);
        // Decide with the shares at the start of the round who is fixed; only then take.
        for (i, &p) in flows.iter().enumerate() {
            let open = work.rate[i].is_nan();
            if open && demand.path(p as usize).any(|l| share(l) <= limit) {
                work.rate[i] = -least;
            }
        }
        for (i, &p) in flows.iter().enumerate() {
            if work.rate[i].is_sign_negative() && !work.rate[i].is_nan() {
                work.rate[i] = least;
                for l in demand.path(p as usize) {
                    free[l] -= least;
                    work.open[l] -= 1;
                }
            }
        }
    }
    for (&position, &rate) in flows.iter().zip(&work.rate) {
        if rate > 0.0 {
            singles.push(FlowRate { position, rate });
        }
    }
    free.iter_mut().for_each(|f| *f = f.max(0.0));
}

/// Equal shares in one pass among the flows that can send at all.
pub(super) fn equal(
    demand: &Demand,
    flows: &[u32],
    free: &mut [f64],
    singles: &mut Vec<FlowRate>,
    work: &mut Work,
) {
    work.open.clear();
    work.open.resize(free.len(), 0);
    work.rate.clear();
    work.rate.extend_from_slice(free);
    let start = &work.rate;
    let can_send = |p: u32| demand.path(p as usize).all(|l| start[l] > 0.0);
    for &p in flows.iter().filter(|&&p| can_send(p)) {
        demand.path(p as usize).for_each(|l| work.open[l] += 1);
    }
    for &position in flows.iter().filter(|&&p| can_send(p)) {
        let rate = demand
            .path(position as usize)
            .map(|l| start[l] / f64::from(work.open[l]))
            .fold(f64::INFINITY, f64::min);
        demand.path(position as usize).for_each(|l| free[l] = (free[l] - rate).max(0.0));
        singles.push(FlowRate { position, rate });
    }
}

/// The largest rate that fits for every flow.
pub(super) fn all_or_none(
    demand: &Demand,
    flows: &[u32],
    free: &mut [f64],
    singles: &mut Vec<FlowRate>,
    work: &mut Work,
) {
    work.open.clear();
    work.open.resize(free.len(), 0);
    for &p in flows {
        demand.path(p as usize).for_each(|l| work.open[l] += 1);
    }
    let rate = same::rate(&work.open, free);
    if rate > 0.0 {
        singles.extend(flows.iter().map(|&position| FlowRate { position, rate }));
    }
}

/// One flow at a time takes all that is free; flows in `singles` were running and go first.
pub(super) fn matching(
    demand: &Demand,
    flows: &[u32],
    free: &mut [f64],
    singles: &mut Vec<FlowRate>,
) {
    singles.retain_mut(|single| {
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
            singles.push(FlowRate { position, rate });
        }
    }
}

/// Gives a flow all that is free on its links. What rounding leaves is nothing: a flow must not
/// count as running because of it.
fn take(demand: &Demand, position: usize, free: &mut [f64]) -> f64 {
    let rate = demand.path(position).map(|l| free[l]).fold(f64::INFINITY, f64::min);
    for l in demand.path(position) {
        let rest = free[l] - rate;
        free[l] = if rest > rate * super::NEGLIGIBLE { rest } else { 0.0 };
    }
    rate
}

/// Exactly `rate` for each flow.
pub(super) fn fixed(
    demand: &Demand,
    flows: &[u32],
    rate: f64,
    free: &mut [f64],
    capacity: impl Fn(LinkId) -> f64,
    singles: &mut Vec<FlowRate>,
) -> Result<(), PlanError> {
    for &position in flows {
        for l in demand.path(position as usize) {
            let link = demand.links()[l];
            let slack = capacity(link) * super::NEGLIGIBLE;
            // `!(a <= b)` also refuses a rate that is not a number.
            if !(rate >= 0.0 && rate <= free[l] + slack) {
                return Err(PlanError::Overbooked { link, asked: rate, free: free[l] });
            }
            free[l] = (free[l] - rate).max(0.0);
        }
        if rate > 0.0 {
            singles.push(FlowRate { position, rate });
        }
    }
    Ok(())
}
