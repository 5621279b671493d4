//! Names in the certificates of agents.

use tokio_rustls::rustls::client::verify_server_name;
use tokio_rustls::rustls::pki_types::{CertificateDer, ServerName};
use tokio_rustls::rustls::server::ParsedCertificate;

/// The domain of the names in agents' certificates.
const AGENTS: &str = "agents.covey.internal";

/// The name in the certificate of a port's agent.
pub(super) fn name_of(port: u32) -> String {
    format!("port-{port}.{AGENTS}")
}

/// The name in the certificate of whoever may be the agent of any port.
pub(super) fn any_name() -> String {
    format!("*.{AGENTS}")
}

/// Whether somebody with this certificate, which a CA of ours has signed, may speak for a port.
pub fn speaks_for(certificate: &CertificateDer<'_>, port: u32) -> bool {
    let parsed = ParsedCertificate::try_from(certificate);
    let name = ServerName::try_from(name_of(port));
    parsed
        .ok()
        .zip(name.ok())
        .is_some_and(|(parsed, name)| verify_server_name(&parsed, &name).is_ok())
}
