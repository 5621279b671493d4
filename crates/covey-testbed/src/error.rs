//! Errors of a testbed.

use std::io;
use std::path::PathBuf;

use thiserror::Error;

/// The reason that a replay has no result.
#[derive(Debug, Error)]
pub enum TestbedError {
    /// A program of the system has failed.
    #[error("{program}: {what}")]
    Tool {
        /// The program.
        program: String,
        /// What the program has printed.
        what: String,
    },
    /// A file cannot be used.
    #[error("{}: {source}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// The error.
        source: io::Error,
    },
    /// The kernel does not take the programs that mark packets.
    #[error(
        "marks of congestion: BPF: {0}: expected the capabilities CAP_BPF and CAP_NET_ADMIN, and Linux 6.6"
    )]
    Marks(String),
    /// Another testbed runs on this machine.
    #[error("another testbed runs on this machine: {} is locked", .0.display())]
    Busy(PathBuf),
    /// The trace has a coflow that cannot be replayed.
    #[error("coflow {coflow}: {what}")]
    Trace {
        /// The coflow's id.
        coflow: String,
        /// The expected coflow.
        what: &'static str,
    },
    /// A process of the testbed has ended too soon.
    #[error("{process}: {what}")]
    Process {
        /// The process.
        process: String,
        /// Its last output, or its exit status.
        what: String,
    },
    /// The bytes of a flow have arrived changed, or not all of them.
    #[error("flow {flow} of coflow {coflow}: {what}")]
    Flow {
        /// The coflow's id.
        coflow: String,
        /// The flow's index in the coflow.
        flow: u32,
        /// What has arrived instead.
        what: String,
    },
    /// The replay has taken longer than its limit.
    #[error("{ended} of {coflows} coflows have ended after {seconds:.0} s")]
    Late {
        /// Number of coflows that have ended.
        ended: usize,
        /// Number of all coflows.
        coflows: usize,
        /// The limit in seconds.
        seconds: f64,
    },
    /// The user has interrupted the replay.
    #[error("interrupted")]
    Interrupted,
    /// The credentials cannot be made.
    #[error(transparent)]
    Credentials(#[from] covey_api::CredentialError),
    /// The client library of a host has failed.
    #[error("the client library: {0}")]
    Client(#[from] covey_client::RestError),
    /// The trace cannot be read, or be written for the hosts.
    #[error(transparent)]
    Workload(#[from] covey_trace::TraceError),
    /// Another call of the system has failed.
    #[error("{0}")]
    Io(#[from] io::Error),
}

impl TestbedError {
    /// Whether the error is in the user's arguments, not in the machine.
    pub fn is_input(&self) -> bool {
        matches!(
            self,
            TestbedError::Trace { .. } | TestbedError::Busy(_) | TestbedError::Workload(_)
        )
    }
}
