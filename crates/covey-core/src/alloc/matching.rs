//! One flow per port at full rate (Philae §4.5).
//!
//! Flows are looked at one after another, and each takes all that is free on its links. Flows that
//! are running go first, so that a flow is not interrupted in favour of another of the same coflow;
//! then sender by sender in order of first flow, and within a sender in order of registration.
//! When links are either free or not, this is one flow a port at full rate. Greedy backfill keeps
//! the same order over what all entries leave ([`backfill`](super::backfill)).

use super::Single;
use crate::demand::Demand;

/// Working memory of [`grant`].
#[derive(Debug, Default)]
pub(super) struct Matching {
    free_receivers: Vec<u64>,
}

/// Hands `free` (capacity at the local links, zero where there is none worth giving) to the active
/// flows of a bipartite demand. `singles` holds the flows that were running before and is replaced
/// by those that run now.
pub(super) fn grant(
    demand: &Demand,
    free: &mut [f64],
    singles: &mut Vec<Single>,
    work: &mut Matching,
) {
    singles.retain_mut(|single| {
        let p = single.position as usize;
        single.rate = if demand.is_active(p) { take(demand, p, free) } else { 0.0 };
        single.rate > 0.0
    });

    let senders = demand.senders();
    work.free_receivers.clear();
    work.free_receivers.resize(demand.receivers().div_ceil(64), 0);
    let mut any = 0;
    for (k, (free, count)) in free[senders..].iter().zip(&demand.count()[senders..]).enumerate() {
        if *free > 0.0 && *count > 0 {
            work.free_receivers[k / 64] |= 1 << (k % 64);
            any += 1;
        }
    }
    for s in 0..senders {
        if any == 0 {
            return;
        }
        if free[s] <= 0.0 || demand.count()[s] == 0 {
            continue;
        }
        let row = demand.row(s).start;
        if demand.is_regular(s) {
            for w in 0..work.free_receivers.len() {
                let mut candidates = demand.row_bits(s)[w] & work.free_receivers[w];
                while candidates != 0 && free[s] > 0.0 {
                    let k = w * 64 + candidates.trailing_zeros() as usize;
                    candidates &= candidates - 1;
                    let rate = take(demand, row + k, free);
                    if rate > 0.0 {
                        singles.push(Single { position: (row + k) as u32, rate });
                    }
                    if free[senders + k] <= 0.0 {
                        work.free_receivers[w] &= !(1 << (k % 64));
                        any -= 1;
                    }
                }
                if free[s] <= 0.0 {
                    break;
                }
            }
        } else {
            for p in demand.active_in_row(s) {
                if free[s] <= 0.0 {
                    break;
                }
                let r = demand.receiver_of(p);
                if free[r] > 0.0 {
                    let rate = take(demand, p, free);
                    singles.push(Single { position: p as u32, rate });
                    if free[r] <= 0.0 {
                        let k = r - senders;
                        work.free_receivers[k / 64] &= !(1 << (k % 64));
                        any -= 1;
                    }
                }
            }
        }
    }
}

/// Gives a flow all that is free on its links. What rounding leaves is nothing: a flow must not
/// count as running because of it.
pub(super) fn take(demand: &Demand, position: usize, free: &mut [f64]) -> f64 {
    let (s, r) = demand.ends(position);
    let rate = if demand.is_bipartite() {
        free[s].min(free[r])
    } else {
        demand.path(position).map(|l| free[l]).fold(f64::INFINITY, f64::min)
    };
    let mut spend = |l: usize| {
        let rest = free[l] - rate;
        free[l] = if rest > rate * super::NEGLIGIBLE { rest } else { 0.0 };
    };
    if demand.is_bipartite() {
        spend(s);
        spend(r);
    } else {
        demand.path(position).for_each(spend);
    }
    rate
}
