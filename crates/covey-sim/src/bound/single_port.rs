//! The bound that one link by itself gives.

use covey_core::Time;

use super::links::Links;
use super::machine::Machine;

/// Bound on the sum of all CCTs, in seconds: for each link, the minimum sum for a set of coflows
/// that share it, plus the isolated CCTs of all others (`isolated`); the largest over all links.
///
/// Shortest remaining first gives the minimum sum on one link (Schrage, "A proof of the optimality
/// of the shortest remaining processing time discipline", Operations Research 16, 1968). The bound
/// holds for any set of coflows. The function tries two: all coflows of the link, and those that
/// have their bottleneck there, for which the sum is never less than that of their isolated CCTs.
pub(super) fn sum(links: &Links, isolated: &[f64]) -> f64 {
    let mut machine = Machine::default();
    let alone: f64 = isolated.iter().sum();
    let mut best = alone;
    for link in links.starts.windows(2) {
        let all = &links.jobs[link[0]..link[1]];
        let at_bottleneck =
            |job: &&super::links::Job| job.offset + job.length >= isolated[job.coflow as usize];
        let some: Vec<_> = all.iter().filter(at_bottleneck).copied().collect();
        for jobs in [all, &some] {
            let mut shared = 0.0;
            let mut end = vec![0.0; jobs.len()];
            machine.serve(
                jobs,
                |_, left| Time::from_secs(left),
                |j, since, work| end[j] = since + work,
            );
            for (job, end) in jobs.iter().zip(end) {
                shared += end - (job.release - job.offset) - isolated[job.coflow as usize];
            }
            best = best.max(alone + shared);
        }
    }
    best
}
