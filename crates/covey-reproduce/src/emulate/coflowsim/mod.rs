//! [CoflowSim](https://github.com/coflow/coflowsim), the field's standard simulator.
//!
//! **Units.** A second has 1024 "ms"; a port carries 2^30 bit/s, which is 128 MiB/s; a quantum is
//! 8 ms, the time for 1 MiB. A trace's milliseconds are read as its own. Results here are in
//! seconds of 1024 ms, so that a sum of CCTs times 1024 is what the program prints.
//!
//! **Time.** At the start of each epoch of 10,240 ms every coflow that arrives within it is
//! admitted, so up to an epoch early; its CCT counts from there. Then quanta are run one by one;
//! once no coflow is left, the rest of the epoch is skipped. A flow ends at the end of a quantum.
//! Rates are decided anew after admissions and after a quantum in which a coflow ended, and at no
//! other time: what single flows free stays unused.
//!
//! **Rounding.** CoflowSim counts bytes left by flow and by reducer, and bytes sent by coflow, in
//! double precision, quantum by quantum. The counts drift apart. A residue decides whether a coflow
//! counts as blocked, whether a reducer has ended, and whether a coflow has passed a queue's limit.
//! The emulation keeps every rounding, in CoflowSim's order of additions (`repeat`), but does not
//! run every step.

mod dark;
mod fair;
mod flows;
mod job;
mod live;
mod moves;
mod ports;
mod ranked;
mod repeat;

use covey_sim::{CoflowOutcome, Outcome};
use covey_trace::Workload;
use covey_trace::java_random::JavaRandom;

use super::EmulationError;
use dark::Dark;
use job::Job;
use live::{Ledger, Live};
use ranked::{Key, Ranked};

/// Its name.
const NAME: &str = "CoflowSim";
/// Bits per second of a port.
pub const CAPACITY_BPS: f64 = 1024.0 * 1_048_576.0;
/// Milliseconds in a second.
const SECOND_MS: f64 = 1024.0;
/// Milliseconds in a quantum.
const QUANTUM_MS: u64 = 8;
/// Quanta in an epoch.
const EPOCH: u64 = 10 * 1024 / QUANTUM_MS;
/// Epochs in the day after which it stops.
const EPOCHS: u64 = 8640;
/// What bit/s are in bytes a quantum.
const BYTES_PER_BPS: f64 = QUANTUM_MS as f64 / SECOND_MS / 8.0;
/// Bytes, or bits per second, that count as none.
const ZERO: f64 = 1e-3;
/// The seed of deadlines, which it draws even where it does not use them.
const DEADLINE_SEED: i64 = 17;

/// A policy, under the program's name for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Policy {
    /// Coflows in order of admission; MADD and backfill, as in the next four.
    Fifo,
    /// The smallest largest reducer per mapper first.
    Scf,
    /// The fewest senders, or receivers if these are fewer, first.
    Ncf,
    /// The fewest bytes first.
    Lcf,
    /// The smallest bottleneck first, by what it was at admission.
    Sebf,
    /// Aalo: queues by bytes sent.
    Dark,
    /// DARK for which sizes are known: coflows begin in the queue in which they would end. The
    /// program does not have it.
    DarkOracle,
    /// Flows share ports; not max-min.
    Fair,
    /// The shortest flow first at each receiver.
    Pfp,
}

/// What the program would find for `workload` under `policy`; times are in seconds of 1024 ms.
///
/// # Errors
/// When a coflow is no plain shuffle, or does not end within the day that the program simulates.
pub fn run(workload: &Workload, policy: Policy) -> Result<Outcome, EmulationError> {
    let mut cluster = Cluster::load(workload)?;
    let ranked = |key| Box::new(Ranked::new(key));
    let mut sharing: Box<dyn Sharing> = match policy {
        Policy::Fifo => ranked(Key::Fifo),
        Policy::Scf => ranked(Key::Length),
        Policy::Ncf => ranked(Key::Width),
        Policy::Lcf => ranked(Key::Size),
        Policy::Sebf => ranked(Key::Bottleneck),
        Policy::Dark => Box::new(Dark::new(false)),
        Policy::DarkOracle => Box::new(Dark::new(true)),
        Policy::Fair => return flows::fair(workload, &cluster),
        Policy::Pfp => return flows::shortest_first(workload, &cluster),
    };
    cluster.run(sharing.as_mut());
    cluster.outcome(workload)
}

/// How coflows are ordered, and rates made.
trait Sharing {
    /// The count of sent bytes that it looks at.
    fn ledger(&self) -> Ledger;
    /// A coflow is admitted.
    fn admit(&mut self, coflow: usize, cluster: &Cluster);
    /// A coflow has ended.
    fn remove(&mut self, coflow: usize);
    /// Makes rates anew at `now_ms`, after admissions or after ends.
    fn share(&mut self, cluster: &mut Cluster, now_ms: f64, admitted: bool);
}

/// The coflows and how far they are.
struct Cluster {
    racks: usize,
    jobs: Vec<Job>,
    /// In order of arrival.
    arrivals: Vec<usize>,
    /// Those that have been admitted.
    live: Vec<Option<Live>>,
    /// When those were admitted.
    start_ms: Vec<f64>,
    /// How often rates were made.
    events: u64,
}

impl Cluster {
    fn load(workload: &Workload) -> Result<Self, EmulationError> {
        let mut jobs = workload.coflows.iter().map(Job::load).collect::<Result<Vec<_>, _>>()?;
        let mut arrivals: Vec<usize> = (0..jobs.len()).collect();
        arrivals.sort_by(|&a, &b| jobs[a].arrival_ms.total_cmp(&jobs[b].arrival_ms));
        let mut random = JavaRandom::new(DEADLINE_SEED);
        for &c in &arrivals {
            jobs[c].deadline_ms = jobs[c].deadline_ms(1.0 + random.next_double());
        }
        let live = vec![None; jobs.len()];
        let start_ms = vec![0.0; jobs.len()];
        Ok(Self { racks: workload.ports as usize, jobs, arrivals, live, start_ms, events: 0 })
    }

    /// Those of `arrivals` that are admitted at the start of `epoch`.
    fn admitted<'a>(&self, arrivals: &mut &'a [usize], epoch: u64) -> &'a [usize] {
        let end_ms = ((epoch + 1) * EPOCH * QUANTUM_MS) as f64;
        let number = arrivals.partition_point(|&c| self.jobs[c].arrival_ms <= end_ms);
        let (now, later) = arrivals.split_at(number);
        *arrivals = later;
        now
    }

    /// Runs all to their ends.
    fn run(&mut self, sharing: &mut dyn Sharing) {
        let arrivals = std::mem::take(&mut self.arrivals);
        let mut arrivals = arrivals.as_slice();
        let mut active: Vec<usize> = Vec::new();
        for epoch in 0..EPOCHS {
            let start = epoch * EPOCH;
            let now_ms = (start * QUANTUM_MS) as f64;
            let admitted = self.admitted(&mut arrivals, epoch);
            if !admitted.is_empty() {
                self.advance(&active, start);
                for &c in admitted {
                    self.live[c] = Some(Live::admit(&self.jobs[c], start, sharing.ledger()));
                    self.start_ms[c] = now_ms;
                    sharing.admit(c, self);
                }
                active.extend_from_slice(admitted);
                self.share(sharing, &active, now_ms, true);
            }
            while let Some(quantum) = self.next_end(&active, start + EPOCH) {
                self.advance(&active, quantum);
                let ended = |c: &usize| self.live[*c].as_ref().is_some_and(|l| l.ended.is_some());
                active.iter().filter(|c| ended(c)).for_each(|&c| sharing.remove(c));
                active.retain(|c| !ended(c));
                // It reads the clock at the start of a quantum.
                let now_ms = ((quantum - 1) * QUANTUM_MS) as f64;
                self.share(sharing, &active, now_ms, false);
            }
            if arrivals.is_empty() && active.is_empty() {
                return;
            }
        }
    }

    fn share(&mut self, sharing: &mut dyn Sharing, active: &[usize], now_ms: f64, admitted: bool) {
        self.events += 1;
        sharing.share(self, now_ms, admitted);
        for &c in active {
            if let Some(live) = &mut self.live[c] {
                live.look_ahead();
            }
        }
    }

    /// Moves all coflows on to `quantum`.
    fn advance(&mut self, active: &[usize], quantum: u64) {
        for &c in active {
            if let Some(live) = &mut self.live[c] {
                live.advance(quantum);
            }
        }
    }

    /// The next quantum, not after `end`, after which a coflow has ended. Only the coflow that may
    /// be the first is moved on.
    fn next_end(&mut self, active: &[usize], end: u64) -> Option<u64> {
        loop {
            let not_before =
                |c: &&usize| self.live[**c].as_ref().map_or(u64::MAX, |l| l.not_before);
            let first = *active.iter().min_by_key(not_before)?;
            let live = self.live[first].as_mut().filter(|live| live.not_before <= end)?;
            live.advance(live.not_before);
            if live.ended.is_some() {
                return live.ended;
            }
            live.look_ahead();
        }
    }

    fn outcome(&self, workload: &Workload) -> Result<Outcome, EmulationError> {
        let mut tally = Tally::new(self.events);
        for (c, job) in self.jobs.iter().enumerate() {
            let live = self.live[c].as_ref();
            let Some((live, ended)) = live.and_then(|live| live.ended.map(|ended| (live, ended)))
            else {
                return Err(unfinished(workload, c));
            };
            tally.add(job, self.start_ms[c], ended, |flow| live.flow_ended[flow]);
        }
        Ok(tally.0)
    }
}

/// What was found so far, coflow by coflow.
struct Tally(Outcome);

impl Tally {
    fn new(events: u64) -> Self {
        Self(Outcome { events, ..Outcome::default() })
    }

    /// Adds a coflow that was admitted at `start_ms`, ended after the quantum `ended`, and whose
    /// flows ended after the quanta that `flow_ended` tells.
    fn add(&mut self, job: &Job, start_ms: f64, ended: u64, flow_ended: impl Fn(usize) -> u64) {
        let seconds = |quantum: u64| (quantum * QUANTUM_MS) as f64 / SECOND_MS;
        let release_s = start_ms / SECOND_MS;
        self.0.coflows.push(CoflowOutcome { release_s, completion_s: seconds(ended) });
        for &flow in &job.flow_of {
            self.0.flow_completion_s.push(seconds(flow_ended(flow as usize)));
            self.0.flow_start_s.push(release_s);
        }
    }
}

/// The error that `coflow` has not ended when the program stops.
fn unfinished(workload: &Workload, coflow: usize) -> EmulationError {
    EmulationError::Unfinished {
        simulator: NAME,
        end_s: (EPOCHS * EPOCH * QUANTUM_MS) as f64 / SECOND_MS,
        coflow: workload.coflows[coflow].id.clone(),
    }
}
