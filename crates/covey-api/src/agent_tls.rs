//! TLS of a process that joins again and again, as agents and relays do.

use std::sync::{Arc, Mutex, PoisonError};

use tokio_rustls::rustls::ClientConfig;

use crate::credential_error::CredentialError;
use crate::credentials::Credentials;

/// What an agent or a relay shows to a coordinator, and which coordinators it accepts. Its files
/// are read for each connection, so that renewed certificates and another list of revoked ones need
/// no restart.
#[derive(Debug)]
pub struct AgentTls {
    credentials: Credentials,
    /// What was last read, in case that the files are being replaced.
    last: Mutex<Arc<ClientConfig>>,
}

impl AgentTls {
    /// Reads the files.
    ///
    /// # Errors
    /// When they cannot be used.
    pub fn start(credentials: Credentials) -> Result<Arc<AgentTls>, CredentialError> {
        let last = Mutex::new(credentials.agent()?);
        Ok(Arc::new(AgentTls { credentials, last }))
    }

    /// For the next connection. If the files cannot be used, `failed` is told, and what was read
    /// before stays in force.
    pub fn next(&self, failed: impl FnOnce(CredentialError)) -> Arc<ClientConfig> {
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        match self.credentials.agent() {
            Ok(config) => *last = config,
            Err(error) => failed(error),
        }
        last.clone()
    }
}
