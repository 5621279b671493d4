//! The run of a policy that does not distinguish coflows: FAIR and PFP.

use covey_trace::Workload;
use covey_trace::results::Outcome;

use super::cluster::{Cluster, Tally, unfinished};
use super::moving::{Ended, Moving};
use super::scale::{EPOCH, EPOCHS, QUANTUM_MS};
use crate::error::EmulationError;

/// Runs all flows to their ends.
///
/// # Errors
/// A coflow does not end within the day that the program simulates.
pub(super) fn run(
    workload: &Workload,
    cluster: &Cluster,
    moving: &mut dyn Moving,
) -> Result<Outcome, EmulationError> {
    let jobs = &cluster.jobs;
    let mut arrivals = cluster.arrivals.as_slice();
    let mut start_ms = vec![0.0; jobs.len()];
    let mut flow_ended: Vec<Vec<u64>> = jobs.iter().map(|j| vec![u64::MAX; j.flows()]).collect();
    // The number of flows that have not ended, by coflow and reducer.
    let mut open: Vec<Vec<usize>> =
        jobs.iter().map(|j| vec![j.mappers; j.reducers.len()]).collect();
    let mut reducer_ended: Vec<Vec<bool>> =
        jobs.iter().map(|j| vec![false; j.reducers.len()]).collect();
    // The number of reducers that have not ended, by coflow.
    let mut reducers: Vec<usize> = jobs.iter().map(|j| j.reducers.len()).collect();
    let mut coflow_ended: Vec<Option<u64>> = vec![None; jobs.len()];
    let mut active = 0;
    let mut events = 0;
    let mut ended = Ended::default();
    for epoch in 0..EPOCHS {
        let mut now = epoch * EPOCH;
        let end = now + EPOCH;
        for &c in cluster.admitted(&mut arrivals, epoch) {
            start_ms[c] = (now * QUANTUM_MS) as f64;
            active += 1;
            for (r, reducer) in jobs[c].reducers.iter().enumerate() {
                moving.admit(c, r, reducer);
            }
        }
        while active > 0 && now < end {
            now += moving.advance(end - now, &mut ended);
            events += 1;
            let mut over = std::mem::take(&mut ended.reducers);
            for flow in ended.flows.drain(..) {
                let [c, r] = [flow.coflow, flow.reducer];
                flow_ended[c][r * jobs[c].mappers + flow.mapper] = now;
                open[c][r] = open[c][r].saturating_sub(1);
                if open[c][r] == 0 {
                    over.push([c, r]);
                }
            }
            for [c, r] in over.drain(..) {
                if std::mem::replace(&mut reducer_ended[c][r], true) {
                    continue;
                }
                reducers[c] -= 1;
                if reducers[c] == 0 {
                    coflow_ended[c] = Some(now);
                    active -= 1;
                }
            }
            ended.reducers = over;
        }
        if arrivals.is_empty() && active == 0 {
            break;
        }
    }
    let mut tally = Tally::new(events);
    for (c, job) in jobs.iter().enumerate() {
        let ended = coflow_ended[c].ok_or_else(|| unfinished(workload, c))?;
        tally.add(job, start_ms[c], ended, |flow| flow_ended[c][flow].min(ended));
    }
    Ok(tally.0)
}
