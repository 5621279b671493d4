//! What an agent has to show before it is heard.

use std::io;

use covey_door::{Guest, Reason};
use covey_proto::{Hello, ProtoError, Refusal};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::sync::watch;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::client::verify_server_name;
use tokio_rustls::rustls::pki_types::{CertificateDer, ServerName};
use tokio_rustls::rustls::server::ParsedCertificate;

/// A connection, encrypted or not.
pub(crate) trait Stream: AsyncRead + AsyncWrite + Send + Unpin {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin> Stream for T {}

/// How connections are encrypted: not at all, or with the certificates of the last reload.
pub(crate) type Tls = watch::Receiver<Option<TlsAcceptor>>;

/// What agents have to show.
pub(crate) struct Admission {
    /// Mutual TLS; without it agents show the token.
    pub tls: Tls,
    /// The token.
    pub token: Vec<u8>,
}

impl Admission {
    /// Accepts a connection. Returns it with the certificate that the other side has shown.
    ///
    /// # Errors
    /// When the connection breaks, or the certificate is not one of the CA: that is a refusal.
    pub async fn accept(
        &self,
        stream: TcpStream,
        guest: &Guest,
    ) -> io::Result<(Box<dyn Stream>, Option<CertificateDer<'static>>)> {
        stream.set_nodelay(true)?;
        let tls = self.tls.borrow().clone();
        let Some(tls) = tls else { return Ok((Box::new(stream), None)) };
        let refuse = |error: &io::Error| guest.refuse(Reason::Handshake, None, error);
        let stream = tls.accept(stream).await.inspect_err(refuse)?;
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
        self.tls.borrow().is_none() && same_secret(token, &self.token)
    }
}

/// Counts and logs that somebody may not join who claims to be the agent of `port`.
pub(crate) fn refuse(guest: &Guest, refusal: Refusal, port: Option<u32>, who: &str) {
    match refusal {
        Refusal::Credential => {
            guest.refuse(
                Reason::Credential,
                port,
                format_args!("the credential of {who} is wrong"),
            );
        }
        Refusal::Version => {
            guest.refuse(Reason::Version, port, format_args!("{who} speaks another version"));
        }
        _ => guest.refuse(Reason::Order, port, format_args!("{who} does not begin with hello")),
    }
}

/// Counts and logs bytes that are no message.
pub(crate) fn garbage(guest: &Guest, port: Option<u32>, error: ProtoError) -> io::Error {
    guest.refuse(Reason::Garbage, port, &error);
    io::Error::new(io::ErrorKind::InvalidData, error)
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
