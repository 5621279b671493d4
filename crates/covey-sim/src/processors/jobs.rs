//! Which flow each host compresses.

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
    /// Share of the processor that is there.
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
    /// When each host's job has no raw bytes left, by host; never without a job.
    ends: Vec<Time>,
    /// The earliest of `ends` when this was last worked out.
    next_end: Time,
}

impl Jobs {
    /// So many hosts, without jobs.
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

    /// What a host compresses.
    pub(super) fn get(&self, host: usize) -> Option<Job> {
        self.jobs[host]
    }

    /// Whether a host compresses a flow of a coflow.
    pub(super) fn serves(&self, host: usize, coflow: CoflowId) -> bool {
        self.jobs[host].is_some_and(|job| job.coflow == coflow)
    }

    /// Gives a host a job that ends at the time `end`, or brings its job up to date.
    pub(super) fn set(&mut self, host: usize, job: Job, end: Time) {
        self.jobs[host] = Some(job);
        self.ends[host] = end;
    }

    /// Takes the job from a host.
    pub(super) fn take(&mut self, host: usize) -> Option<Job> {
        self.ends[host] = Time::NEVER;
        self.jobs[host].take()
    }

    /// When a host's job ends.
    pub(super) fn end(&self, host: usize) -> Time {
        self.ends[host]
    }

    /// When the first job ends, as of the last [`Jobs::find_next_end`].
    pub(super) fn next_end(&self) -> Time {
        self.next_end
    }

    /// Works out when the first job ends.
    pub(super) fn find_next_end(&mut self) {
        self.next_end = self.ends.iter().fold(Time::NEVER, |a, &b| if b < a { b } else { a });
    }
}
