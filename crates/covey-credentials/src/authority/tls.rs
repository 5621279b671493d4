//! TLS of a listener, from the files of a folder.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use covey_api::{CredentialError, Credentials};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::pki_types::CertificateRevocationListDer;
use tokio_rustls::rustls::server::WebPkiClientVerifier;

use super::certificate::{Certificate, Revoked, Serial, read_all};

/// TLS of a listener.
#[derive(Clone)]
pub struct ServerTls {
    /// Makes connections that are encrypted.
    pub acceptor: TlsAcceptor,
    /// Certificates that count no more.
    pub revoked: Arc<BTreeSet<Serial>>,
}

/// A listener, by the certificate that it shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Listener {
    /// A coordinator, with `coordinator.pem`.
    Coordinator,
    /// A relay, with `relay.pem`.
    Relay,
}

impl Listener {
    /// The name of the files with its certificate and key.
    fn stem(self) -> &'static str {
        match self {
            Listener::Coordinator => "coordinator",
            Listener::Relay => "relay",
        }
    }

    /// For connections of agents: both sides show certificates of the CA.
    pub fn for_agents(self, credentials: &Credentials) -> Result<ServerTls, CredentialError> {
        let lists = credentials.revocation_lists()?;
        let revoked = revoked(&lists)?.serials.into_keys().collect();
        let verifier = WebPkiClientVerifier::builder(Arc::new(credentials.roots()?))
            .with_crls(lists)
            // A list of our CA says all that is revoked; a CA without a list has revoked nothing.
            .allow_unknown_revocation_status()
            .only_check_end_entity_revocation()
            .build();
        let verifier = verifier.map_err(|error| CredentialError::Use(error.to_string()))?;
        let config = ServerConfig::builder().with_client_cert_verifier(verifier);
        let config = config.with_single_cert(
            credentials.certificates(self.stem())?,
            credentials.key(self.stem())?,
        );
        let config = config.map_err(|error| self.unusable(&error))?;
        Ok(ServerTls { acceptor: Arc::new(config).into(), revoked: Arc::new(revoked) })
    }

    /// For connections of clients, who show tokens or nothing.
    pub fn for_clients(self, credentials: &Credentials) -> Result<ServerTls, CredentialError> {
        let config = ServerConfig::builder().with_no_client_auth();
        let config = config.with_single_cert(
            credentials.certificates(self.stem())?,
            credentials.key(self.stem())?,
        );
        let config = config.map_err(|error| self.unusable(&error))?;
        Ok(ServerTls { acceptor: Arc::new(config).into(), revoked: Arc::default() })
    }

    fn unusable(self, error: &dyn std::fmt::Display) -> CredentialError {
        let stem = self.stem();
        CredentialError::Use(format!("{stem}.pem with {stem}.key: {error}"))
    }

    /// The names of the files with certificates that the process shows or trusts. A relay shows an
    /// agent's, too.
    fn stems(self) -> &'static [&'static str] {
        match self {
            Listener::Coordinator => &["coordinator", "ca"],
            Listener::Relay => &["relay", "agent", "ca"],
        }
    }

    /// What these certificates say.
    pub fn certificates(
        self,
        credentials: &Credentials,
    ) -> Result<Vec<(&'static str, Certificate)>, CredentialError> {
        read_all(credentials, self.stems())
    }

    /// The names of the files that are read.
    pub fn files(self) -> Vec<String> {
        files_of(self.stems(), self.stem())
    }
}

/// The names of the files with these certificates, the key of the one that is shown, and the
/// revoked ones.
pub(super) fn files_of(stems: &[&str], shown: &str) -> Vec<String> {
    let certificates = stems.iter().map(|stem| format!("{stem}.pem"));
    certificates.chain([format!("{shown}.key"), "crl.pem".to_owned()]).collect()
}

/// All that lists of revoked certificates say together.
pub(super) fn revoked(
    lists: &[CertificateRevocationListDer<'_>],
) -> Result<Revoked, CredentialError> {
    let mut all = Revoked::default();
    for list in lists {
        let Revoked { number, serials } = Revoked::read(list)?;
        all.number = all.number.max(number);
        all.serials.extend(serials);
    }
    Ok(all)
}

/// A certificate that expires within this time is warned of.
const SOON: Duration = Duration::from_secs(30 * 24 * 3600);

/// Warns of certificates that have expired, or soon will.
pub(crate) fn warn_of_expiry(certificates: &[(&'static str, Certificate)], now: SystemTime) {
    for (stem, certificate) in certificates {
        let left_s = certificate.expires_in_s(now);
        let days = (left_s / 86_400.0).floor();
        if left_s <= 0.0 {
            tracing::error!(
                days,
                "{stem}.pem has expired: nobody who checks it will connect; renew it (covey certs renew)"
            );
        } else if left_s < SOON.as_secs_f64() {
            tracing::warn!(days, "{stem}.pem expires soon: renew it (covey certs renew)");
        }
    }
}
