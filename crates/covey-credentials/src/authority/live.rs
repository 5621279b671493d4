//! TLS of a process that runs: certificates and revocations are read again when their files change.

use std::fmt::Write;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::SystemTime;

use covey_api::{CredentialError, Credentials};
use tokio::sync::watch;

use super::certificate::Certificate;
use super::tls::{Listener, ServerTls, warn_of_expiry};
use crate::reload::Reload;

/// How connections are encrypted: not at all, or with the certificates that were last read.
pub type Tls = watch::Receiver<Option<ServerTls>>;

/// What is in force.
#[derive(Clone, Default)]
struct Current {
    agents: Option<ServerTls>,
    clients: Option<ServerTls>,
    certificates: Vec<(&'static str, Certificate)>,
}

impl Current {
    fn read(credentials: &Credentials, listener: Listener) -> Result<Current, CredentialError> {
        Ok(Current {
            agents: Some(listener.for_agents(credentials)?),
            clients: Some(listener.for_clients(credentials)?),
            certificates: listener.certificates(credentials)?,
        })
    }
}

/// TLS of a process that runs.
pub struct LiveTls {
    credentials: Credentials,
    listener: Listener,
    agents: watch::Sender<Option<ServerTls>>,
    clients: watch::Sender<Option<ServerTls>>,
    certificates: watch::Sender<Vec<(&'static str, Certificate)>>,
}

impl LiveTls {
    /// Reads the certificates in a folder. Without any there is no TLS, and will be none until the
    /// process starts again.
    pub fn start(
        credentials: &Credentials,
        listener: Listener,
    ) -> Result<Arc<LiveTls>, CredentialError> {
        let current = match credentials.has_certificates() {
            true => Current::read(credentials, listener)?,
            false => Current::default(),
        };
        let live = LiveTls {
            credentials: credentials.clone(),
            listener,
            agents: watch::channel(current.agents).0,
            clients: watch::channel(current.clients).0,
            certificates: watch::channel(current.certificates).0,
        };
        live.check();
        Ok(Arc::new(live))
    }

    /// Whether connections are encrypted.
    pub fn is_used(&self) -> bool {
        self.clients.borrow().is_some()
    }

    /// For connections of agents.
    pub fn for_agents(&self) -> Tls {
        self.agents.subscribe()
    }

    /// For connections of clients and probes.
    pub fn for_clients(&self) -> Tls {
        self.clients.subscribe()
    }

    /// The time until certificates expire, in the text format of Prometheus.
    pub fn write_metrics(&self, out: &mut String) {
        if !self.is_used() {
            return;
        }
        let name = "covey_certificate_expires_in_seconds";
        let help = "Time until a certificate expires; below zero if it has.";
        let _ = writeln!(out, "# HELP {name} {help}\n# TYPE {name} gauge");
        let now = SystemTime::now();
        for (stem, certificate) in self.certificates.borrow().iter() {
            let left_s = certificate.expires_in_s(now);
            let _ = writeln!(out, "{name}{{certificate=\"{stem}\"}} {left_s:.0}");
        }
    }
}

impl Reload for LiveTls {
    fn name(&self) -> &'static str {
        "certificates"
    }

    fn files(&self) -> Vec<PathBuf> {
        self.listener.files().iter().map(|name| self.credentials.path(name)).collect()
    }

    fn reload(&self) -> Result<(), CredentialError> {
        if !self.is_used() {
            return Ok(());
        }
        let current = Current::read(&self.credentials, self.listener)?;
        self.agents.send_replace(current.agents);
        self.clients.send_replace(current.clients);
        self.certificates.send_replace(current.certificates);
        Ok(())
    }

    fn check(&self) {
        warn_of_expiry(&self.certificates.borrow(), SystemTime::now());
    }
}
