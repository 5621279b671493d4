//! Connections of agents.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use covey_proto::{Decoder, FromAgent, Refusal, ToAgent, encode};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::mpsc;
use tokio::time::timeout;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::pki_types::CertificateDer;

use super::accept::Stop;
use super::authority::{same_secret, speaks_for};
use super::command::Command;
use super::metrics::count;
use super::outbox::Outbox;
use super::push::write_rest;
use super::shared::Shared;

/// How long a connection may take to say hello.
const PATIENCE: Duration = Duration::from_secs(10);

/// Bytes that are read at a time. Each connection has a buffer of this size; agents say little.
const READ: usize = 1024;

/// What all connections share.
pub(super) struct Agents {
    pub commands: mpsc::Sender<Command>,
    pub shared: Arc<Shared>,
    /// Mutual TLS; without it agents show the token.
    pub tls: Option<TlsAcceptor>,
    pub token: Vec<u8>,
    pub next_session: AtomicU64,
}

/// Serves one connection until it ends, or the server stops.
pub(super) async fn run(agents: Arc<Agents>, stream: TcpStream, peer: SocketAddr, mut stop: Stop) {
    let served = tokio::select! {
        served = serve(&agents, stream) => served,
        () = stop.asked() => Ok(()),
    };
    if let Err(error) = served {
        tracing::debug!(%peer, %error, "connection of an agent ended");
    }
}

async fn serve(agents: &Agents, stream: TcpStream) -> io::Result<()> {
    stream.set_nodelay(true)?;
    match &agents.tls {
        None => talk(agents, stream, None).await,
        Some(tls) => match timeout(PATIENCE, tls.accept(stream)).await? {
            Ok(stream) => {
                let shown = stream.get_ref().1.peer_certificates().and_then(|all| all.first());
                let shown = shown.map(|certificate| certificate.clone().into_owned());
                talk(agents, stream, shown).await
            }
            Err(error) => {
                count(&agents.shared.refused.credentials);
                tracing::warn!(%error, "an agent was refused for its certificate");
                Err(error)
            }
        },
    }
}

async fn talk(
    agents: &Agents,
    stream: impl AsyncRead + AsyncWrite + Send + 'static,
    shown: Option<CertificateDer<'static>>,
) -> io::Result<()> {
    let (mut reader, mut writer) = tokio::io::split(stream);
    let mut decoder = Decoder::default();
    let first = timeout(PATIENCE, next(agents, &mut reader, &mut decoder)).await??;
    let refusal = match &first {
        Some(FromAgent::Hello(hello)) => {
            let known = match &shown {
                Some(certificate) => speaks_for(certificate, hello.port),
                None => agents.tls.is_none() && same_secret(&hello.token, &agents.token),
            };
            (!known).then_some(Refusal::Credential)
        }
        Some(_) => Some(Refusal::Order),
        None => return Ok(()),
    };
    drop(shown);
    let (Some(hello), None) = (first, refusal) else {
        count(&agents.shared.refused.credentials);
        tracing::warn!(?refusal, "an agent was refused");
        let mut bytes = Vec::new();
        encode(&ToAgent::Refused(refusal.unwrap_or(Refusal::Order)), &mut bytes);
        writer.write_all(&bytes).await?;
        return writer.shutdown().await;
    };
    let session = agents.next_session.fetch_add(1, Ordering::Relaxed);
    let (outbox, rest) = Outbox::new(session, Box::new(writer));
    tell(agents, Command::Joined(session, outbox)).await?;
    tell(agents, Command::Heard(session, hello)).await?;
    let read = async {
        while let Some(message) = next(agents, &mut reader, &mut decoder).await? {
            tell(agents, Command::Heard(session, message)).await?;
        }
        Ok(())
    };
    let write = write_rest(rest, &agents.commands);
    let result = tokio::select! {
        result = read => result,
        result = write => result,
    };
    tell(agents, Command::Closed(session)).await?;
    result
}

async fn tell(agents: &Agents, command: Command) -> io::Result<()> {
    agents.commands.send(command).await.map_err(|_| io::ErrorKind::BrokenPipe.into())
}

/// The next message; `None` when the agent has left.
async fn next(
    agents: &Agents,
    reader: &mut (impl AsyncRead + Unpin),
    decoder: &mut Decoder,
) -> io::Result<Option<FromAgent>> {
    let mut buffer = [0; READ];
    loop {
        match decoder.take() {
            Ok(Some(message)) => return Ok(Some(message)),
            Ok(None) => {}
            Err(error) => {
                count(&agents.shared.refused.garbage);
                return Err(io::Error::new(io::ErrorKind::InvalidData, error));
            }
        }
        let count = reader.read(&mut buffer).await?;
        if count == 0 {
            return Ok(None);
        }
        decoder.push(&buffer[..count]);
    }
}
