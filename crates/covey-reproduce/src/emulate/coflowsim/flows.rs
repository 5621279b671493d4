//! FAIR and PFP, which know flows and no coflows.

use covey_sim::Outcome;
use covey_trace::{MB, Workload};

use super::fair::Fair;
use super::job::Reducer;
use super::{Cluster, EPOCH, EPOCHS, QUANTUM_MS, Tally, unfinished};
use crate::emulate::EmulationError;

/// How flows move within an epoch.
pub(super) trait Moving {
    /// Admits the flows of the reducer `number` of a coflow.
    fn admit(&mut self, coflow: usize, number: usize, reducer: &Reducer);
    /// Moves on until flows or reducers end, but at most by `quanta`; returns the quanta passed.
    fn advance(&mut self, quanta: u64, ended: &mut Ended) -> u64;
}

/// What has ended.
#[derive(Debug, Default)]
pub(super) struct Ended {
    pub flows: Vec<FlowId>,
    /// Coflow and number of reducers of which flows are left. CoflowSim ends a reducer when its own
    /// count of bytes says so; its flows still move, and take their share.
    pub reducers: Vec<[usize; 2]>,
}

/// A flow, by number of its coflow, of its reducer there, and of its mapper.
#[derive(Debug, Clone, Copy)]
pub(super) struct FlowId {
    pub coflow: usize,
    pub reducer: usize,
    pub mapper: usize,
}

/// FAIR: in each quantum a flow sends the lesser of what a port can send by the number of its
/// flows, at either end. This is not max-min: what one end cannot use is lost for the other.
pub(super) fn fair(workload: &Workload, cluster: &Cluster) -> Result<Outcome, EmulationError> {
    run(workload, cluster, &mut Fair::new(cluster.racks))
}

/// PFP: in each quantum, rack by rack, a receiver serves the first of its flows whose sender is not
/// taken yet, alone. Flows are sorted when admitted, by what is left.
pub(super) fn shortest_first(
    workload: &Workload,
    cluster: &Cluster,
) -> Result<Outcome, EmulationError> {
    run(workload, cluster, &mut ShortestFirst::new(cluster.racks))
}

fn run(
    workload: &Workload,
    cluster: &Cluster,
    moving: &mut dyn Moving,
) -> Result<Outcome, EmulationError> {
    let jobs = &cluster.jobs;
    let mut arrivals = cluster.arrivals.as_slice();
    let mut start_ms = vec![0.0; jobs.len()];
    let mut flow_ended: Vec<Vec<u64>> = jobs.iter().map(|j| vec![u64::MAX; j.flows()]).collect();
    // Of each coflow, by reducer, the flows that have not ended.
    let mut open: Vec<Vec<usize>> =
        jobs.iter().map(|j| vec![j.mappers; j.reducers.len()]).collect();
    let mut reducer_ended: Vec<Vec<bool>> =
        jobs.iter().map(|j| vec![false; j.reducers.len()]).collect();
    // Reducers that have not ended.
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

/// PFP. All sizes are whole MiB, so nothing is rounded.
struct ShortestFirst {
    /// By receiver.
    queues: Vec<Queue>,
    /// Whether each sender is taken.
    taken: Vec<bool>,
}

/// The flows to a rack, in order; in parallel lists, since they are searched much.
#[derive(Default, Clone)]
struct Queue {
    src: Vec<u32>,
    /// Quanta left.
    left: Vec<u64>,
    flows: Vec<FlowId>,
    /// Whether each is of a reducer with nothing to receive.
    of_nothing: Vec<bool>,
    /// The one that is served.
    served: Option<usize>,
}

impl ShortestFirst {
    fn new(racks: usize) -> Self {
        Self { queues: vec![Queue::default(); racks], taken: vec![false; racks] }
    }
}

impl Moving for ShortestFirst {
    fn admit(&mut self, coflow: usize, number: usize, reducer: &Reducer) {
        let mib = (reducer.flow_bytes / MB) as u64;
        let queue = &mut self.queues[reducer.rack];
        // They are equal, so they stand in a row.
        let place = queue.left.iter().position(|&left| left > mib);
        let place = place.unwrap_or(queue.left.len());
        let row = place..place;
        let flows = reducer.from.len();
        let ids = (0..flows).map(|mapper| FlowId { coflow, reducer: number, mapper });
        queue.src.splice(row.clone(), reducer.from.iter().map(|&src| src as u32));
        queue.left.splice(row.clone(), std::iter::repeat_n(mib, flows));
        queue.flows.splice(row.clone(), ids);
        queue.of_nothing.splice(row, std::iter::repeat_n(reducer.bytes == 0.0, flows));
    }

    fn advance(&mut self, most: u64, ended: &mut Ended) -> u64 {
        self.taken.fill(false);
        let mut quanta = most;
        for queue in &mut self.queues {
            queue.served = queue.src.iter().position(|&src| !self.taken[src as usize]);
            if let Some(served) = queue.served {
                self.taken[queue.src[served] as usize] = true;
                quanta = quanta.min(queue.left[served]);
            }
        }
        for queue in &mut self.queues {
            let Some(served) = queue.served else { continue };
            queue.left[served] -= quanta;
            if queue.left[served] == 0 {
                queue.src.remove(served);
                queue.left.remove(served);
                let flow = queue.flows.remove(served);
                if queue.of_nothing.remove(served) {
                    ended.reducers.push([flow.coflow, flow.reducer]);
                }
                ended.flows.push(flow);
            }
        }
        quanta
    }
}
