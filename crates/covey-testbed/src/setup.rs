//! The inputs of a replay.

use std::path::Path;
use std::sync::atomic::AtomicBool;

use covey_trace::Workload;

use crate::faults::Fault;

/// The scheduler of the flows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scheduler<'a> {
    /// TCP alone.
    Tcp,
    /// A coordinator with this policy, and agents.
    Policy(&'a str),
    /// A coordinator with a policy that finds coflows by itself; applications know nothing of it.
    Unmodified {
        /// The policy.
        policy: &'a str,
        /// Whether the coordinator is told the coflow of each flow, as its community.
        told: bool,
    },
    /// Nobody: receivers decide, by the policy `stream` with these settings.
    Receivers(&'a str),
}

/// The inputs of a replay.
pub struct Replay<'a> {
    /// The trace, folded to the hosts.
    pub workload: &'a Workload,
    /// The same trace as a file, for the hosts.
    pub trace: &'a Path,
    /// This program.
    pub program: &'a Path,
    /// The scheduler of the flows.
    pub scheduler: Scheduler<'a>,
    /// Speed of the ports, in bytes of flows per second.
    pub port_rate: f64,
    /// Background traffic that each host sends and receives, in bytes per second on the link.
    pub background_rate: f64,
    /// Maximum duration in seconds.
    pub limit_s: f64,
    /// Compression ratio of the flows' bytes; 1 if they cannot be compressed.
    pub ratio: f64,
    /// Share of a processor that each host offers for compressing, as `covey agent --cpu` takes it.
    pub cpu: &'a str,
    /// Faults to inject.
    pub faults: &'a [Fault],
    /// Set to interrupt the replay.
    pub stop: &'a AtomicBool,
}
