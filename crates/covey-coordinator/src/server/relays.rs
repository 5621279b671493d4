//! Connections of relays, each with the sessions of many agents.

use std::collections::BTreeMap;
use std::io;
use std::net::SocketAddr;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Weak};

use covey_door::{Guest, Reason};
use covey_proto::{
    Decoder, FromAgent, FromRelay, RELAY_VERSION, Refusal, RelayHello, ToAgent, ToRelay, encode,
};
use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::time::timeout;
use tokio_rustls::rustls::pki_types::CertificateDer;

use super::command::Command;
use super::joined_relays::Listed;
use super::joining::{Agents, tell};
use super::route::Route;
use super::trunk::{RelayedAgent, Trunk};
use crate::connections::{Outbox, Rest, garbage, refuse};
use crate::state::SessionId;
use covey_credentials::speaks_for;

/// The most sessions of a relay at a time.
const MAX_SESSIONS: usize = 1 << 16;

/// Bytes that are read at a time.
const READ: usize = 64 << 10;

/// The side of a connection that writes.
type Writer = Box<dyn tokio::io::AsyncWrite + Send + Unpin>;

/// The session of an agent behind a relay, until the relay says that the agent has left.
#[derive(Default)]
struct RelayedSession {
    /// What the agent has said and is no whole message yet.
    decoder: Decoder,
    stage: Stage,
}

/// How far a session has come.
#[derive(Default)]
enum Stage {
    /// The agent has not said hello.
    #[default]
    Begun,
    /// The agent has its session at the coordinator, and the way to it.
    Joined(SessionId, Weak<RelayedAgent>),
    /// The relay has been told that the session is over. What was under way is ignored.
    Over,
}

/// A relay that has joined.
struct Relay<'a> {
    agents: &'a Agents,
    guest: &'a Guest,
    trunk: Arc<Trunk>,
    /// The certificate of the relay, which says for which ports it may speak; with the token it may
    /// speak for all.
    shown: Option<CertificateDer<'static>>,
    listed: Listed,
    /// The sessions, by the numbers that the relay gives them.
    sessions: BTreeMap<u64, RelayedSession>,
}

/// Serves a connection whose first message is a relay's hello, until it ends.
pub(super) async fn serve(
    agents: &Agents,
    (guest, peer): (&Guest, SocketAddr),
    hello: &RelayHello,
    shown: Option<CertificateDer<'static>>,
    mut reader: impl AsyncRead + Unpin,
    writer: Writer,
    mut decoder: Decoder,
) -> io::Result<()> {
    let session = agents.next_session.fetch_add(1, Ordering::Relaxed);
    let (outbox, rest) = Outbox::new(session, writer);
    let trunk = Arc::new(Trunk::new(outbox));
    let credential = agents.admission.knows(&hello.token, shown.as_ref());
    let credential = credential.ok_or(Refusal::Credential).and_then(|credential| {
        if hello.version == RELAY_VERSION { Ok(credential) } else { Err(Refusal::Version) }
    });
    let credential = match credential {
        Ok(credential) => credential,
        Err(refusal) => {
            refuse(guest, refusal, None, "the relay");
            trunk.add(&ToRelay::Refused(refusal));
            trunk.flush();
            drop(trunk);
            return write_rest(rest, None).await;
        }
    };
    guest.authenticate();
    let (epoch, heartbeat_s) = (agents.epoch, agents.heartbeat_s);
    trunk.add(&ToRelay::Welcome { version: RELAY_VERSION, epoch, heartbeat_s });
    trunk.flush();
    tracing::info!(session, %peer, "a relay has joined");
    let listed = agents.relays.add(session, peer);
    let write = write_rest(rest, Some(trunk.clone()));
    let mut relay = Relay { agents, guest, trunk, shown, listed, sessions: BTreeMap::new() };
    let read = async {
        let mut buffer = vec![0; READ];
        loop {
            while let Some(message) = decoder.take().map_err(|error| garbage(guest, None, error))? {
                relay.heard(message).await?;
            }
            relay.trunk.flush();
            let count = timeout(agents.patience, reader.read(&mut buffer)).await??;
            if count == 0 {
                return Ok(());
            }
            relay.listed.heard();
            decoder.push(&buffer[..count]);
        }
    };
    let result = tokio::select! {
        result = read => result,
        result = write => result,
        why = agents.admission.withdrawn(&credential) => {
            guest.refuse(Reason::Credential, None, format_args!("the relay is cut off: {why}"));
            Ok(())
        }
    };
    tracing::info!(session, %peer, agents = relay.sessions.len(), "a relay has left");
    for (_, left) in std::mem::take(&mut relay.sessions) {
        relay.left(left).await?;
    }
    result
}

/// Writes what the socket did not take at once, and then what was added meanwhile.
async fn write_rest(mut rest: Rest, trunk: Option<Arc<Trunk>>) -> io::Result<()> {
    while let Some(is_wanted) = rest.write_next().await? {
        if let Some(trunk) = trunk.as_ref().filter(|_| is_wanted) {
            trunk.flush();
        }
    }
    Ok(())
}

impl Relay<'_> {
    async fn heard(&mut self, message: FromRelay) -> io::Result<()> {
        match message {
            FromRelay::Hello(_) => return Err(io::ErrorKind::InvalidData.into()),
            FromRelay::Said { session, bytes } => self.said(session, &bytes).await?,
            FromRelay::Left(numbers) => {
                for number in numbers {
                    if let Some(session) = self.sessions.remove(&number) {
                        self.left(session).await?;
                    }
                }
            }
            FromRelay::Delivered(numbers) => {
                for number in numbers {
                    let stage = self.sessions.get(&number).map(|session| &session.stage);
                    if let Some(Stage::Joined(session, agent)) = stage
                        && agent.upgrade().is_some_and(|agent| agent.delivered())
                    {
                        tell(self.agents, Command::Writable(*session)).await?;
                    }
                }
            }
            FromRelay::Alive => self.trunk.add(&ToRelay::Alive),
        }
        Ok(())
    }

    async fn said(&mut self, number: u64, bytes: &[u8]) -> io::Result<()> {
        if self.sessions.len() >= MAX_SESSIONS && !self.sessions.contains_key(&number) {
            let error = "a relay has too many sessions";
            return Err(io::Error::new(io::ErrorKind::InvalidData, error));
        }
        let session = self.sessions.entry(number).or_default();
        session.decoder.push(bytes);
        while !matches!(session.stage, Stage::Over) {
            let message = match session.decoder.take::<FromAgent>() {
                Ok(Some(message)) => message,
                Ok(None) => return Ok(()),
                Err(error) => {
                    let error = garbage(self.guest, None, error);
                    tracing::debug!(%error, "the session of an agent behind a relay ended");
                    match std::mem::replace(&mut session.stage, Stage::Over) {
                        // The relay is told when nobody has the way to the agent any more.
                        Stage::Joined(id, _) => {
                            self.listed.agent_left();
                            tell(self.agents, Command::Closed(id)).await?;
                        }
                        _ => self.trunk.add(&ToRelay::Close(number)),
                    }
                    break;
                }
            };
            if let Stage::Joined(id, _) = session.stage {
                tell(self.agents, Command::Heard(id, message)).await?;
                continue;
            }
            let mut port = None;
            let refusal = match &message {
                FromAgent::Hello(hello) => {
                    port = Some(hello.port);
                    let speaks = |it: &CertificateDer<'_>| speaks_for(it, hello.port);
                    let admits = self.shown.as_ref().is_none_or(speaks);
                    (!admits).then_some(Refusal::Credential)
                }
                _ => Some(Refusal::Order),
            };
            if let Some(refusal) = refusal {
                refuse(self.guest, refusal, port, "an agent behind this relay");
                session.stage = Stage::Over;
                let mut bytes = Vec::new();
                encode(&ToAgent::Refused(refusal), &mut bytes);
                self.trunk.add(&ToRelay::Say { session: number, bytes });
                self.trunk.add(&ToRelay::Close(number));
                break;
            }
            let id = self.agents.next_session.fetch_add(1, Ordering::Relaxed);
            let agent = Arc::new(RelayedAgent::new(number, self.trunk.clone()));
            session.stage = Stage::Joined(id, Arc::downgrade(&agent));
            self.listed.agent_joined();
            tell(self.agents, Command::Joined(id, Route::Relayed(agent), self.listed.peer()))
                .await?;
            tell(self.agents, Command::Heard(id, message)).await?;
        }
        session.decoder = Decoder::default();
        Ok(())
    }

    /// The connection of an agent has ended.
    async fn left(&self, session: RelayedSession) -> io::Result<()> {
        let Stage::Joined(session, agent) = session.stage else { return Ok(()) };
        self.listed.agent_left();
        if let Some(agent) = agent.upgrade() {
            agent.leave();
        }
        tell(self.agents, Command::Closed(session)).await
    }
}
