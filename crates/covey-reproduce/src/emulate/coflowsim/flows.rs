//! FAIR and PFP, which know flows and no coflows.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use covey_sim::Outcome;
use covey_trace::{MB, Workload};

use super::{Cluster, EPOCH, EPOCHS, QUANTUM_MS, Tally, ZERO, unfinished};
use crate::emulate::EmulationError;

/// How flows move within an epoch.
trait Moving {
    /// A flow is admitted.
    fn admit(&mut self, flow: Flow);
    /// Moves on until flows end, by at most `quanta`: by how many, and the flows that end after the
    /// last of them.
    fn advance(&mut self, quanta: u64, ended: &mut Vec<Flow>) -> u64;
}

/// A flow, by number of its coflow and its own number there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Flow {
    src: usize,
    dst: usize,
    mib: u64,
    coflow: usize,
    number: usize,
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
    // Reducers that have not ended.
    let mut reducers: Vec<usize> = jobs.iter().map(|j| j.reducers.len()).collect();
    let mut coflow_ended: Vec<Option<u64>> = vec![None; jobs.len()];
    let mut active = 0;
    let mut events = 0;
    let mut ended = Vec::new();
    for epoch in 0..EPOCHS {
        let mut now = epoch * EPOCH;
        let end = now + EPOCH;
        for &c in cluster.admitted(&mut arrivals, epoch) {
            start_ms[c] = (now * QUANTUM_MS) as f64;
            active += 1;
            for (r, reducer) in jobs[c].reducers.iter().enumerate() {
                // One of nothing ends as soon as it is looked at, though it has flows.
                if reducer.bytes == 0.0 {
                    reducers[c] -= 1;
                    open[c][r] = usize::MAX;
                }
                for (m, &src) in reducer.from.iter().enumerate() {
                    let mib = (reducer.flow_bytes / MB) as u64;
                    let number = r * jobs[c].mappers + m;
                    moving.admit(Flow { src, dst: reducer.rack, mib, coflow: c, number });
                }
            }
            if reducers[c] == 0 {
                coflow_ended[c] = Some(now + 1);
                active -= 1;
            }
        }
        while active > 0 && now < end {
            now += moving.advance(end - now, &mut ended);
            events += 1;
            for flow in ended.drain(..) {
                let (c, r) = (flow.coflow, flow.number / jobs[flow.coflow].mappers);
                flow_ended[c][flow.number] = now;
                open[c][r] -= 1;
                if open[c][r] == 0 {
                    reducers[c] -= 1;
                    if reducers[c] == 0 {
                        coflow_ended[c] = Some(now);
                        active -= 1;
                    }
                }
            }
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

/// FAIR. Flows between the same two racks send the same in each quantum, so what one of them
/// would have sent since the start is counted once for each pair.
struct Fair {
    /// Flows at each rack.
    sending: Vec<u32>,
    receiving: Vec<u32>,
    /// By sender and receiver.
    pairs: Vec<Pair>,
    /// The pairs that have flows.
    busy: Vec<usize>,
}

/// Flows between two racks.
#[derive(Default, Clone)]
struct Pair {
    /// Bytes that each flow would have sent since the start.
    sent: f64,
    /// The flows by what `sent` will be at their end.
    ends: BinaryHeap<Reverse<(u64, Flow)>>,
    /// Bytes a quantum.
    step: f64,
}

impl Fair {
    fn new(racks: usize) -> Self {
        Self {
            sending: vec![0; racks],
            receiving: vec![0; racks],
            pairs: vec![Pair::default(); racks * racks],
            busy: Vec::new(),
        }
    }
}

impl Moving for Fair {
    fn admit(&mut self, flow: Flow) {
        self.sending[flow.src] += 1;
        self.receiving[flow.dst] += 1;
        let number = flow.src * self.receiving.len() + flow.dst;
        let pair = &mut self.pairs[number];
        if pair.ends.is_empty() {
            self.busy.push(number);
            pair.sent = 0.0;
        }
        // Doubles from zero on are ordered as their bits are.
        let end = pair.sent + flow.mib as f64 * MB - ZERO;
        pair.ends.push(Reverse((end.to_bits(), flow)));
    }

    fn advance(&mut self, quanta: u64, ended: &mut Vec<Flow>) -> u64 {
        let racks = self.receiving.len();
        let mut quanta = quanta as f64;
        for &number in &self.busy {
            let pair = &mut self.pairs[number];
            let flows = self.sending[number / racks].max(self.receiving[number % racks]);
            pair.step = MB / f64::from(flows);
            if let Some(Reverse((end, _))) = pair.ends.peek() {
                quanta = quanta.min(((f64::from_bits(*end) - pair.sent) / pair.step).ceil());
            }
        }
        let quanta = quanta.max(1.0);
        let (sending, receiving) = (&mut self.sending, &mut self.receiving);
        self.busy.retain(|&number| {
            let pair = &mut self.pairs[number];
            pair.sent += quanta * pair.step;
            while let Some(Reverse((end, flow))) = pair.ends.peek().copied()
                && f64::from_bits(end) <= pair.sent
            {
                pair.ends.pop();
                sending[flow.src] -= 1;
                receiving[flow.dst] -= 1;
                ended.push(flow);
            }
            !pair.ends.is_empty()
        });
        quanta as u64
    }
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
    flows: Vec<Flow>,
    /// The one that is served.
    served: Option<usize>,
}

impl ShortestFirst {
    fn new(racks: usize) -> Self {
        Self { queues: vec![Queue::default(); racks], taken: vec![false; racks] }
    }
}

impl Moving for ShortestFirst {
    fn admit(&mut self, flow: Flow) {
        let queue = &mut self.queues[flow.dst];
        let place = queue.left.iter().position(|&left| left > flow.mib);
        let place = place.unwrap_or(queue.left.len());
        queue.src.insert(place, flow.src as u32);
        queue.left.insert(place, flow.mib);
        queue.flows.insert(place, flow);
    }

    fn advance(&mut self, quanta: u64, ended: &mut Vec<Flow>) -> u64 {
        self.taken.fill(false);
        let mut quanta = quanta;
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
                ended.push(queue.flows.remove(served));
            }
        }
        quanta
    }
}
