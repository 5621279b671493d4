//! The choice of pilots.

use super::coflow::Job;
use super::parameters::{Parameters, Ties};

/// Active pilots at each sending and each receiving port.
pub(super) type PilotsAt = [Vec<i64>; 2];

/// Chooses the pilots of `job`. Each choice sorts the coflow's ports by their active pilots, and
/// takes the first unused pair along the diagonals of the two lists.
pub(super) fn choose(job: &mut Job, at: &mut PilotsAt, with: &Parameters) {
    let mut positions = [0, 1].map(|side| (0..job.sides[side].tasks.len()).collect::<Vec<_>>());
    let receivers = job.sides[1].tasks.len();
    let mut used = vec![false; job.width()];
    for _ in 0..job.pilots_wanted(with) {
        for side in [0, 1] {
            let port = |at: usize| job.sides[side].tasks[at].port;
            match with.ties {
                Ties::Reversed => {
                    positions[side].reverse();
                    positions[side].sort_by_key(|&p| at[side][port(p)]);
                }
                Ties::ByPort => positions[side].sort_by_key(|&p| (at[side][port(p)], port(p))),
            }
        }
        let [senders, to] = &positions;
        let diagonals = 0..senders.len() + to.len() - 1;
        let mut pairs = diagonals.flat_map(|sum| {
            let first = (sum + 1).saturating_sub(to.len());
            (first..=sum.min(senders.len() - 1)).map(move |s| (s, sum - s))
        });
        let flow = |(s, r): (usize, usize)| senders[s] * receivers + to[r];
        let Some(flow) = pairs.find(|&pair| !used[flow(pair)]).map(flow) else { return };
        used[flow] = true;
        job.pilots.push(flow as u32);
        job.open_pilots += 1;
        let ports = job.ports_of(flow as u32);
        (0..2).for_each(|side| at[side][ports[side]] += 1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use covey_trace::{Coflow, Flow};

    fn job(senders: u32, receivers: u32) -> Job {
        let pairs = (0..senders).flat_map(|src| (0..receivers).map(move |dst| (src, dst)));
        let flows = pairs.map(|(src, dst)| Flow { src, dst, bytes: 9.0, start_s: 0.0 }).collect();
        Job::load(&Coflow::new("1".to_owned(), 0.0, flows), 150).expect("a shuffle")
    }

    #[test]
    fn a_twentieth_of_the_senders_but_one_at_least() {
        let with = Parameters::default();
        let pilots = |senders, receivers| job(senders, receivers).pilots_wanted(&with);
        // All flows of a thin coflow are pilots.
        assert_eq!([pilots(1, 7), pilots(7, 1), pilots(1, 8), pilots(8, 1)], [7, 7, 1, 1]);
        assert_eq!([pilots(20, 9), pilots(39, 9), pilots(40, 3), pilots(140, 1)], [1, 1, 2, 7]);
    }

    #[test]
    fn the_least_busy_ports_first() {
        let mut at = [vec![0; 150], vec![0; 150]];
        at[0][0] = 1;
        at[1][1] = 1;
        let mut job = job(2, 3);
        let with = Parameters { ties: Ties::ByPort, ..Parameters::default() };
        choose(&mut job, &mut at, &with);
        // Sender and receiver. Before the fourth, senders have 2 pilots each and receivers 1, 2, 1:
        // the first pair of the first diagonal is still unused.
        let pairs: Vec<[usize; 2]> = job.pilots.iter().map(|&flow| job.ends_of(flow)).collect();
        assert_eq!(pairs, [[1, 0], [0, 2], [1, 1], [0, 0], [1, 2], [0, 1]]);
        assert_eq!(at[0][..2], [4, 3]);
    }
}
