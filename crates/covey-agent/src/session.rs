//! The agent with its I/O: joins a coordinator, and joins again.

use std::io;
use std::net::SocketAddr;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::time::{Duration, Instant};

use covey_proto::{Decoder, FromAgent, Refusal, ToAgent, USES, encode};
use thiserror::Error;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::Notify;
use tokio::time::{MissedTickBehavior, interval, timeout};
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::ClientConfig;
use tokio_rustls::rustls::pki_types::ServerName;

use crate::agent::Agent;
use crate::enforcer::Enforcer;
use crate::processor::{Meter, Processors};

/// How an agent joins.
#[derive(Clone)]
pub struct Joining {
    /// Where the coordinator listens for agents.
    pub coordinator: SocketAddr,
    /// The port of the fabric that this host is.
    pub port: u32,
    /// The credential where there is no mutual TLS.
    pub token: Vec<u8>,
    /// Mutual TLS.
    pub tls: Option<Arc<ClientConfig>>,
    /// How often the enforcer is asked what has happened.
    pub ask_every: Duration,
    /// What is there for compressing.
    pub processors: Processors,
}

/// Why an agent gives up.
#[derive(Debug, Error)]
pub enum JoinError {
    /// The coordinator does not want it.
    #[error("{0}: the coordinator refuses this agent: {1}")]
    Refused(SocketAddr, &'static str),
}

/// How long a connection may take to come about.
const PATIENCE: Duration = Duration::from_secs(5);
/// The most time between two attempts to join; the real one is random, so that agents do not all come
/// at once when a coordinator is back.
const MOST_WAIT: Duration = Duration::from_millis(800);
const FIRST_WAIT: Duration = Duration::from_millis(50);

/// Why a session has ended.
enum Over {
    Refused(Refusal),
    Broken(io::Error),
}

impl From<io::Error> for Over {
    fn from(error: io::Error) -> Over {
        Over::Broken(error)
    }
}

/// What goes on on this host, whatever becomes of sessions.
struct Here<'a> {
    meter: Meter,
    woken: &'a Notify,
    started: Instant,
}

/// Carries out what the coordinator says, for ever. While it is away the last schedule stays in force.
///
/// # Errors
/// When the coordinator refuses this agent for good.
pub async fn run(joining: &Joining, enforcer: &mut dyn Enforcer) -> Result<(), JoinError> {
    run_woken(joining, enforcer, &Notify::new()).await
}

/// [`run`] with an enforcer that has a way to say at once that something has happened.
///
/// # Errors
/// Those of [`run`].
pub async fn run_woken(
    joining: &Joining,
    enforcer: &mut dyn Enforcer,
    woken: &Notify,
) -> Result<(), JoinError> {
    let mut agent = Agent::new(joining.port, joining.token.clone());
    if joining.processors != Processors::None {
        agent = agent.with_compressors(covey_codec::measure());
    }
    if enforcer.sees_uses() {
        agent = agent.with_watch();
    }
    let mut here = Here { meter: Meter::new(joining.processors), woken, started: Instant::now() };
    let mut failures = 0;
    loop {
        let over = session(joining, &mut agent, enforcer, &mut here).await;
        if agent.welcome().is_some() {
            failures = 0;
        }
        agent.disconnected();
        enforcer.joined(false);
        match over {
            Over::Refused(refusal) => {
                tracing::warn!(port = joining.port, coordinator = %joining.coordinator, ?refusal, "refused");
                if let Some(why) = for_good(refusal) {
                    return Err(JoinError::Refused(joining.coordinator, why));
                }
            }
            Over::Broken(error) => {
                tracing::warn!(port = joining.port, coordinator = %joining.coordinator, %error, "not connected");
            }
        }
        let most = MOST_WAIT.min(FIRST_WAIT * 2_u32.saturating_pow(failures));
        failures += 1;
        wait(most.mul_f64(random()), &mut agent, joining, enforcer, here.started).await;
    }
}

fn for_good(refusal: Refusal) -> Option<&'static str> {
    match refusal {
        Refusal::Version => Some("it speaks another version"),
        Refusal::Credential => Some("the credential is wrong"),
        Refusal::Port => Some("the fabric has no such port"),
        Refusal::Replaced => Some("another agent has joined for the same port"),
        Refusal::Order | Refusal::Full => None,
    }
}

/// From 0 to 1; whatever the system gives.
fn random() -> f64 {
    let mut bytes = [0; 4];
    match getrandom::fill(&mut bytes) {
        Ok(()) => f64::from(u32::from_le_bytes(bytes)) / f64::from(u32::MAX),
        Err(_) => 1.0,
    }
}

/// Waits, and keeps in mind what happens meanwhile.
async fn wait(
    time: Duration,
    agent: &mut Agent,
    joining: &Joining,
    enforcer: &mut dyn Enforcer,
    started: Instant,
) {
    let until = Instant::now() + time;
    while let Some(left) = until.checked_duration_since(Instant::now()) {
        tokio::time::sleep(left.min(joining.ask_every)).await;
        look(agent, joining, enforcer, started, &mut Vec::new());
    }
}

/// Finds out what has happened on the host.
fn look(
    agent: &mut Agent,
    joining: &Joining,
    enforcer: &mut dyn Enforcer,
    started: Instant,
    out: &mut Vec<FromAgent>,
) {
    if agent.happened(&enforcer.progress(), started.elapsed().as_secs_f64(), out) {
        enforce(agent, joining, enforcer);
    }
}

fn enforce(agent: &Agent, joining: &Joining, enforcer: &mut dyn Enforcer) {
    // The host may fail to do it; the agent goes on, for the next may succeed.
    if let Err(error) = enforcer.apply(agent.holds(), &agent.served()) {
        tracing::error!(port = joining.port, %error, "not enforced");
    }
}

async fn session(
    joining: &Joining,
    agent: &mut Agent,
    enforcer: &mut dyn Enforcer,
    here: &mut Here<'_>,
) -> Over {
    let connecting = timeout(PATIENCE, TcpStream::connect(joining.coordinator)).await;
    let stream = match connecting.map_err(io::Error::from).flatten() {
        Ok(stream) => stream,
        Err(error) => return Over::Broken(error),
    };
    if let Err(error) = stream.set_nodelay(true) {
        return Over::Broken(error);
    }
    let socket = match stream.as_fd().try_clone_to_owned() {
        Ok(socket) => socket,
        Err(error) => return Over::Broken(error),
    };
    let result = match &joining.tls {
        None => talk(stream, &socket, agent, joining, enforcer, here).await,
        Some(tls) => {
            let name = ServerName::IpAddress(joining.coordinator.ip().into());
            let connecting = TlsConnector::from(tls.clone()).connect(name, stream);
            match timeout(PATIENCE, connecting).await.map_err(io::Error::from).flatten() {
                Ok(stream) => talk(stream, &socket, agent, joining, enforcer, here).await,
                Err(error) => Err(Over::Broken(error)),
            }
        }
    };
    match result {
        Ok(()) => Over::Broken(io::ErrorKind::UnexpectedEof.into()),
        Err(over) => over,
    }
}

/// After how many heartbeats without a sign that they arrive a connection is taken for dead: who has
/// gone without a word, as with a host, says nothing more.
const HEARTBEATS: f64 = 5.0;

/// Has the system end a connection if nothing that is said arrives.
fn give_up_when_unheard(socket: &OwnedFd, heartbeat_s: f64) {
    let ms = (1e3 * HEARTBEATS * heartbeat_s).clamp(1e3, 60e3) as u32;
    if let Err(error) = rustix::net::sockopt::set_tcp_user_timeout(socket, ms) {
        tracing::warn!(%error, "a dead connection will be noticed late");
    }
}

async fn talk(
    stream: impl AsyncRead + AsyncWrite,
    socket: &OwnedFd,
    agent: &mut Agent,
    joining: &Joining,
    enforcer: &mut dyn Enforcer,
    here: &mut Here<'_>,
) -> Result<(), Over> {
    let (mut reader, mut writer) = tokio::io::split(stream);
    let mut decoder = Decoder::default();
    let mut buffer = vec![0; 16 << 10];
    let mut ticks = interval(joining.ask_every);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let (mut said, mut heard) = (Instant::now(), Instant::now());
    let mut out = vec![agent.hello()];
    loop {
        if !out.is_empty() {
            let mut bytes = Vec::new();
            out.drain(..).for_each(|message| encode(&message, &mut bytes));
            timeout(PATIENCE, writer.write_all(&bytes)).await.map_err(io::Error::from)??;
            said = Instant::now();
        }
        tokio::select! {
            count = reader.read(&mut buffer) => {
                let count = count?;
                if count == 0 {
                    return Ok(());
                }
                heard = Instant::now();
                decoder.push(&buffer[..count]);
                let garbage = |error| io::Error::new(io::ErrorKind::InvalidData, error);
                let (dropped, welcomed) = (agent.dropped(), agent.welcome().is_some());
                while let Some(message) = decoder.take::<ToAgent>().map_err(garbage)? {
                    match &message {
                        ToAgent::Acknowledged(keys) => enforcer.settled(keys),
                        ToAgent::Welcome(welcome) => {
                            enforcer.may_compress(welcome.codec);
                            enforcer.joined(true);
                        }
                        _ => {}
                    }
                    if agent.heard(message, &mut out).map_err(Over::Refused)? {
                        enforce(agent, joining, enforcer);
                    }
                }
                if let Some(welcome) = agent.welcome().filter(|_| !welcomed) {
                    tracing::info!(port = joining.port, coordinator = %joining.coordinator, "joined");
                    give_up_when_unheard(socket, welcome.heartbeat_s);
                }
                if agent.dropped() > dropped {
                    let (epoch, version) = agent.holds();
                    let dropped = agent.dropped();
                    let port = joining.port;
                    tracing::warn!(port, epoch, version, dropped, "dropped an older schedule");
                }
            }
            () = here.woken.notified() => look(agent, joining, enforcer, here.started, &mut out),
            _ = ticks.tick() => {
                look(agent, joining, enforcer, here.started, &mut out);
                if here.meter.is_due()
                    && let Some(share) = here.meter.look(agent.take_compressed_s())
                {
                    agent.idle(share, &mut out);
                }
                let heartbeat_s = agent.welcome().map_or(f64::INFINITY, |w| w.heartbeat_s);
                // Who does not say that it is there may be well and have nothing to say.
                let says_so = agent.welcome().is_none_or(|welcome| welcome.version >= USES);
                let patience_s = agent.welcome().map_or(PATIENCE.as_secs_f64(), |_| HEARTBEATS * heartbeat_s);
                if says_so && heard.elapsed().as_secs_f64() > patience_s {
                    return Err(Over::Broken(io::ErrorKind::TimedOut.into()));
                }
                if out.is_empty() && said.elapsed().as_secs_f64() >= heartbeat_s {
                    out.push(FromAgent::Alive);
                }
            }
        }
    }
}
