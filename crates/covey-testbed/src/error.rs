//! What can go wrong.

use std::io;
use std::path::PathBuf;

use thiserror::Error;

/// Why there is no result.
#[derive(Debug, Error)]
pub enum TestbedError {
    /// A program of the system does not do what it was asked.
    #[error("{program}: {what}")]
    Tool {
        /// The program.
        program: String,
        /// What it said.
        what: String,
    },
    /// A file cannot be used.
    #[error("{}: {source}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// Another testbed runs on this machine.
    #[error("another testbed runs on this machine: {} is locked", .0.display())]
    Busy(PathBuf),
    /// The trace has what cannot be replayed.
    #[error("coflow {coflow}: {what}")]
    Trace {
        /// The coflow's id.
        coflow: String,
        /// What is expected.
        what: &'static str,
    },
    /// A process of the testbed has ended too soon.
    #[error("{process}: {what}")]
    Process {
        /// Which.
        process: String,
        /// What it said last, or how it ended.
        what: String,
    },
    /// A flow did not come as it was sent.
    #[error("flow {flow} of coflow {coflow}: {what}")]
    Flow {
        /// The coflow's id.
        coflow: String,
        /// The flow's place in it.
        flow: u32,
        /// What came of it.
        what: String,
    },
    /// The replay takes longer than it may.
    #[error("{ended} of {coflows} coflows have ended after {seconds:.0} s")]
    Late {
        /// Coflows that have.
        ended: usize,
        /// All.
        coflows: usize,
        /// Seconds.
        seconds: f64,
    },
    /// Somebody wants it to end.
    #[error("interrupted")]
    Interrupted,
    /// Credentials cannot be made.
    #[error(transparent)]
    Credentials(#[from] covey_api::CredentialError),
    /// A host cannot take part in scheduling.
    #[error("the client library: {0}")]
    Client(#[from] covey_client::RestError),
    /// The trace cannot be read, or written for the hosts.
    #[error(transparent)]
    Workload(#[from] covey_trace::TraceError),
    /// Anything else that the system does not do.
    #[error("{0}")]
    Io(#[from] io::Error),
}

impl TestbedError {
    /// Whether the user's arguments are to blame, rather than the machine.
    pub fn is_input(&self) -> bool {
        matches!(
            self,
            TestbedError::Trace { .. } | TestbedError::Busy(_) | TestbedError::Workload(_)
        )
    }
}
