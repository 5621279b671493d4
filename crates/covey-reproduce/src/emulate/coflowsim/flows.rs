//! FAIR and PFP, which know flows and no coflows.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use covey_sim::Outcome;
use covey_trace::{MB, Workload};

use super::{Cluster, EPOCH, EPOCHS, QUANTUM_MS, Tally, ZERO, unfinished};
use crate::emulate::EmulationError;

/// How flows move within an epoch.
trait Moving {
    /// Admits a flow.
    fn admit(&mut self, flow: Flow);
    /// Moves on until flows end, but at most by `quanta`; returns the quanta passed. The flows go to
    /// `ended`. A flow of a reducer with nothing to receive may also go there when it first moves,
    /// since that ends the reducer.
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
    /// Whether its reducer has nothing to receive.
    of_nothing: bool,
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
                let of_nothing = reducer.bytes == 0.0;
                // CoflowSim ends a reducer with nothing to receive when one of its flows moves. The
                // others still move, and take their share.
                if of_nothing {
                    open[c][r] = 1;
                }
                for (m, &src) in reducer.from.iter().enumerate() {
                    let mib = (reducer.flow_bytes / MB) as u64;
                    let number = r * jobs[c].mappers + m;
                    let dst = reducer.rack;
                    moving.admit(Flow { src, dst, mib, coflow: c, number, of_nothing });
                }
            }
        }
        while active > 0 && now < end {
            now += moving.advance(end - now, &mut ended);
            events += 1;
            for flow in ended.drain(..) {
                let (c, r) = (flow.coflow, flow.number / jobs[flow.coflow].mappers);
                flow_ended[c][flow.number] = now;
                if open[c][r] == 0 {
                    continue; // Its reducer has ended before.
                }
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
/// would have sent since the start is counted once for each pair of racks.
struct Fair {
    /// Quanta run so far. Those that CoflowSim skips, when no coflow is active, do not count: flows
    /// that outlast their coflows stand still meanwhile.
    now: u64,
    /// Flows of reducers with nothing to receive that have not moved yet.
    of_nothing: Vec<Flow>,
    /// Flows at each rack.
    sending: Vec<u32>,
    receiving: Vec<u32>,
    /// By sender and receiver.
    pairs: Vec<Pair>,
    /// Of each pair, the quantum after which a flow ends next.
    next: Vec<u64>,
    /// The racks at which the number of flows has changed.
    senders: Vec<usize>,
    receivers: Vec<usize>,
}

/// Flows between two racks.
#[derive(Default, Clone)]
struct Pair {
    /// Bytes that each flow would have sent since the start, ...
    sent: f64,
    /// ... after so many quanta.
    at: u64,
    /// The most flows at one of the two racks, ...
    crowd: u32,
    /// ... and so the bytes each sends in a quantum.
    step: f64,
    /// The flows by what `sent` will be at their end.
    ends: BinaryHeap<Reverse<(u64, Flow)>>,
}

impl Pair {
    /// What a flow would have sent by the end of the quantum `now`.
    fn sent_at(&self, now: u64) -> f64 {
        self.sent + (now - self.at) as f64 * self.step
    }

    /// Moves on to `now`, to share with `crowd` from then on.
    fn share(&mut self, now: u64, crowd: u32) {
        self.sent = self.sent_at(now);
        self.at = now;
        self.crowd = crowd;
        self.step = MB / f64::from(crowd);
    }

    /// The quantum after which a flow ends next.
    fn next(&self) -> u64 {
        let end = self.ends.peek().map(|Reverse((end, _))| f64::from_bits(*end));
        end.map_or(u64::MAX, |end| self.at + ((end - self.sent) / self.step).ceil().max(1.0) as u64)
    }
}

impl Fair {
    fn new(racks: usize) -> Self {
        Self {
            now: 0,
            of_nothing: Vec::new(),
            sending: vec![0; racks],
            receiving: vec![0; racks],
            pairs: vec![Pair::default(); racks * racks],
            next: vec![u64::MAX; racks * racks],
            senders: Vec::new(),
            receivers: Vec::new(),
        }
    }

    /// Where the number of flows has changed, pairs share anew.
    fn share_anew(&mut self, now: u64) {
        let racks = self.receiving.len();
        for racks in [&mut self.senders, &mut self.receivers] {
            racks.sort_unstable();
            racks.dedup();
        }
        for src in std::mem::take(&mut self.senders) {
            (0..racks).for_each(|dst| self.share_pair(src, dst, now));
        }
        for dst in std::mem::take(&mut self.receivers) {
            (0..racks).for_each(|src| self.share_pair(src, dst, now));
        }
    }

    fn share_pair(&mut self, src: usize, dst: usize, now: u64) {
        let number = src * self.receiving.len() + dst;
        let crowd = self.sending[src].max(self.receiving[dst]);
        if self.next[number] != u64::MAX && self.pairs[number].crowd != crowd {
            self.pairs[number].share(now, crowd);
            self.next[number] = self.pairs[number].next();
        }
    }

    /// One more or less flow.
    fn count(&mut self, flow: &Flow, change: i32) {
        let counts = [&mut self.sending[flow.src], &mut self.receiving[flow.dst]];
        counts.into_iter().for_each(|count| *count = count.wrapping_add_signed(change));
        self.senders.push(flow.src);
        self.receivers.push(flow.dst);
    }
}

impl Moving for Fair {
    fn admit(&mut self, flow: Flow) {
        let now = self.now;
        self.count(&flow, 1);
        self.of_nothing.extend(flow.of_nothing.then_some(flow));
        let number = flow.src * self.receiving.len() + flow.dst;
        let pair = &mut self.pairs[number];
        if pair.ends.is_empty() {
            *pair = Pair { at: now, ..Pair::default() };
        }
        // Doubles from zero on are ordered as their bits are.
        let end = pair.sent_at(now) + flow.mib as f64 * MB - ZERO;
        pair.ends.push(Reverse((end.to_bits(), flow)));
        // It shares anew before anything moves.
        pair.crowd = 0;
        self.next[number] = now;
    }

    fn advance(&mut self, quanta: u64, ended: &mut Vec<Flow>) -> u64 {
        let before = self.now;
        self.share_anew(before);
        // All flows move in the next quantum.
        let until = before + if self.of_nothing.is_empty() { quanta } else { 1 };
        ended.append(&mut self.of_nothing);
        let now = self.next.iter().copied().min().unwrap_or(u64::MAX).min(until);
        self.now = now;
        for number in 0..self.next.len() {
            if self.next[number] > now {
                continue;
            }
            let pair = &mut self.pairs[number];
            let sent = pair.sent_at(now).to_bits();
            let first = ended.len();
            while let Some(&Reverse((end, flow))) = pair.ends.peek()
                && end <= sent
            {
                pair.ends.pop();
                ended.push(flow);
            }
            self.next[number] = pair.next().max(now + 1);
            ended[first..].iter().for_each(|flow| self.count(flow, -1));
        }
        now - before
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

    fn advance(&mut self, most: u64, ended: &mut Vec<Flow>) -> u64 {
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
                ended.push(queue.flows.remove(served));
            }
        }
        quanta
    }
}
