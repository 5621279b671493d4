//! What an agent has to show before it is heard.

use std::io;
use std::time::Duration;

use covey_proto::Hello;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::client::verify_server_name;
use tokio_rustls::rustls::pki_types::{CertificateDer, ServerName};
use tokio_rustls::rustls::server::ParsedCertificate;

/// How long a connection may take to say hello.
pub(crate) const PATIENCE: Duration = Duration::from_secs(10);

/// A connection, encrypted or not.
pub(crate) trait Stream: AsyncRead + AsyncWrite + Send + Unpin {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin> Stream for T {}

/// What agents have to show.
pub(crate) struct Admission {
    /// Mutual TLS; without it agents show the token.
    pub tls: Option<TlsAcceptor>,
    /// The token.
    pub token: Vec<u8>,
}

impl Admission {
    /// Accepts a connection. Returns it with the certificate that the other side has shown.
    ///
    /// # Errors
    /// When the connection breaks or takes too long, or the certificate is not one of the CA; `refused` is called for
    /// the certificate.
    pub async fn accept(
        &self,
        stream: TcpStream,
        refused: impl FnOnce(&io::Error),
    ) -> io::Result<(Box<dyn Stream>, Option<CertificateDer<'static>>)> {
        stream.set_nodelay(true)?;
        let Some(tls) = &self.tls else { return Ok((Box::new(stream), None)) };
        let stream = timeout(PATIENCE, tls.accept(stream)).await?.inspect_err(refused)?;
        let shown = stream.get_ref().1.peer_certificates().and_then(|all| all.first());
        let shown = shown.map(|certificate| certificate.clone().into_owned());
        Ok((Box::new(stream), shown))
    }

    /// Whether somebody who has shown this may speak for the port that a hello names.
    pub fn admits(&self, hello: &Hello, shown: Option<&CertificateDer<'_>>) -> bool {
        match shown {
            Some(certificate) => speaks_for(certificate, hello.port),
            None => self.admits_token(&hello.token),
        }
    }

    /// Whether a token is right, where tokens count.
    pub fn admits_token(&self, token: &[u8]) -> bool {
        self.tls.is_none() && same_secret(token, &self.token)
    }
}

/// The domain of the names in agents' certificates.
pub(crate) const AGENTS: &str = "agents.covey.internal";

/// The name in the certificate of a port's agent.
pub(crate) fn name_of(port: u32) -> String {
    format!("port-{port}.{AGENTS}")
}

/// Whether somebody with this certificate, which a CA of ours has signed, may speak for a port.
pub(crate) fn speaks_for(certificate: &CertificateDer<'_>, port: u32) -> bool {
    let parsed = ParsedCertificate::try_from(certificate);
    let name = ServerName::try_from(name_of(port));
    parsed
        .ok()
        .zip(name.ok())
        .is_some_and(|(parsed, name)| verify_server_name(&parsed, &name).is_ok())
}

/// Whether two secrets are equal. The time that this takes does not reveal where they differ.
pub(crate) fn same_secret(a: &[u8], b: &[u8]) -> bool {
    a.len() == b.len() && a.iter().zip(b).fold(0, |differs, (a, b)| differs | (a ^ b)) == 0
}
