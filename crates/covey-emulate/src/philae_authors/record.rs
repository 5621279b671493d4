//! The starts and ends of coflows and flows, and the program's estimates.

use covey_trace::results::{CoflowOutcome, Outcome};

use super::coflow::Job;

/// The program's estimate of a coflow, from its pilots.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Estimate {
    /// The end of its last pilot, in seconds after the coflow's start.
    pub after_s: f64,
    /// The bytes that the coflow had sent by then.
    pub sent: f64,
    /// Estimated bytes of the coflow.
    pub size: f64,
}

/// The results of a run so far. Times are in milliseconds; the time of an event that has not
/// happened is 0.
#[derive(Debug)]
pub(super) struct Record {
    /// Start of each coflow.
    pub start_ms: Vec<u64>,
    /// End of each coflow.
    pub end_ms: Vec<u64>,
    /// End of each flow, by coflow.
    pub flow_end_ms: Vec<Vec<u64>>,
    /// The estimate of each coflow that has one.
    pub estimates: Vec<Option<Estimate>>,
    /// The number of times that ports were assigned.
    pub events: u64,
}

impl Record {
    /// The empty record of a run of `jobs`.
    pub fn new(jobs: &[Job]) -> Self {
        Self {
            start_ms: vec![0; jobs.len()],
            end_ms: vec![0; jobs.len()],
            flow_end_ms: jobs.iter().map(|job| vec![0; job.width()]).collect(),
            estimates: vec![None; jobs.len()],
            events: 0,
        }
    }

    /// Notes the estimate of coflow `c`, whose pilots have ended at `now_ms`.
    pub fn note_estimate(&mut self, c: usize, job: &Job, now_ms: u64) {
        self.estimates[c] = Some(Estimate {
            after_s: (now_ms - self.start_ms[c]) as f64 / 1e3,
            sent: job.sent as f64,
            size: (job.width() as u64 * job.estimate) as f64,
        });
    }

    /// The outcome of a run that is over.
    pub fn outcome(&self, jobs: &[Job]) -> Outcome {
        let seconds = |ms: u64| ms as f64 / 1e3;
        let mut outcome = Outcome { events: self.events, ..Outcome::default() };
        for (c, job) in jobs.iter().enumerate() {
            let release_s = seconds(self.start_ms[c]);
            let completion_s = seconds(self.end_ms[c]);
            outcome.coflows.push(CoflowOutcome { release_s, completion_s });
            for &flow in &job.flow_of {
                let end_ms = self.flow_end_ms[c][flow as usize];
                outcome.flow_completion_s.push(seconds(end_ms));
                outcome.flow_start_s.push(release_s);
            }
        }
        outcome
    }
}
