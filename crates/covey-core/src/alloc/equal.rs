//! Equal shares in one pass: not max-min, but what the released Aalo and CoflowSim do.
//!
//! Each link is divided equally among the flows that can send at all (all their links have
//! something free); a flow gets the least of its links' shares, and what a link's flows cannot use
//! is left for others.

use crate::demand::Demand;

/// Levels for `capacity` at the local links of a bipartite demand, into `level`, and what the flows
/// then use of each link, into `used`. `flows` is working memory.
pub(super) fn levels(
    demand: &Demand,
    capacity: &[f64],
    level: &mut Vec<f64>,
    used: &mut Vec<f64>,
    flows: &mut Vec<u32>,
) {
    flows.clear();
    flows.resize(capacity.len(), 0);
    let sending = |s: usize| {
        demand.active_in_row(s).map(|p| demand.receiver_of(p)).filter(|&r| capacity[r] > 0.0)
    };
    let senders = || (0..demand.senders()).filter(|&s| demand.count()[s] > 0 && capacity[s] > 0.0);
    for s in senders() {
        for r in sending(s) {
            flows[s] += 1;
            flows[r] += 1;
        }
    }
    level.clear();
    level.extend(
        capacity.iter().zip(&*flows).map(|(c, &n)| if n > 0 { c / f64::from(n) } else { 0.0 }),
    );
    used.clear();
    used.resize(capacity.len(), 0.0);
    for s in senders() {
        for r in sending(s) {
            let rate = level[s].min(level[r]);
            used[s] += rate;
            used[r] += rate;
        }
    }
}
