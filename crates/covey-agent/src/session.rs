//! The agent with its I/O: joins a coordinator, and joins again when the connection is lost.

use std::io;
use std::net::IpAddr;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::time::{Duration, Instant};

use covey_api::{AgentTls, Endpoint};
use covey_proto::{
    Decoder, FromAgent, OPENINGS, Refusal, START_SMALL, TOKENS, ToAgent, USES, encode,
};
use thiserror::Error;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::sync::Notify;
use tokio::time::{MissedTickBehavior, interval, timeout};
use tokio_rustls::TlsConnector;

use crate::agent::Agent;
use crate::enforcer::{CoordinatorEvent, Enforcer};
use crate::links::LinkMeter;
use crate::processor::{Meter, Processors};

/// How an agent joins.
#[derive(Clone)]
pub struct Joining {
    /// Where the coordinator listens for agents.
    pub coordinator: Endpoint,
    /// The port of the fabric that this host is.
    pub port: u32,
    /// The credential where there is no mutual TLS.
    pub token: Vec<u8>,
    /// Mutual TLS, if it is used.
    pub tls: Option<Arc<AgentTls>>,
    /// How often the enforcer is asked for progress.
    pub ask_every: Duration,
    /// How much of a processor the host offers for compressing.
    pub processors: Processors,
    /// The addresses of the host, by which a coordinator that finds coflows by itself knows where
    /// flows go.
    pub addresses: Vec<IpAddr>,
    /// The network devices that are the host's links, by name. Without any, nothing is said of what
    /// links carry.
    pub devices: Vec<String>,
}

/// Why an agent gives up.
#[derive(Debug, Error)]
pub enum JoinError {
    /// The coordinator refuses the agent for good.
    #[error("{0}: the coordinator refuses this agent: {1}")]
    Refused(Endpoint, &'static str),
}

/// Maximum time that a connection may take to be made.
const PATIENCE: Duration = Duration::from_secs(5);
/// Maximum time between two attempts to join. The actual time is random, so that agents do not all
/// join at once when a coordinator is back.
const MAX_WAIT: Duration = Duration::from_millis(800);
/// The same at first. Later it is half the time for which the coordinator has been away: after a
/// short absence all agents are back soon.
const FIRST_WAIT: Duration = Duration::from_millis(50);

/// Why a session has ended.
enum SessionEnd {
    Refused(Refusal),
    Broken(io::Error),
}

impl From<io::Error> for SessionEnd {
    fn from(error: io::Error) -> SessionEnd {
        SessionEnd::Broken(error)
    }
}

/// What an agent keeps from one session to the next.
struct Host<'a> {
    meter: Meter,
    links: LinkMeter,
    woken: &'a Notify,
    started: Instant,
}

/// Carries out the coordinator's schedules for ever. While the coordinator is away, the last
/// schedule stays in force.
///
/// # Errors
/// When the coordinator refuses this agent for good.
pub async fn run(joining: &Joining, enforcer: &mut dyn Enforcer) -> Result<(), JoinError> {
    run_woken(joining, enforcer, &Notify::new()).await
}

/// [`run`] with an enforcer that notifies `woken` when there is progress to report at once.
///
/// # Errors
/// Those of [`run`].
pub async fn run_woken(
    joining: &Joining,
    enforcer: &mut dyn Enforcer,
    woken: &Notify,
) -> Result<(), JoinError> {
    let agent = Agent::new(joining.port, joining.token.clone());
    let mut agent = agent.with_addresses(joining.addresses.clone());
    if joining.processors != Processors::None {
        agent = agent.with_compressors(covey_codec::measure());
    }
    if enforcer.sees_uses() {
        agent = agent.with_watch();
    }
    let mut host = Host {
        meter: Meter::new(joining.processors),
        links: LinkMeter::new(joining.devices.clone()),
        woken,
        started: Instant::now(),
    };
    let mut away_since = None;
    loop {
        let over = session(joining, &mut agent, enforcer, &mut host).await;
        if agent.welcome().is_some() {
            away_since = None;
        }
        let since = *away_since.get_or_insert_with(Instant::now);
        agent.disconnected();
        enforcer.heard(CoordinatorEvent::Left);
        if agent.has_unnamed() {
            // Nobody holds these while the coordinator is away.
            enforce(&agent, joining, enforcer);
        }
        match over {
            SessionEnd::Refused(refusal) => {
                tracing::warn!(port = joining.port, coordinator = %joining.coordinator, ?refusal, "the coordinator refuses this agent");
                if let Some(why) = for_good(refusal) {
                    return Err(JoinError::Refused(joining.coordinator.clone(), why));
                }
            }
            SessionEnd::Broken(error) => {
                tracing::warn!(port = joining.port, coordinator = %joining.coordinator, %error, "not connected to the coordinator");
            }
        }
        let max = (since.elapsed() / 2).clamp(FIRST_WAIT, MAX_WAIT);
        wait(max.mul_f64(random()), &mut agent, joining, enforcer, host.started).await;
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

/// A random number from 0 to 1; 1 where the system has none.
fn random() -> f64 {
    let mut bytes = [0; 4];
    match getrandom::fill(&mut bytes) {
        Ok(()) => f64::from(u32::from_le_bytes(bytes)) / f64::from(u32::MAX),
        Err(_) => 1.0,
    }
}

/// Waits for `time`, and accounts for what flows do meanwhile.
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
        take_progress(agent, joining, enforcer, started, &mut Vec::new());
    }
}

/// Takes the progress of the host's flows.
fn take_progress(
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
    // The host may fail to carry one schedule out and succeed with the next.
    if let Err(error) = enforcer.apply(agent.holds(), &agent.served()) {
        tracing::error!(port = joining.port, %error, "the schedule is not enforced");
    }
    let (epoch, version) = agent.holds();
    tracing::debug!(port = joining.port, epoch, version, "a schedule is in force");
}

async fn session(
    joining: &Joining,
    agent: &mut Agent,
    enforcer: &mut dyn Enforcer,
    host: &mut Host<'_>,
) -> SessionEnd {
    let connecting = timeout(PATIENCE, joining.coordinator.connect()).await;
    let stream = match connecting.map_err(io::Error::from).flatten() {
        Ok(stream) => stream,
        Err(error) => return SessionEnd::Broken(error),
    };
    if let Err(error) = stream.set_nodelay(true) {
        return SessionEnd::Broken(error);
    }
    let socket = match stream.as_fd().try_clone_to_owned() {
        Ok(socket) => socket,
        Err(error) => return SessionEnd::Broken(error),
    };
    let result = match &joining.tls {
        None => talk(stream, &socket, agent, joining, enforcer, host).await,
        Some(tls) => {
            let name = joining.coordinator.server_name();
            let config = tls.next(|error| {
                tracing::warn!(port = joining.port, %error, "certificates are not read again, what was read before stays in force");
            });
            let connecting = TlsConnector::from(config).connect(name, stream);
            match timeout(PATIENCE, connecting).await.map_err(io::Error::from).flatten() {
                Ok(stream) => talk(stream, &socket, agent, joining, enforcer, host).await,
                Err(error) => Err(SessionEnd::Broken(error)),
            }
        }
    };
    match result {
        Ok(()) => SessionEnd::Broken(io::ErrorKind::UnexpectedEof.into()),
        Err(over) => over,
    }
}

/// Number of heartbeats without an answer after which a connection counts as dead. A host that
/// fails does not close its connections.
const HEARTBEATS: f64 = 5.0;

/// Has the kernel end a connection whose data is not acknowledged.
fn end_when_unacknowledged(socket: &OwnedFd, heartbeat_s: f64) {
    let ms = (1e3 * HEARTBEATS * heartbeat_s).clamp(1e3, 60e3) as u32;
    if let Err(error) = rustix::net::sockopt::set_tcp_user_timeout(socket, ms) {
        tracing::warn!(%error, "the kernel's limit for dead connections is not set: one is noticed late");
    }
}

async fn talk(
    stream: impl AsyncRead + AsyncWrite,
    socket: &OwnedFd,
    agent: &mut Agent,
    joining: &Joining,
    enforcer: &mut dyn Enforcer,
    host: &mut Host<'_>,
) -> Result<(), SessionEnd> {
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
            let written = async {
                writer.write_all(&bytes).await?;
                // TLS may hold the end of it.
                writer.flush().await
            };
            timeout(PATIENCE, written).await.map_err(io::Error::from)??;
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
                let mut is_changed = false;
                while let Some(message) = decoder.take::<ToAgent>().map_err(garbage)? {
                    match &message {
                        ToAgent::Acknowledged(keys) => {
                            let keys = agent.names_here(keys);
                            enforcer.heard(CoordinatorEvent::Acknowledged(&keys));
                        }
                        ToAgent::Welcome(welcome) => {
                            let openings = welcome.version >= OPENINGS;
                            let codec = welcome.codec;
                            enforcer.heard(CoordinatorEvent::Joined { codec, openings });
                            if welcome.version < START_SMALL {
                                enforcer.heard(CoordinatorEvent::StartSmall(0));
                            }
                            if welcome.version < TOKENS {
                                enforcer.heard(CoordinatorEvent::Keys(None));
                            }
                        }
                        ToAgent::StartSmall(bytes) => {
                            enforcer.heard(CoordinatorEvent::StartSmall(*bytes));
                        }
                        ToAgent::Keys(keys) => enforcer.heard(CoordinatorEvent::Keys(Some(keys))),
                        ToAgent::Tokens(answers) => {
                            enforcer.heard(CoordinatorEvent::Answered(answers));
                        }
                        ToAgent::Openings(answers) => {
                            enforcer.heard(CoordinatorEvent::Openings(answers));
                        }
                        _ => {}
                    }
                    is_changed |= agent.heard(message, &mut out).map_err(SessionEnd::Refused)?;
                }
                if is_changed {
                    enforce(agent, joining, enforcer);
                }
                if let Some(welcome) = agent.welcome().filter(|_| !welcomed) {
                    tracing::info!(port = joining.port, coordinator = %joining.coordinator, "joined");
                    end_when_unacknowledged(socket, welcome.heartbeat_s);
                }
                if agent.dropped() > dropped {
                    let (epoch, version) = agent.holds();
                    let dropped = agent.dropped();
                    let port = joining.port;
                    tracing::warn!(port, epoch, version, dropped, "dropped an older schedule");
                }
            }
            () = host.woken.notified() => take_progress(agent, joining, enforcer, host.started, &mut out),
            _ = ticks.tick() => {
                take_progress(agent, joining, enforcer, host.started, &mut out);
                if host.meter.is_due()
                    && let Some(share) = host.meter.measure(agent.take_compressed_s())
                {
                    agent.idle(share, &mut out);
                }
                if agent.tells_of_links() {
                    out.extend(host.links.measure().map(FromAgent::Links));
                }
                let heartbeat_s = agent.welcome().map_or(f64::INFINITY, |w| w.heartbeat_s);
                // A coordinator of an older version sends no heartbeats: its silence means nothing.
                let has_heartbeat = agent.welcome().is_none_or(|welcome| welcome.version >= USES);
                let patience_s = agent.welcome().map_or(PATIENCE.as_secs_f64(), |_| HEARTBEATS * heartbeat_s);
                if has_heartbeat && heard.elapsed().as_secs_f64() > patience_s {
                    return Err(SessionEnd::Broken(io::ErrorKind::TimedOut.into()));
                }
                if out.is_empty() && said.elapsed().as_secs_f64() >= heartbeat_s {
                    out.push(FromAgent::Alive);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{BufStream, duplex};

    use super::*;
    use crate::enforcers::Nothing;

    /// TLS keeps what the socket has not taken, until it is flushed.
    #[tokio::test]
    async fn what_is_said_leaves_the_buffers_of_the_connection() {
        let (near, mut far) = duplex(1 << 10);
        let joining = Joining {
            coordinator: Endpoint::from(std::net::SocketAddr::from(([127, 0, 0, 1], 1))),
            port: 3,
            token: Vec::new(),
            tls: None,
            ask_every: Duration::from_millis(5),
            processors: Processors::None,
            addresses: Vec::new(),
            devices: Vec::new(),
        };
        let (mut agent, woken) = (Agent::new(3, Vec::new()), Notify::new());
        let meter = Meter::new(joining.processors);
        let links = LinkMeter::new(Vec::new());
        let mut host = Host { meter, links, woken: &woken, started: Instant::now() };
        let file = OwnedFd::from(std::fs::File::open("/dev/null").expect("a file"));
        let mut enforcer = Nothing;
        let talking =
            talk(BufStream::new(near), &file, &mut agent, &joining, &mut enforcer, &mut host);
        let mut length = [0; 4];
        tokio::select! {
            _ = talking => panic!("nothing ends it"),
            read = timeout(Duration::from_secs(2), far.read_exact(&mut length)) => {
                read.expect("it comes at once").expect("a hello");
            }
        }
    }
}
