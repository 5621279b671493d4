//! A coordinator that listens: its threads and its two ports.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use covey_api::hmac_sha256;
use covey_core::{Fabric, Time};
use covey_door::Door;
use covey_proto::Key;
use tokio::net::TcpListener;
use tokio::sync::{Semaphore, broadcast, mpsc, oneshot, watch};

use super::admit::{Bodies, Gate};
use super::audit::Audit;
use super::change::Control;
use super::command::{Command, WAITING};
use super::config::{ServeError, ServerConfig};
use super::decide::{Decider, State};
use super::joining::Agents;
use super::metrics::{Doors, Measured, Snapshot};
use super::rate::{Rate, Rates};
use super::runnable::Runnable;
use super::shared::{About, PAST, Shared, Turn};
use super::{agents, push, record, rest, write};
use crate::connections::{Admission, Http, PROBES, Stop, accept, bind};
use crate::journal::Journal;
use crate::record::Record;
use crate::state::CoordinatorState;
use covey_credentials::FlowSecret;
use covey_credentials::Watched;
use covey_credentials::{Authority, Listener, LiveTls};
use covey_credentials::{TokenFile, TokenLimits, Tokens};

/// A coordinator that listens.
pub struct Server {
    clients: TcpListener,
    agents: TcpListener,
    health: Option<TcpListener>,
    decider: std::thread::JoinHandle<()>,
    journal: std::thread::JoinHandle<()>,
    push: std::thread::JoinHandle<()>,
    auditor: Option<std::thread::JoinHandle<()>>,
    commands: mpsc::Sender<Command>,
    shared: Arc<Shared>,
    config: ServerConfig,
    tokens: Arc<Tokens>,
    /// What is read again when it changes.
    watched: Watched,
    flow_secret: watch::Receiver<Key>,
    epoch: u64,
}

/// Large bodies of requests that are read at a time.
const LARGE_BODIES: usize = 1;

/// Pages of lists that are made at a time.
const PAGES: usize = 1;

impl Server {
    /// Reads the journal and begins to listen. To be called in a runtime.
    ///
    /// # Errors
    /// When it cannot start.
    pub async fn start(config: ServerConfig) -> Result<Server, ServeError> {
        let io = |what: &str| {
            let what = what.to_owned();
            move |source| ServeError::Io { what, source }
        };
        let policy = Runnable::named(&config.policy, &config.tenants)?;
        let fabric = Fabric::big_switch(config.ports, config.port_rate)?;
        let authority = Authority::of(&config.folder);
        let tls = LiveTls::start(authority.credentials(), Listener::Coordinator)?;
        for address in [config.clients, config.agents].into_iter().chain(config.health) {
            if !tls.is_used() && !address.ip().is_loopback() {
                return Err(ServeError::Public(address));
            }
        }
        if TokenFile::read(&config.folder)?.entries().is_empty() {
            authority.token()?;
        }
        let tokens = Tokens::start(&config.folder)?;
        let flow_secret = FlowSecret::start(&config.folder)?;
        let watched = Watched::of(vec![tls.clone(), tokens.clone(), flow_secret.clone()]);
        let (mut journal, found) = Journal::open(&config.folder)?;
        if found.torn > 0 {
            let (bytes, kept) = (found.torn, found.is_torn_kept);
            tracing::warn!(bytes, kept, "the journal's end was not whole and is cut off");
        }
        // A journal may be much larger than the state that it leads to, and is never in memory as a
        // whole.
        let mut last = (0, Time::ZERO);
        for record in journal.records()? {
            let record = record?;
            check_ports(&record, config.ports)?;
            see(&record, &mut last);
        }
        found.given.iter().for_each(|record| see(record, &mut last));
        let (epoch, base) = (last.0 + 1, last.1);
        let epoch_record = Record::Epoch(epoch);
        // Without room for it the coordinator answers what it knows, and goes on when there is
        // room.
        let unwritten = journal.append([&epoch_record]).err().map(|error| {
            tracing::error!(%error, "the journal cannot be written: nothing is scheduled until it can");
            epoch_record
        });
        let (is_fenced, _) = watch::channel(unwritten.is_none());
        let journal_bytes = journal.length();
        let mut failed = None;
        let records = journal.records()?.map_while(|record| {
            let record = record.map_err(|error| failed = Some(error));
            record.ok()
        });
        let records = records.chain(found.given);
        let started = policy.start(fabric, config.core, |fabric, policy, settings| {
            CoordinatorState::new(fabric, policy, settings, epoch, records, base)
        });
        if let Some(error) = failed {
            return Err(error.into());
        }
        let mut coordinator = started?;
        let mut flow_secret = flow_secret.follow();
        coordinator.set_limits(tokens.limits().borrow().clone());
        coordinator.set_flow_secret(*flow_secret.borrow_and_update(), hmac_sha256);
        let population = coordinator.population();
        tracing::info!(epoch, coflows = population.coflows, policy = config.policy, "started");

        let listen = |address: SocketAddr| bind(address).map_err(io(&address.to_string()));
        let (clients, agents) = (listen(config.clients)?, listen(config.agents)?);
        let health = config.health.map(listen).transpose()?;
        let (commands, receiver) = mpsc::channel(WAITING);
        let (events, _) = broadcast::channel(PAST);
        let started = Instant::now();
        let confidence = coordinator.confidence();
        let snapshot = Snapshot { epoch, confidence, population, ..Snapshot::default() };
        let (audit, auditor) =
            Audit::start(config.audit_log.as_deref(), epoch).map_err(|source| {
                let path = config.audit_log.clone().unwrap_or_default();
                ServeError::Audit { path, source }
            })?;
        audit.coordinator("start");
        let shared = Arc::new(Shared {
            measured: Mutex::new((snapshot, Measured::new(config.interval_s))),
            doors: Doors {
                clients: Door::new("clients", config.client_limits),
                agents: Door::new("agents", config.agent_limits),
                health: Door::new("health", PROBES),
            },
            tls,
            requests: Arc::default(),
            relays: Arc::default(),
            audit: Arc::new(audit),
            events,
            past: Mutex::default(),
            recorder: Arc::default(),
            durable: AtomicBool::new(unwritten.is_none()),
            is_fenced,
            draining: AtomicBool::new(false),
            read_only: AtomicBool::new(config.read_only),
            policy: Mutex::new(config.policy.clone()),
            max_flows: AtomicUsize::new(config.core.max_flows),
            large_bodies: Arc::new(Semaphore::new(LARGE_BODIES)),
            pages: Arc::new(Semaphore::new(PAGES)),
            tenants: Mutex::new(config.tenants.clone()),
            rate: Rate::new(config.max_requests_per_s),
            rates: Rates::default(),
            turn: Turn::default(),
            about: About {
                ports: config.ports,
                port_rate: config.port_rate,
                heartbeat_s: config.core.heartbeat_s,
                lost_after_s: config.core.lost_after_s,
                base,
                started,
            },
        });
        let (jobs, to_write) = std::sync::mpsc::channel();
        let to_commands = commands.downgrade();
        let journal = std::thread::Builder::new()
            .name("journal".to_owned())
            .spawn(move || write::run(journal, unwritten, &to_write, &to_commands))
            .map_err(io("thread"))?;
        let (groups, to_push) = std::sync::mpsc::channel();
        let to_commands = commands.downgrade();
        let push = std::thread::Builder::new()
            .name("push".to_owned())
            .spawn(move || push::run(&to_push, &to_commands))
            .map_err(io("thread"))?;
        let decider = Decider {
            coordinator,
            commands: receiver,
            journal: jobs,
            groups,
            journal_bytes,
            compact_above: config.compact_above,
            shared: shared.clone(),
            base,
            started,
            state: State::default(),
        };
        let runtime = tokio::runtime::Handle::current();
        let decider = std::thread::Builder::new()
            .name("decide".to_owned())
            .spawn(move || decider.run(&runtime))
            .map_err(io("thread"))?;
        Ok(Server {
            clients,
            agents,
            health,
            decider,
            journal,
            push,
            auditor,
            commands,
            shared,
            config,
            tokens,
            watched,
            flow_secret,
            epoch,
        })
    }

    /// Where probes can connect, if they have an address of their own.
    ///
    /// # Errors
    /// When the system does not tell.
    pub fn health_address(&self) -> std::io::Result<Option<SocketAddr>> {
        self.health.as_ref().map(TcpListener::local_addr).transpose()
    }

    /// Changes settings while it runs.
    pub fn control(&self) -> Control {
        Control(self.commands.downgrade())
    }

    /// Tells for how many seconds the decision thread has been at one thing.
    pub fn busy(&self) -> impl Fn() -> f64 + Send + 'static {
        let shared = self.shared.clone();
        move || shared.turn.seconds()
    }

    /// Where clients and agents can connect.
    ///
    /// # Errors
    /// When the system does not tell.
    pub fn addresses(&self) -> std::io::Result<(SocketAddr, SocketAddr)> {
        Ok((self.clients.local_addr()?, self.agents.local_addr()?))
    }

    /// Serves until `stop` resolves. Then takes no more changes, answers those that wait, and
    /// returns. Reads certificates and tokens again when they change, and when `reload` has a
    /// message.
    ///
    /// # Errors
    /// When it cannot go on, and has to be started again.
    pub async fn run(
        self,
        stop: impl Future<Output = ()>,
        reload: mpsc::Receiver<()>,
    ) -> Result<(), ServeError> {
        let (stopper, stop_all) = watch::channel(false);
        let stop_all = Stop(stop_all);
        let (doors, tls) = (&self.shared.doors, &self.shared.tls);
        tokio::spawn(self.watched.keep(reload));
        tokio::spawn(follow_secret(self.flow_secret, self.commands.downgrade()));
        tokio::spawn(follow_limits(self.tokens.limits(), self.commands.downgrade()));
        let all = Arc::new(Agents {
            commands: self.commands.clone(),
            admission: Admission { tls: tls.for_agents(), tokens: self.tokens.clone() },
            relays: self.shared.relays.clone(),
            next_session: AtomicU64::new(1),
            epoch: self.epoch,
            heartbeat_s: self.config.core.heartbeat_s,
            patience: Duration::from_secs_f64(self.config.core.lost_after_s),
        });
        let serve = move |stream, guest, stop| agents::run(all.clone(), stream, guest, stop);
        let agents = accept(self.agents, doors.agents.clone(), stop_all.clone(), serve);
        let mut is_fenced = self.shared.is_fenced.subscribe();
        tokio::spawn(async move {
            // The schedules of an epoch that a start could forget would be older than those of the
            // next.
            if is_fenced.wait_for(|is_fenced| *is_fenced).await.is_ok() {
                agents.await;
            }
        });
        let api = Arc::new(rest::Api {
            commands: self.commands.clone(),
            control: Control(self.commands.downgrade()),
            shared: self.shared.clone(),
            tokens: self.tokens.clone(),
            epoch: self.epoch,
        });
        let gate = Arc::new(Gate {
            tokens: self.tokens,
            shared: self.shared.clone(),
            bodies: Bodies::new(self.config.body_patience),
        });
        let http = Http { router: rest::router(&api, &gate), tls: tls.for_clients() };
        tokio::spawn(http.listen(self.clients, doors.clients.clone(), stop_all.clone()));
        if let Some(listener) = self.health {
            let http = Http { router: rest::probes(&api, &gate), tls: tls.for_clients() };
            tokio::spawn(http.listen(listener, doors.health.clone(), stop_all));
        }
        tokio::spawn(record::run(self.shared.recorder.clone(), self.commands.downgrade()));
        // The decision thread runs until nobody can send it commands.
        drop(api);
        tokio::select! {
            () = stop => {}
            () = self.commands.closed() => return Err(ServeError::Ended),
        }
        tracing::info!("draining");
        self.shared.audit.coordinator("drain");
        self.shared.draining.store(true, Ordering::Relaxed);
        let (drained, all_answered) = oneshot::channel();
        if self.commands.send(Command::Drain(drained)).await.is_ok() {
            let _ = tokio::time::timeout(DRAIN, all_answered).await;
        }
        // Answers are on their way.
        tokio::time::sleep(Duration::from_millis(50)).await;
        let _ = stopper.send(true);
        drop(self.commands);
        // The journal's records are on disk already: nothing is lost by not waiting any longer.
        self.shared.audit.coordinator("stop");
        self.shared.audit.close();
        let threads = [self.decider, self.journal, self.push].into_iter().chain(self.auditor);
        let joined = tokio::task::spawn_blocking(move || {
            threads.for_each(|thread| {
                let _ = thread.join();
            });
        });
        let _ = tokio::time::timeout(DRAIN, joined).await;
        tracing::info!("stopped");
        Ok(())
    }
}

/// Passes on a secret of flow tokens that has changed.
async fn follow_secret(mut secret: watch::Receiver<Key>, commands: mpsc::WeakSender<Command>) {
    while secret.changed().await.is_ok() {
        let key = *secret.borrow_and_update();
        let Some(commands) = commands.upgrade() else { return };
        // If the decision thread is gone the process is about to end.
        let _ = commands.send(Command::FlowSecret(key)).await;
    }
}

/// Passes on the limits of tokens whenever these are read again.
async fn follow_limits(
    mut limits: watch::Receiver<TokenLimits>,
    commands: mpsc::WeakSender<Command>,
) {
    while limits.changed().await.is_ok() {
        let now = limits.borrow_and_update().clone();
        let Some(commands) = commands.upgrade() else { return };
        // If the decision thread is gone the process is about to end.
        let _ = commands.send(Command::Limits(now)).await;
    }
}

/// How long draining may take.
const DRAIN: Duration = Duration::from_secs(5);

/// Brings the last epoch and time of a journal up to date with a record.
fn see(record: &Record, (epoch, time): &mut (u64, Time)) {
    match record {
        Record::Epoch(number) => *epoch = (*epoch).max(*number),
        Record::Gone(summary) => *time = (*time).max(Time::from_secs(summary.end_s)),
        _ => *time = (*time).max(Time::from_secs(record.at_s().unwrap_or(0.0))),
    }
}

fn check_ports(record: &Record, ports: u32) -> Result<(), ServeError> {
    let flows = match record {
        Record::Registered { spec, .. } => &spec.flows,
        Record::Updated { update, .. } => &update.add,
        _ => return Ok(()),
    };
    let most = flows.iter().map(|flow| flow.src.max(flow.dst)).max();
    match most.filter(|port| *port >= ports) {
        Some(found) => Err(ServeError::Ports { found, ports }),
        None => Ok(()),
    }
}
