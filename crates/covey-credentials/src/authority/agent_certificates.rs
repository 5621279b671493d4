//! The certificates of an agent that runs: its log warns before they expire.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

use covey_api::{CredentialError, Credentials};
use tokio::sync::mpsc;

use super::certificate::{Certificate, read_all};
use super::tls::{files_of, warn_of_expiry};
use crate::reload::{Reload, Watched};

/// The names of the files with certificates that an agent shows or trusts.
const STEMS: [&str; 2] = ["agent", "ca"];

/// The certificates of an agent that runs. Its connections read them by themselves; this warns of
/// those that expire.
pub struct AgentCertificates(Watched);

impl AgentCertificates {
    /// Reads the certificates in a folder, and warns of those that have expired or soon will.
    /// `None` if there are none.
    ///
    /// # Errors
    /// When they cannot be used.
    pub fn start(credentials: Credentials) -> Result<Option<AgentCertificates>, CredentialError> {
        if !credentials.has_certificates() {
            return Ok(None);
        }
        let found = Arc::new(Found { credentials, certificates: Mutex::default() });
        // Before they are read: what changes meanwhile is read again.
        let watched = Watched::of(vec![found.clone()]);
        found.reload()?;
        found.check();
        Ok(Some(AgentCertificates(watched)))
    }

    /// Warns once a day. Reads the files again when they change, and when `asked` has a message.
    /// Never ends.
    pub async fn keep(self, asked: mpsc::Receiver<()>) {
        self.0.keep(asked).await;
    }
}

/// What was last read.
struct Found {
    credentials: Credentials,
    certificates: Mutex<Vec<(&'static str, Certificate)>>,
}

impl Found {
    fn lock(&self) -> MutexGuard<'_, Vec<(&'static str, Certificate)>> {
        self.certificates.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Reload for Found {
    fn name(&self) -> &'static str {
        "certificates"
    }

    fn files(&self) -> Vec<PathBuf> {
        files_of(&STEMS, "agent").iter().map(|name| self.credentials.path(name)).collect()
    }

    fn reload(&self) -> Result<(), CredentialError> {
        // The next connection needs all of the files.
        self.credentials.agent()?;
        *self.lock() = read_all(&self.credentials, &STEMS)?;
        Ok(())
    }

    fn check(&self) {
        warn_of_expiry(&self.lock(), SystemTime::now());
    }
}
