//! What an agent has to show before it is heard.

use std::io;
use std::sync::Arc;

use covey_door::{Guest, Reason};
use covey_proto::{Hello, ProtoError, Refusal};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio_rustls::rustls::pki_types::CertificateDer;

use covey_credentials::{Holder, Right, Tokens};
use covey_credentials::{Serial, ServerTls, Tls, speaks_for};

/// A connection, encrypted or not.
pub(crate) trait Stream: AsyncRead + AsyncWrite + Send + Unpin {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin> Stream for T {}

/// What somebody was admitted with.
pub(crate) enum Credential {
    /// A certificate, if its number can be read.
    Certificate(Option<Serial>),
    /// A token.
    Token(Holder),
}

/// What agents have to show.
pub(crate) struct Admission {
    /// Mutual TLS; without it agents show a token.
    pub tls: Tls,
    /// The tokens.
    pub tokens: Arc<Tokens>,
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
        let failed = |error: &io::Error| handshake_failed(guest, error);
        let stream = tls.acceptor.accept(stream).await.inspect_err(failed)?;
        let shown = stream.get_ref().1.peer_certificates().and_then(|all| all.first());
        let shown = shown.map(|certificate| certificate.clone().into_owned());
        Ok((Box::new(stream), shown))
    }

    /// With what somebody who has shown this may speak for the port that a hello names; `None`: not
    /// at all.
    pub fn admits(&self, hello: &Hello, shown: Option<&CertificateDer<'_>>) -> Option<Credential> {
        match shown {
            Some(certificate) if !speaks_for(certificate, hello.port) => None,
            _ => self.knows(&hello.token, shown),
        }
    }

    /// A certificate of the CA, or a token with the right to join, where tokens count.
    pub fn knows(&self, token: &[u8], shown: Option<&CertificateDer<'_>>) -> Option<Credential> {
        if let Some(certificate) = shown {
            return Some(Credential::Certificate(Serial::of(certificate)));
        }
        let holder = self.tls.borrow().is_none().then(|| self.tokens.holder(token))?;
        holder.filter(|holder| holder.has(Right::Operate)).map(Credential::Token)
    }

    /// Returns when a credential counts no more, and says why.
    pub async fn withdrawn(&self, credential: &Credential) -> &'static str {
        match credential {
            Credential::Token(holder) => {
                self.tokens.withdrawn(holder, Right::Operate).await;
                "the token is revoked, or has expired"
            }
            Credential::Certificate(serial) => {
                self.revoked(serial.as_ref()).await;
                "the certificate is revoked"
            }
        }
    }

    async fn revoked(&self, shown: Option<&Serial>) {
        let mut tls = self.tls.clone();
        if let Some(serial) = shown {
            let is_revoked = |tls: &Option<_>| {
                tls.as_ref().is_some_and(|tls: &ServerTls| tls.revoked.contains(serial))
            };
            if tls.wait_for(is_revoked).await.is_ok() {
                return;
            }
        }
        std::future::pending().await
    }
}

/// Counts and logs a handshake that failed, unless the other side has merely left: many probes only
/// connect.
pub(super) fn handshake_failed(guest: &Guest, error: &io::Error) {
    use io::ErrorKind::{BrokenPipe, ConnectionReset, UnexpectedEof};
    if !matches!(error.kind(), UnexpectedEof | ConnectionReset | BrokenPipe) {
        guest.refuse(Reason::Handshake, None, error);
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
