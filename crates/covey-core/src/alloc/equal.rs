//! Equal shares in one pass: not max-min, but what the released Aalo and CoflowSim do.
//!
//! Each link is divided equally among the flows that can send at all (all their links have
//! something free); a flow gets the least of its links' shares, and what a link's flows cannot use
//! is left for others.

use crate::demand::Demand;

/// Levels of the local links of a bipartite demand that finds `free`, into `level`; leaves in `free`
/// what is not used. `flows` is working memory.
pub(super) fn levels(
    demand: &Demand,
    free: &mut [f64],
    level: &mut Vec<f64>,
    flows: &mut Vec<u32>,
) {
    flows.clear();
    flows.resize(free.len(), 0);
    let senders = || (0..demand.senders()).filter(|&s| demand.count()[s] > 0);
    for s in senders().filter(|&s| free[s] > 0.0) {
        for r in demand.active_in_row(s).map(|p| demand.receiver_of(p)) {
            if free[r] > 0.0 {
                flows[s] += 1;
                flows[r] += 1;
            }
        }
    }
    level.clear();
    let share = |(free, &n): (&f64, &u32)| if n > 0 { free / f64::from(n) } else { 0.0 };
    level.extend(free.iter().zip(&*flows).map(share));
    for s in senders().filter(|&s| level[s] > 0.0) {
        for r in demand.active_in_row(s).map(|p| demand.receiver_of(p)) {
            let rate = level[s].min(level[r]);
            free[s] = (free[s] - rate).max(0.0);
            free[r] = (free[r] - rate).max(0.0);
        }
    }
}
