//! What a relay is to be, and why it cannot be that.

use std::net::SocketAddr;
use std::path::PathBuf;

use covey_api::{CredentialError, Endpoint};
use covey_door::Limits;
use thiserror::Error;

/// What a relay is to be.
#[derive(Debug, Clone)]
pub struct RelayConfig {
    /// Where the coordinator listens for agents.
    pub coordinator: Endpoint,
    /// Where agents connect.
    pub listen: SocketAddr,
    /// The folder with the relay's credentials.
    pub folder: PathBuf,
    /// Limits of connections of agents.
    pub limits: Limits,
    /// Where probes connect, if they are to.
    pub health: Option<SocketAddr>,
}

/// Why a relay cannot start, or go on.
#[derive(Debug, Error)]
pub enum RelayError {
    /// The credentials cannot be used.
    #[error(transparent)]
    Credentials(#[from] CredentialError),
    /// Without certificates agents may connect from this machine only.
    #[error(
        "{0} is not a loopback address: expected certificates in the folder (covey serve --init --relay)"
    )]
    Public(String),
    /// The coordinator refuses the relay for good.
    #[error("{0}: the coordinator refuses this relay: {1}")]
    Refused(Endpoint, &'static str),
    /// An address cannot be used.
    #[error("{what}: {source}")]
    Io {
        /// What was tried.
        what: String,
        /// Why it failed.
        source: std::io::Error,
    },
}

impl RelayError {
    /// Whether the user's arguments are to blame, rather than the machine.
    pub fn is_input(&self) -> bool {
        !matches!(self, RelayError::Io { .. })
    }
}
