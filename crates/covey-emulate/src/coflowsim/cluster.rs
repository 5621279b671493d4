//! The coflows of a run, and the loop over epochs and quanta.

use covey_trace::Workload;
use covey_trace::java_random::JavaRandom;
use covey_trace::results::{CoflowOutcome, Outcome};

use super::job::Job;
use super::live::{Ledger, Live};
use super::scale::{EPOCH, EPOCHS, NAME, QUANTUM_MS, SECOND_MS};
use crate::error::EmulationError;

/// The seed of deadlines. CoflowSim draws them even under policies that do not use them.
const DEADLINE_SEED: i64 = 17;

/// A policy's order of coflows and its calculation of rates.
pub(super) trait Sharing {
    /// The count of sent bytes that the policy reads.
    fn ledger(&self) -> Ledger;
    /// Notes that a coflow is admitted.
    fn admit(&mut self, coflow: usize, cluster: &Cluster);
    /// Notes that a coflow has ended.
    fn remove(&mut self, coflow: usize);
    /// Calculates rates at `now_ms`, after admissions or after ends.
    fn share(&mut self, cluster: &mut Cluster, now_ms: f64, admitted: bool);
}

/// The coflows and their progress.
pub(super) struct Cluster {
    pub racks: usize,
    pub jobs: Vec<Job>,
    /// Indices of the coflows in order of arrival.
    pub arrivals: Vec<usize>,
    /// The admitted coflows; `None` for the others.
    pub live: Vec<Option<Live>>,
    /// The times of their admissions, in milliseconds.
    pub start_ms: Vec<f64>,
    /// The number of times that rates were calculated.
    events: u64,
}

impl Cluster {
    pub fn load(workload: &Workload) -> Result<Self, EmulationError> {
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

    /// Takes from `arrivals` the coflows that are admitted at the start of `epoch`.
    pub fn admitted<'a>(&self, arrivals: &mut &'a [usize], epoch: u64) -> &'a [usize] {
        let end_ms = ((epoch + 1) * EPOCH * QUANTUM_MS) as f64;
        let number = arrivals.partition_point(|&c| self.jobs[c].arrival_ms <= end_ms);
        let (now, later) = arrivals.split_at(number);
        *arrivals = later;
        now
    }

    /// Runs all coflows to their ends.
    pub fn run(&mut self, sharing: &mut dyn Sharing) {
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
                // CoflowSim reads the clock at the start of a quantum.
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

    /// Advances all coflows to `quantum`.
    fn advance(&mut self, active: &[usize], quantum: u64) {
        for &c in active {
            if let Some(live) = &mut self.live[c] {
                live.advance(quantum);
            }
        }
    }

    /// The next quantum, not after `end`, after which a coflow has ended. Only the coflow that may
    /// be the first is advanced.
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

    pub fn outcome(&self, workload: &Workload) -> Result<Outcome, EmulationError> {
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

/// The outcome so far, coflow by coflow.
pub(super) struct Tally(pub Outcome);

impl Tally {
    pub fn new(events: u64) -> Self {
        Self(Outcome { events, ..Outcome::default() })
    }

    /// Adds a coflow that was admitted at `start_ms` and ended after the quantum `ended`.
    /// `flow_ended` returns the quantum after which a flow ended.
    pub fn add(&mut self, job: &Job, start_ms: f64, ended: u64, flow_ended: impl Fn(usize) -> u64) {
        let seconds = |quantum: u64| (quantum * QUANTUM_MS) as f64 / SECOND_MS;
        let release_s = start_ms / SECOND_MS;
        self.0.coflows.push(CoflowOutcome { release_s, completion_s: seconds(ended) });
        for &flow in &job.flow_of {
            self.0.flow_completion_s.push(seconds(flow_ended(flow as usize)));
            self.0.flow_start_s.push(release_s);
        }
    }
}

/// The error for a `coflow` that has not ended when the program stops.
pub(super) fn unfinished(workload: &Workload, coflow: usize) -> EmulationError {
    EmulationError::Unfinished {
        simulator: NAME,
        end_s: (EPOCHS * EPOCH * QUANTUM_MS) as f64 / SECOND_MS,
        coflow: workload.coflows[coflow].id.clone(),
    }
}
