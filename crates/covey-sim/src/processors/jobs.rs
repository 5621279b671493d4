//! The flow that each host compresses.

use covey_core::{CoflowId, Time};

/// A flow that is compressed at present.
#[derive(Debug, Clone, Copy)]
pub(super) struct Job {
    pub coflow: CoflowId,
    /// The flow's position in its coflow's demand.
    pub position: u32,
    /// Whether the flow is sent meanwhile.
    pub overlap: bool,
    /// Compressed bytes for each raw byte.
    pub ratio: f64,
    /// Available share of the processor.
    pub share: f64,
    /// Raw bytes compressed in a second.
    pub speed: f64,
    /// Raw bytes left at the time `since`.
    pub raw: f64,
    pub since: Time,
}

/// At most one job for each host.
#[derive(Debug, Default)]
pub(super) struct Jobs {
    /// By host.
    jobs: Vec<Option<Job>>,
    /// The time at which each host's job has no raw bytes left, by host; never without a job.
    ends: Vec<Time>,
    /// The earliest of `ends` as last computed.
    next_end: Time,
}

impl Jobs {
    /// This number of hosts, without jobs.
    pub(super) fn clear(&mut self, hosts: usize) {
        self.jobs.clear();
        self.jobs.resize(hosts, None);
        self.ends.clear();
        self.ends.resize(hosts, Time::NEVER);
        self.next_end = Time::NEVER;
    }

    /// Number of hosts.
    pub(super) fn hosts(&self) -> usize {
        self.jobs.len()
    }

    /// The job of a host, if any.
    pub(super) fn get(&self, host: usize) -> Option<Job> {
        self.jobs[host]
    }

    /// Whether a host compresses a flow of a coflow.
    pub(super) fn serves(&self, host: usize, coflow: CoflowId) -> bool {
        self.jobs[host].is_some_and(|job| job.coflow == coflow)
    }

    /// Gives a host a job that ends at the time `end`, or updates its job.
    pub(super) fn set(&mut self, host: usize, job: Job, end: Time) {
        self.jobs[host] = Some(job);
        self.ends[host] = end;
    }

    /// Removes the job of a host.
    pub(super) fn take(&mut self, host: usize) -> Option<Job> {
        self.ends[host] = Time::NEVER;
        self.jobs[host].take()
    }

    /// The end of a host's job.
    pub(super) fn end(&self, host: usize) -> Time {
        self.ends[host]
    }

    /// The end of the first job, as of the last [`Jobs::find_next_end`].
    pub(super) fn next_end(&self) -> Time {
        self.next_end
    }

    /// Computes the end of the first job.
    pub(super) fn find_next_end(&mut self) {
        self.next_end = self.ends.iter().fold(Time::NEVER, |a, &b| if b < a { b } else { a });
    }
}
