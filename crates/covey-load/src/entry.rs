//! Where agents join.

use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;

use covey_api::{Credentials, read_token};
use tokio_rustls::rustls::ClientConfig;

use crate::error::LoadError;

/// Where agents join, and what they show.
#[derive(Clone)]
pub struct AgentEntry {
    pub(crate) address: SocketAddr,
    pub(crate) token: Vec<u8>,
    pub(crate) tls: Option<Arc<ClientConfig>>,
}

impl AgentEntry {
    /// A coordinator or a relay at this address, with the credentials in a folder.
    ///
    /// # Errors
    /// When the credentials cannot be used.
    pub fn new(address: SocketAddr, folder: &Path) -> Result<AgentEntry, LoadError> {
        let credentials = Credentials::of(folder);
        let tls = credentials.has_certificates().then(|| credentials.agent()).transpose()?;
        let token = match tls {
            Some(_) => Vec::new(),
            None => read_token(&credentials.token_path())?,
        };
        Ok(AgentEntry { address, token, tls })
    }
}
