//! A slow and obvious CoflowSim: every quantum, every flow and every addition, in CoflowSim's order
//! and without a tolerance. The emulation must agree to the quantum.

use covey_emulate::coflowsim::{Policy, run};
use covey_trace::java_random::JavaRandom;
use covey_trace::{Coflow, Flow, MB, Workload};

const ZERO: f64 = 1e-3;
const CAPACITY: f64 = 1024.0 * 1_048_576.0;
const RACKS: usize = 12;

#[derive(Clone)]
struct NaiveFlow {
    src: usize,
    /// The index of its mapper.
    mapper: usize,
    left: f64,
    bps: f64,
}

#[derive(Clone)]
struct NaiveReducer {
    dst: usize,
    flows: Vec<NaiveFlow>,
    /// The end of each mapper's flow.
    flow_end_ms: Vec<Option<f64>>,
    left: f64,
    /// Bytes asked for and not received.
    asked: f64,
    ended: bool,
    moving: bool,
}

#[derive(Clone)]
struct NaiveJob {
    arrival_ms: f64,
    mappers: usize,
    largest: f64,
    alpha: f64,
    deadline: f64,
    reducers: Vec<NaiveReducer>,
    sent: f64,
    queue: usize,
    start_ms: f64,
    end_ms: Option<f64>,
}

fn load(workload: &Workload) -> Vec<NaiveJob> {
    let mut random = JavaRandom::new(17);
    let mut jobs = Vec::new();
    for coflow in &workload.coflows {
        let mut mappers: Vec<usize> = coflow.flows.iter().map(|f| f.src as usize).collect();
        mappers.sort_unstable();
        mappers.dedup();
        let mut reducers = Vec::new();
        for dst in 0..RACKS {
            let to = coflow.flows.iter().filter(|f| f.dst as usize == dst);
            if to.clone().count() == 0 {
                continue;
            }
            let bytes: f64 = to.map(|f| f.bytes).sum();
            let asked = (bytes.floor() / MB).ceil() * MB;
            let unit = mappers.len() as f64 * MB;
            let left = (asked / unit).ceil() * unit;
            // A reducer without bytes still has flows of a MiB.
            let flow_bytes = (left / mappers.len() as f64).max(MB);
            let flow = |(mapper, &src)| NaiveFlow { src, mapper, left: flow_bytes, bps: 0.0 };
            reducers.push(NaiveReducer {
                dst,
                flows: mappers.iter().enumerate().map(flow).collect(),
                flow_end_ms: vec![None; mappers.len()],
                left,
                asked,
                ended: false,
                moving: false,
            });
        }
        let total: f64 = reducers.iter().map(|r| r.left).sum();
        let largest = reducers.iter().map(|r| r.left).fold(0.0, f64::max);
        let alpha = (total / mappers.len() as f64).max(largest);
        jobs.push(NaiveJob {
            arrival_ms: (coflow.arrival_s * 1e3).round(),
            mappers: mappers.len(),
            largest,
            alpha,
            deadline: alpha / (CAPACITY / 8.0) * (1.0 + random.next_double()) * 1000.0,
            reducers,
            sent: 0.0,
            queue: 0,
            start_ms: 0.0,
            end_ms: None,
        });
    }
    jobs
}

struct Naive {
    policy: Policy,
    jobs: Vec<NaiveJob>,
    /// In order of the policy; for DARK, in order within a queue.
    order: Vec<usize>,
    /// For FAIR and PFP: of each receiver, coflow, reducer and mapper of its flows.
    queues: Vec<Vec<[usize; 3]>>,
}

impl Naive {
    /// The starts and ends of all coflows in milliseconds, and the ends of their flows in the order
    /// of the workload.
    fn run(mut self, workload: &Workload) -> Vec<(f64, f64, Vec<f64>)> {
        let mut next = 0;
        let mut epoch_ms = 0.0;
        let by_flows = matches!(self.policy, Policy::Fair | Policy::Pfp);
        while next < self.jobs.len() || !self.order.is_empty() {
            let first = next;
            while next < self.jobs.len() && self.jobs[next].arrival_ms <= epoch_ms + 10240.0 {
                self.jobs[next].start_ms = epoch_ms;
                if by_flows {
                    self.admit_flows(next);
                    self.order.push(next);
                } else {
                    self.admit(next);
                }
                next += 1;
            }
            if next > first && !by_flows {
                self.share(epoch_ms, true);
            }
            for quantum in 0..1280 {
                if self.order.is_empty() {
                    break;
                }
                let now_ms = epoch_ms + 8.0 * f64::from(quantum);
                match self.policy {
                    Policy::Fair => self.fair_quantum(now_ms + 8.0),
                    Policy::Pfp => self.pfp_quantum(now_ms + 8.0),
                    _ => self.quantum(now_ms + 8.0),
                }
                let before = self.order.len();
                let jobs = &self.jobs;
                self.order.retain(|&c| jobs[c].end_ms.is_none());
                if self.order.len() < before && !by_flows {
                    self.share(now_ms, false);
                }
            }
            epoch_ms += 10240.0;
        }
        let coflows = self.jobs.iter().zip(&workload.coflows);
        let ends = coflows.map(|(job, coflow)| {
            let end_ms = job.end_ms.expect("all have ended");
            let mut mappers: Vec<u32> = coflow.flows.iter().map(|f| f.src).collect();
            mappers.sort_unstable();
            mappers.dedup();
            let flow_end_ms = |flow: &Flow| {
                let to = |reducer: &&NaiveReducer| reducer.dst == flow.dst as usize;
                let reducer = job.reducers.iter().find(to).expect("a reducer");
                let mapper = mappers.iter().position(|&src| src == flow.src).expect("a mapper");
                // Flows may go on after their coflow has ended; their ends do not matter then.
                reducer.flow_end_ms[mapper].unwrap_or(end_ms).min(end_ms)
            };
            (job.start_ms, end_ms, coflow.flows.iter().map(flow_end_ms).collect())
        });
        ends.collect()
    }

    fn key(&self, c: usize) -> f64 {
        let job = &self.jobs[c];
        match self.policy {
            Policy::Scf => job.largest / job.mappers as f64,
            Policy::Ncf => job.mappers.min(job.reducers.len()) as f64,
            Policy::Lcf => job.reducers.iter().map(|r| r.asked).sum(),
            Policy::Sebf => job.alpha,
            _ => 0.0,
        }
    }

    fn admit(&mut self, c: usize) {
        let position = self.order.iter().position(|&other| self.key(c) < self.key(other));
        self.order.insert(position.unwrap_or(self.order.len()), c);
    }

    fn share(&mut self, now_ms: f64, admitted: bool) {
        let dark = self.policy == Policy::Dark;
        if dark {
            for q in 0..9 {
                let limit = 10.0 * MB * 10_f64.powi(q as i32);
                let too_large = |job: &NaiveJob| job.sent > limit;
                let moved = |c: &&usize| self.jobs[**c].queue == q && too_large(&self.jobs[**c]);
                for c in self.order.iter().filter(moved).copied().collect::<Vec<_>>() {
                    self.jobs[c].queue = q + 1;
                    self.order.retain(|&other| other != c);
                    self.order.push(c);
                }
            }
            let jobs = &self.jobs;
            self.order.sort_by_key(|&c| jobs[c].queue);
        }
        let mut free = [[CAPACITY; RACKS]; 2];
        let mut skipped = Vec::new();
        for &c in &self.order {
            for reducer in &mut self.jobs[c].reducers {
                if admitted || dark {
                    reducer.moving = !reducer.ended;
                }
                reducer.flows.iter_mut().for_each(|f| f.bps = 0.0);
            }
            if dark {
                fair_shares(&mut self.jobs, &[c], &mut free);
            } else if !madd(&mut self.jobs[c], &mut free) {
                skipped.push(c);
            }
        }
        if dark {
            return;
        }
        fair_shares(&mut self.jobs, &skipped, &mut free);
        let mut by_deadline = self.order.clone();
        let jobs = &mut self.jobs;
        by_deadline.sort_by_key(|&c| (jobs[c].start_ms + jobs[c].deadline - now_ms) as i32);
        for c in by_deadline {
            for reducer in &mut jobs[c].reducers {
                if free[1][reducer.dst] <= ZERO {
                    continue;
                }
                for flow in &mut reducer.flows {
                    let more = free[0][flow.src].min(free[1][reducer.dst]);
                    let more = if more <= ZERO { 0.0 } else { more };
                    flow.bps += more;
                    free[0][flow.src] -= more;
                    free[1][reducer.dst] -= more;
                }
            }
        }
    }

    fn quantum(&mut self, end_ms: f64) {
        for &c in &self.order {
            let job = &mut self.jobs[c];
            for reducer in job.reducers.iter_mut().filter(|r| r.moving) {
                let mut at = 0;
                while at < reducer.flows.len() {
                    let flow = &mut reducer.flows[at];
                    let bytes = (flow.bps / 8.0 * (8.0 / 1024.0)).min(flow.left);
                    flow.left -= bytes;
                    if flow.left <= ZERO {
                        reducer.flow_end_ms[flow.mapper] = Some(end_ms);
                        reducer.flows.remove(at);
                    } else {
                        at += 1;
                    }
                    reducer.left -= bytes;
                    reducer.asked = (reducer.asked - bytes).max(0.0);
                    job.sent += bytes;
                    if (reducer.left <= ZERO || reducer.flows.is_empty()) && !reducer.ended {
                        reducer.ended = true;
                        reducer.left = 0.0;
                    }
                }
            }
            if job.reducers.iter().all(|r| r.ended) {
                job.end_ms = Some(end_ms);
            }
        }
    }

    fn admit_flows(&mut self, c: usize) {
        for (r, reducer) in self.jobs[c].reducers.iter().enumerate() {
            for (m, flow) in reducer.flows.iter().enumerate() {
                let left = |[c, r, m]: [usize; 3]| self.jobs[c].reducers[r].flows[m].left;
                let queue = &mut self.queues[reducer.dst];
                let position = queue.iter().position(|&other| left(other) > flow.left);
                queue.insert(position.unwrap_or(queue.len()), [c, r, m]);
            }
        }
    }

    /// Sends `bytes` of a flow; returns whether it has ended.
    fn send(&mut self, [c, r, m]: [usize; 3], bytes: f64, end_ms: f64) -> bool {
        let job = &mut self.jobs[c];
        let reducer = &mut job.reducers[r];
        let bytes = bytes.min(reducer.flows[m].left);
        reducer.flows[m].left -= bytes;
        reducer.left -= bytes;
        let gone = reducer.flows[m].left <= ZERO;
        if gone {
            reducer.flow_end_ms[m] = Some(end_ms);
        }
        reducer.ended |= reducer.left <= ZERO || reducer.flows.iter().all(|f| f.left <= ZERO);
        if job.end_ms.is_none() && job.reducers.iter().all(|r| r.ended) {
            job.end_ms = Some(end_ms);
        }
        gone
    }

    fn fair_quantum(&mut self, end_ms: f64) {
        let src = |jobs: &[NaiveJob], [c, r, m]: [usize; 3]| jobs[c].reducers[r].flows[m].src;
        let mut sending = [0; RACKS];
        self.queues.iter().flatten().for_each(|&flow| sending[src(&self.jobs, flow)] += 1);
        for dst in 0..RACKS {
            let queue = std::mem::take(&mut self.queues[dst]);
            let receiving = queue.len() as f64;
            let mut rest = Vec::new();
            for flow in queue {
                let bytes = (MB / receiving).min(MB / f64::from(sending[src(&self.jobs, flow)]));
                if !self.send(flow, bytes, end_ms) {
                    rest.push(flow);
                }
            }
            self.queues[dst] = rest;
        }
    }

    fn pfp_quantum(&mut self, end_ms: f64) {
        let mut taken = [false; RACKS];
        for dst in 0..RACKS {
            let src = |&[c, r, m]: &[usize; 3]| self.jobs[c].reducers[r].flows[m].src;
            let Some(position) = self.queues[dst].iter().position(|flow| !taken[src(flow)]) else {
                continue;
            };
            let flow = self.queues[dst][position];
            taken[src(&flow)] = true;
            if self.send(flow, MB, end_ms) {
                self.queues[dst].remove(position);
            }
        }
    }
}

/// Whether `job` was given rates.
fn madd(job: &mut NaiveJob, free: &mut [[f64; RACKS]; 2]) -> bool {
    let mut left = [[0.0; RACKS]; 2];
    for reducer in &job.reducers {
        left[1][reducer.dst] = reducer.left;
        reducer.flows.iter().for_each(|f| left[0][f.src] += f.left);
    }
    let mut seconds = f64::from_bits(1);
    for (left, free) in left.iter().flatten().zip(free.iter().flatten()) {
        if *left > 0.0 && *free <= ZERO {
            return false;
        }
        if left * 8.0 / free > seconds {
            seconds = left * 8.0 / free;
        }
    }
    let before = *free;
    let mut used = [[0.0; RACKS]; 2];
    for reducer in job.reducers.iter_mut().filter(|r| before[1][r.dst] > ZERO) {
        for flow in &mut reducer.flows {
            let bps = flow.left * 8.0 / seconds;
            flow.bps = bps.min(before[0][flow.src]).min(before[1][reducer.dst]);
            used[0][flow.src] += flow.bps;
            used[1][reducer.dst] += flow.bps;
        }
    }
    free.iter_mut().flatten().zip(used.iter().flatten()).for_each(|(free, used)| *free -= used);
    true
}

fn fair_shares(jobs: &mut [NaiveJob], coflows: &[usize], free: &mut [[f64; RACKS]; 2]) {
    let mut count = [[0.0; RACKS]; 2];
    let mut used = [[0.0; RACKS]; 2];
    for rates in [false, true] {
        for &c in coflows {
            for reducer in &mut jobs[c].reducers {
                let dst = reducer.dst;
                for flow in &mut reducer.flows {
                    if free[1][dst] <= ZERO || free[0][flow.src] <= ZERO {
                        continue;
                    }
                    if !rates {
                        count[0][flow.src] += 1.0;
                        count[1][dst] += 1.0;
                        continue;
                    }
                    flow.bps =
                        (free[0][flow.src] / count[0][flow.src]).min(free[1][dst] / count[1][dst]);
                    if flow.bps <= ZERO {
                        flow.bps = 0.0;
                    }
                    used[0][flow.src] += flow.bps;
                    used[1][dst] += flow.bps;
                }
            }
        }
    }
    free.iter_mut().flatten().zip(used.iter().flatten()).for_each(|(free, used)| *free -= used);
}

/// The parameters of a random workload.
struct Style {
    /// Maximum number of racks on a side of a coflow.
    racks: i32,
    /// Additional mappers; some racks then have two.
    doubled: bool,
    /// Maximum number of milliseconds between arrivals.
    gap_ms: i32,
    /// Maximum MB of a reducer, and the divisor of these.
    mb: [i32; 2],
    /// Whether all reducers of about half the coflows have the same MB.
    equal: bool,
    /// Whether some reducers have 0 MB.
    empty: bool,
}

fn style(seed: i64) -> Style {
    let one_in = |n: i64| seed % n == 0;
    Style {
        racks: [RACKS as i32, 2, 5, RACKS as i32][seed as usize % 4],
        doubled: one_in(5),
        gap_ms: [200, 4000, 30_000][seed as usize % 3],
        mb: [[10, 1], [60, 1], [900, 3], [60, 7]][seed as usize / 4 % 4],
        equal: one_in(2),
        empty: one_in(3) || one_in(7),
    }
}

/// Shuffles of all sizes among a few racks.
fn workload(seed: i64) -> Workload {
    let style = style(seed);
    let mut random = JavaRandom::new(seed);
    let racks = |random: &mut JavaRandom| {
        let mut racks: Vec<u32> = (0..RACKS as u32).collect();
        let number = random.next_int(style.racks) as usize + 1;
        (0..RACKS).for_each(|i| racks.swap(i, random.next_int(RACKS as i32) as usize));
        racks.truncate(number);
        racks
    };
    let mut arrival_ms = 0;
    let coflows = (0..40).map(|id| {
        arrival_ms += random.next_int(style.gap_ms);
        let (mut mappers, reducers) = (racks(&mut random), racks(&mut random));
        if style.doubled {
            mappers.extend_from_within(..mappers.len().div_ceil(2));
        }
        let all = random.next_int(style.mb[0]) + 1;
        let equal = style.equal && random.next_int(2) == 0;
        let mb = reducers.iter().map(|_| match random.next_int(8) {
            0 if style.empty => 0.0,
            _ if equal => f64::from(all) / f64::from(style.mb[1]),
            _ => f64::from(random.next_int(style.mb[0]) + 1) / f64::from(style.mb[1]),
        });
        let mb: Vec<f64> = mb.collect();
        let mut flows = Vec::new();
        for &src in &mappers {
            let flow = |(&dst, &mb): (&u32, &f64)| Flow {
                src,
                dst,
                bytes: mb * MB / mappers.len() as f64,
                start_s: 0.0,
            };
            flows.extend(reducers.iter().zip(&mb).map(flow));
        }
        Coflow::new(id.to_string(), f64::from(arrival_ms) / 1e3, flows)
    });
    let coflows = coflows.collect();
    Workload::new(RACKS as u32, coflows)
}

/// A few coflows whose flows last up to an hour or two, beside shorter ones. Many end together, or
/// exactly at the end of a quantum, without rounding.
fn long_workload(seed: i64) -> Workload {
    let mut random = JavaRandom::new(seed);
    let mut below = |bound: i32| random.next_int(bound);
    let most_racks = [2, 3, 4, 6][seed as usize % 4];
    let coflows = (0..7).map(|id| {
        let racks = |number: i32, from: i32| -> Vec<u32> {
            (0..number).map(|k| ((from + k) % RACKS as i32) as u32).collect()
        };
        let senders = racks(below(most_racks) + 1, below(4));
        let receivers = racks(below(most_racks) + 1, below(4));
        let all = below(40_000) + 1;
        let mut flows = Vec::new();
        for &dst in &receivers {
            let mb = match (seed % 3, below(4)) {
                (0, _) | (_, 0) => all,
                (_, 1) => below(400) + 1,
                _ => below(20_000) + 1,
            };
            let bytes = f64::from(mb) * MB / senders.len() as f64;
            flows.extend(senders.iter().map(|&src| Flow { src, dst, bytes, start_s: 0.0 }));
        }
        let arrival_s = f64::from(below([1, 500_000, 3_000_000][seed as usize / 4 % 3])) / 1e3;
        Coflow::new(id.to_string(), arrival_s, flows)
    });
    let mut coflows: Vec<Coflow> = coflows.collect();
    coflows.sort_by(|a, b| a.arrival_s.total_cmp(&b.arrival_s));
    Workload::new(RACKS as u32, coflows)
}

const POLICIES: [Policy; 8] = [
    Policy::Fifo,
    Policy::Scf,
    Policy::Ncf,
    Policy::Lcf,
    Policy::Sebf,
    Policy::Dark,
    Policy::Fair,
    Policy::Pfp,
];

fn assert_same(workload: &Workload, policy: Policy, seed: i64) {
    let jobs = load(workload);
    let queues = vec![Vec::new(); RACKS];
    let slow = Naive { policy, jobs, order: Vec::new(), queues }.run(workload);
    let outcome = run(workload, policy).unwrap_or_else(|error| panic!("{error}"));
    let ms = |s: f64| s * 1024.0;
    let mut flow_end_ms = outcome.flow_completion_s.iter().map(|&s| ms(s));
    for (c, (coflow, slow)) in outcome.coflows.iter().zip(slow).enumerate() {
        let flows = flow_end_ms.by_ref().take(workload.coflows[c].flows.len()).collect();
        let fast = (ms(coflow.release_s), ms(coflow.completion_s), flows);
        assert_eq!(fast, slow, "{policy:?}, seed {seed}, coflow {c}");
    }
}

#[test]
fn quantum_by_quantum() {
    for seed in 0..50 {
        let workload = workload(seed);
        POLICIES.into_iter().for_each(|policy| assert_same(&workload, policy, seed));
    }
}

#[test]
fn quantum_by_quantum_for_hours() {
    for seed in 0..50 {
        let workload = long_workload(seed);
        POLICIES.into_iter().for_each(|policy| assert_same(&workload, policy, seed));
    }
}
