//! What can go wrong.

use std::io;

use covey_api::{ClientError, CredentialError};
use thiserror::Error;

/// Why nothing could be measured.
#[derive(Debug, Error)]
pub enum LoadError {
    /// The coordinator cannot be started, or its folder cannot be made.
    #[error("the coordinator cannot be started: {0}")]
    Start(io::Error),
    /// The coordinator has ended before it listened.
    #[error("the coordinator ended before it listened")]
    Ended,
    /// The coordinator's credentials cannot be used.
    #[error(transparent)]
    Credentials(#[from] CredentialError),
    /// The coordinator does not answer.
    #[error("the coordinator does not answer: {0}")]
    Client(#[from] ClientError),
    /// The coordinator refuses a coflow.
    #[error("a coflow was refused: {status} {body}")]
    Refused {
        /// The HTTP status.
        status: u16,
        /// The body of the answer.
        body: String,
    },
    /// Agents do not join.
    #[error("only {joined} of {ports} agents joined in {seconds} s: {why}")]
    Joining {
        /// Number of agents that have joined.
        joined: f64,
        /// Number of agents that should have joined.
        ports: u32,
        /// How long they had, in seconds.
        seconds: u64,
        /// The last error of an agent.
        why: String,
    },
}
