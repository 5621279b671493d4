//! Loads a live coordinator, and tells what that costs it.
//!
//! The coordinator is a process of its own ([`Coordinator`]), so that its CPU and memory can be told
//! apart. Hosts are simulated here ([`Hosts`]): each has a real agent with a real connection, and
//! sends as that agent is told, in real time, but on paper. [`replay`] drives a workload through
//! both.

mod coordinator;
mod host;
mod metrics;
mod replay;

pub use coordinator::Coordinator;
pub use host::{Hosts, Sizes};
pub use metrics::Metrics;
pub use replay::{Replay, register, registration, replay};

use std::io;

use covey_api::{ClientError, CredentialError};
use thiserror::Error;

/// Why nothing could be measured.
#[derive(Debug, Error)]
pub enum LoadError {
    /// The coordinator cannot be started, or its folder not be made.
    #[error("the coordinator cannot be started: {0}")]
    Start(io::Error),
    /// It has ended before it listened.
    #[error("the coordinator ended before it listened")]
    Ended,
    /// Its credentials cannot be used.
    #[error(transparent)]
    Credentials(#[from] CredentialError),
    /// It does not answer.
    #[error("the coordinator does not answer: {0}")]
    Client(#[from] ClientError),
    /// It refuses a coflow.
    #[error("a coflow was refused: {status} {body}")]
    Refused {
        /// The HTTP status.
        status: u16,
        /// What it says.
        body: String,
    },
    /// Agents do not join.
    #[error("only {joined} of {ports} agents joined in {seconds} s: {why}")]
    Joining {
        /// How many have.
        joined: f64,
        /// How many should have.
        ports: u32,
        /// In which time.
        seconds: u64,
        /// The last that went wrong.
        why: String,
    },
}
