//! Simulated hosts: real agents with real connections, whose flows send no bytes.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use covey_agent::{Agent, Progress};
use covey_proto::{Decoder, Ended, FlowName, FromAgent, Sent, ToAgent, encode};
use covey_trace::Coflow;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::sleep_until;
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::pki_types::ServerName;

use crate::coordinator::Coordinator;
use crate::entry::AgentEntry;
use crate::error::LoadError;
use crate::metrics::Metrics;

/// The sizes of flows: their coflows, by the ids that the coordinator gives them.
pub type Sizes = Arc<Vec<Coflow>>;

type Failure = Box<dyn std::error::Error + Send + Sync>;

/// Maximum time until all agents have joined: this, and for each of them a part of it.
const JOINING: Duration = Duration::from_secs(60);
const JOINING_EACH: Duration = Duration::from_millis(5);

/// What all hosts share.
struct Common {
    entry: AgentEntry,
    sizes: Sizes,
    confirms: bool,
    begin: Instant,
    /// Whether all hosts have joined. A host that loses its connection after that counts as lost.
    joined: AtomicBool,
    lost: AtomicU64,
    last_failure: Mutex<String>,
}

/// Hosts that have joined.
pub struct Hosts(Arc<Common>);

impl Hosts {
    /// Starts a host for each of `ports` ports, and waits until all have joined. Unless `confirms`,
    /// hosts do not confirm that they have applied a schedule, except for the first, which is
    /// empty.
    ///
    /// # Errors
    /// When hosts do not join.
    pub async fn start(
        coordinator: &Coordinator,
        ports: u32,
        sizes: Sizes,
        confirms: bool,
    ) -> Result<Hosts, LoadError> {
        let hosts = Hosts::begin(coordinator.entry()?, 0..ports, sizes, confirms).await;
        all_joined(coordinator, ports, || hosts.last_failure()).await?;
        hosts.have_joined();
        Ok(hosts)
    }

    /// Starts a host for each of these ports, and waits for none.
    pub async fn begin(
        entry: AgentEntry,
        ports: Range<u32>,
        sizes: Sizes,
        confirms: bool,
    ) -> Hosts {
        let common = Arc::new(Common {
            entry,
            sizes,
            confirms,
            begin: Instant::now(),
            joined: AtomicBool::new(false),
            lost: AtomicU64::new(0),
            last_failure: Mutex::default(),
        });
        for port in ports {
            tokio::spawn(common.clone().host(port));
            if port % 100 == 99 {
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        }
        Hosts(common)
    }

    /// All hosts have joined: a host that loses its connection from now on counts as lost.
    pub fn have_joined(&self) {
        self.0.joined.store(true, Ordering::Relaxed);
    }

    /// Number of hosts that have lost their connection since.
    pub fn lost(&self) -> u64 {
        self.0.lost.load(Ordering::Relaxed)
    }

    /// Why the last connection was lost; empty if none was.
    pub fn last_failure(&self) -> String {
        self.0.last_failure.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// Waits until so many agents have joined.
///
/// # Errors
/// When they do not join; `why` tells the reason.
pub async fn all_joined(
    coordinator: &Coordinator,
    ports: u32,
    why: impl Fn() -> String,
) -> Result<(), LoadError> {
    let (begin, max) = (Instant::now(), JOINING + JOINING_EACH * ports);
    let mut client = coordinator.client().await?;
    loop {
        let joined = Metrics::of(&mut client).await?.get("covey_agents");
        if joined >= f64::from(ports) {
            return Ok(());
        }
        if begin.elapsed() > max {
            return Err(LoadError::Joining { joined, ports, seconds: max.as_secs(), why: why() });
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

impl Common {
    /// Runs a host until its connection is lost. While hosts join it tries again: all connect at
    /// once, and the queue of new connections has no room for all.
    async fn host(self: Arc<Common>, port: u32) {
        while let Err(error) = self.session(port).await {
            *self.last_failure.lock().unwrap_or_else(PoisonError::into_inner) = error.to_string();
            if self.joined.load(Ordering::Relaxed) {
                self.lost.fetch_add(1, Ordering::Relaxed);
                return;
            }
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
    }

    async fn session(&self, port: u32) -> Result<(), Failure> {
        let stream = TcpStream::connect(self.entry.address).await?;
        stream.set_nodelay(true)?;
        match &self.entry.tls {
            None => self.talk(stream, port).await,
            Some(tls) => {
                let name = ServerName::IpAddress(self.entry.address.ip().into());
                let stream = TlsConnector::from(tls.clone()).connect(name, stream).await?;
                self.talk(stream, port).await
            }
        }
    }

    async fn talk(
        &self,
        stream: impl AsyncRead + AsyncWrite + Unpin,
        port: u32,
    ) -> Result<(), Failure> {
        let (mut reader, mut writer) = tokio::io::split(stream);
        let mut agent = Agent::new(port, self.entry.token.clone());
        let mut decoder = Decoder::default();
        let mut buffer = [0; 4096];
        let mut fluid = Fluid::new(self.sizes.clone());
        let mut next = Instant::now();
        let mut out = vec![agent.hello()];
        loop {
            if !out.is_empty() {
                let mut bytes = Vec::new();
                out.drain(..).for_each(|message| encode(&message, &mut bytes));
                writer.write_all(&bytes).await?;
                writer.flush().await?;
            }
            let due = tokio::select! {
                count = reader.read(&mut buffer) => {
                    let count = count?;
                    if count == 0 {
                        return Err("the coordinator has closed the connection".into());
                    }
                    decoder.push(&buffer[..count]);
                    false
                }
                () = sleep_until(next.into()) => true,
            };
            let now = Instant::now();
            let progress = fluid.flow_on(now);
            agent.happened(&progress, self.begin.elapsed().as_secs_f64(), &mut out);
            let mut changed = false;
            while let Some(message) = decoder.take::<ToAgent>()? {
                let heard = agent.heard(message, &mut out);
                changed |= heard.map_err(|refusal| format!("refused: {refusal:?}"))?;
            }
            if changed {
                fluid.follow(&agent);
            }
            if !self.confirms {
                out.retain(|message| !matches!(message, FromAgent::Applied { version: 2.., .. }));
            }
            if due && out.is_empty() {
                out.push(FromAgent::Alive);
            }
            let welcome = agent.welcome();
            let mut wait_s = fluid.next_end_s().min(welcome.map_or(1.0, |w| w.heartbeat_s));
            let report_s = welcome.map_or(0.0, |w| w.report_every_s);
            if report_s > 0.0 && !fluid.rates.is_empty() {
                wait_s = wait_s.min(report_s);
            }
            next = now + Duration::from_secs_f64(wait_s.max(0.0));
        }
    }
}

/// Flows that keep to their rates without sending bytes.
struct Fluid {
    sizes: Sizes,
    /// The time that `sent` is of.
    at: Instant,
    /// Rates of served flows in bytes per second, and bytes sent by flows that have not ended.
    rates: BTreeMap<FlowName, f64>,
    sent: BTreeMap<FlowName, f64>,
}

impl Fluid {
    fn new(sizes: Sizes) -> Fluid {
        Fluid { sizes, at: Instant::now(), rates: BTreeMap::new(), sent: BTreeMap::new() }
    }

    /// Advances to `now`. Returns what has happened.
    fn flow_on(&mut self, now: Instant) -> Progress {
        let dt = (now - std::mem::replace(&mut self.at, now)).as_secs_f64();
        let mut progress = Progress::default();
        let Fluid { sizes, rates, sent, .. } = self;
        for (&key, &rate) in rates.iter() {
            let size = size(sizes, key);
            let sent = sent.entry(key).or_default();
            *sent += rate * dt;
            // Timers are late, never early: a missing rest is rounding.
            if *sent >= size * (1.0 - 1e-9) {
                progress.ended.push(Ended { key, bytes: size, wire: size });
            } else {
                progress.sent.push(Sent { key, bytes: *sent, wire: *sent });
            }
        }
        for ended in &progress.ended {
            self.rates.remove(&ended.key);
            self.sent.remove(&ended.key);
        }
        progress
    }

    /// Sets the rates to those of the agent's schedule.
    fn follow(&mut self, agent: &Agent) {
        self.rates = agent.flows().iter().map(|(&name, service)| (name, service.rate)).collect();
    }

    /// Seconds until the next flow ends.
    fn next_end_s(&self) -> f64 {
        let left = |key| size(&self.sizes, key) - self.sent.get(&key).copied().unwrap_or(0.0);
        let ends = self.rates.iter().filter(|(_, rate)| **rate > 0.0);
        ends.map(|(&key, &rate)| left(key) / rate).fold(f64::INFINITY, f64::min)
    }
}

/// Bytes of a flow; infinite if the flow is unknown.
fn size(sizes: &[Coflow], name: FlowName) -> f64 {
    let flow =
        name.key().and_then(|key| sizes.get(key.coflow as usize)?.flows.get(key.flow as usize));
    flow.map_or(f64::INFINITY, |flow| flow.bytes)
}
