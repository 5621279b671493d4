//! The application's side of coflow scheduling: coflows, and the connections of their flows.

use std::collections::BTreeMap;
use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};

use covey_api::{CoflowSpec, CoflowStatus, Endpoint, Update};
use covey_proto::{Direction, FlowHeader, FlowKey, Side};
use tokio::net::{TcpStream, ToSocketAddrs};

use crate::connection::Connection;
use crate::flow::FlowSender;
use crate::header::{read_header, write_header};
use crate::link::Link;
use crate::opening::Opening;
use crate::own_flows::Scheduled;
use crate::reach::reach;
use crate::receiver::FlowReceiver;
use crate::rest::{Rest, RestError};
use crate::stream::{Host, Mode, UNREGISTERED, new_id};
use crate::tls::{Tls, TlsFiles};

/// How an application takes part.
#[derive(Debug, Clone)]
pub struct Options {
    /// Who decides which flow is sent first. Without a coordinator, neither agent nor credentials
    /// are needed.
    pub mode: Mode,
    /// The socket of the agent on this host; `None`: flows are not scheduled.
    pub agent: Option<PathBuf>,
    /// Where the coordinator listens for clients; `None` for an application that only joins
    /// coflows.
    pub coordinator: Option<Endpoint>,
    /// Folder with the credentials: `token`, and `ca.pem` if the coordinator uses TLS.
    pub credentials: PathBuf,
    /// Maximum time of each wait of a flow, whether or not a schedule has mentioned the flow
    /// before. After it the flow sends unscheduled until it gets a rate again. `None`: a flow waits
    /// for ever.
    pub hold_max: Option<Duration>,
    /// How long the coordinator keeps a coflow after it last heard from the application that
    /// registered it, from a second to a day. The client renews the lease until the coflow ends.
    pub lease: Duration,
    /// Maximum time of a call to the coordinator.
    pub deadline: Duration,
    /// Whether it is an error that a coflow cannot be registered because the coordinator is away,
    /// stopping or full, or refuses the credential. If it is none, the coflow's flows are not
    /// scheduled.
    pub strict: bool,
    /// The certificate to show to other hosts, if the connections of flows have TLS. Then this
    /// application accepts flows with TLS alone, and opens all of its flows with it.
    pub tls: Option<TlsFiles>,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            mode: Mode::Coordinator,
            agent: Some(PathBuf::from("covey-data/agent.sock")),
            coordinator: Some(SocketAddr::from(([127, 0, 0, 1], 7420)).into()),
            credentials: PathBuf::from("covey-data"),
            hold_max: Some(Duration::from_secs(60)),
            lease: Duration::from_secs(60),
            deadline: Duration::from_secs(2),
            strict: false,
            tls: None,
        }
    }
}

impl Options {
    /// The lease, within the bounds that a coordinator accepts.
    fn lease(&self) -> Duration {
        self.lease.clamp(Duration::from_secs(1), Duration::from_secs(86_400))
    }
}

/// Time between two looks at something that is waited for: at first, and at most.
const LOOK_AGAIN: Duration = Duration::from_millis(5);
const MAX_LOOK_AGAIN: Duration = Duration::from_millis(500);

/// How long a wait for the end of a coflow goes on while the coordinator is away.
const MAX_AWAY: Duration = Duration::from_secs(30);

/// What clones of a client share.
pub(crate) struct ClientState {
    options: Options,
    pub link: Arc<Link>,
    rest: Option<Rest>,
    /// This application as a host that decides, where nobody is in charge.
    pub host: Option<Arc<Host>>,
    /// TLS with other hosts, if flows have it.
    pub tls: Option<Tls>,
    /// Whether the last registration failed. If it did, none is tried before the coordinator has
    /// answered: otherwise the application would wait for each.
    is_away: AtomicBool,
    /// The error of the last registration that failed.
    last_failure: Mutex<Option<String>>,
    /// Whether the coordinator is of a version that accepts no lease in a registration.
    takes_no_lease: AtomicBool,
    /// Coflows that this client has registered and that may not have ended.
    leases: Mutex<BTreeMap<u64, Lease>>,
}

/// The lease of a coflow.
#[derive(Debug, Clone, Copy)]
struct Lease {
    /// When to renew the lease.
    renew_at: Instant,
    duration: Duration,
}

impl Lease {
    fn from_now(duration: Duration) -> Lease {
        Lease { renew_at: Instant::now() + duration / RENEWALS, duration }
    }
}

impl ClientState {
    /// Notes that coflows cannot be registered. Logs it once.
    fn registration_failed(&self, error: &RestError) {
        *self.last_failure.lock().unwrap_or_else(PoisonError::into_inner) = Some(error.to_string());
        if !self.is_away.swap(true, Ordering::Relaxed) {
            tracing::warn!(%error, "coflows are not scheduled");
        }
    }

    /// Registers a coflow with a lease: the coordinator removes it even if this application dies at
    /// once.
    async fn register(
        &self,
        rest: &Rest,
        spec: &CoflowSpec,
        lease: Duration,
    ) -> Result<u64, RestError> {
        if self.takes_no_lease.load(Ordering::Relaxed) {
            return rest.register(&CoflowSpec { lease_s: None, ..spec.clone() }).await;
        }
        let leased = CoflowSpec { lease_s: Some(lease.as_secs_f64()), ..spec.clone() };
        match rest.register(&leased).await {
            // A coordinator of the previous version.
            Err(RestError::Refused { detail, .. })
                if detail.contains("unknown field `lease_s`") =>
            {
                self.takes_no_lease.store(true, Ordering::Relaxed);
                rest.register(&CoflowSpec { lease_s: None, ..leased }).await
            }
            answer => answer,
        }
    }

    fn leases(&self) -> MutexGuard<'_, BTreeMap<u64, Lease>> {
        self.leases.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// How often a lease is renewed during its time.
const RENEWALS: u32 = 3;

/// Time between two attempts to reach a coordinator that is away: at first, and at most.
const RECONNECT: Duration = Duration::from_millis(500);
const MAX_RECONNECT: Duration = Duration::from_secs(10);

/// Renews the leases of a client's coflows, and looks for a coordinator that is away, for as long
/// as the client exists.
async fn maintain(client: Weak<ClientState>, lease: Duration) {
    let every = lease / RENEWALS;
    let (mut pause, mut next_attempt) = (RECONNECT, Instant::now());
    loop {
        tokio::time::sleep(RECONNECT.min(every / 4)).await;
        let Some(state) = client.upgrade() else { return };
        let Some(rest) = &state.rest else { return };
        if !state.is_away.load(Ordering::Relaxed) {
            pause = RECONNECT;
            renew(&state, rest).await;
        } else if Instant::now() >= next_attempt {
            if rest.answers().await {
                tracing::info!("coflows can be registered again");
                state.is_away.store(false, Ordering::Relaxed);
            }
            next_attempt = Instant::now() + pause;
            pause = (2 * pause).min(MAX_RECONNECT);
        }
    }
}

async fn renew(state: &ClientState, rest: &Rest) {
    let due: Vec<(u64, Duration)> = {
        let (leases, now) = (state.leases(), Instant::now());
        let due = leases.iter().filter(|(_, lease)| lease.renew_at <= now);
        due.map(|(&id, lease)| (id, lease.duration)).collect()
    };
    for (id, lease) in due {
        match rest.keep(id, lease.as_secs_f64()).await {
            Ok(()) => {
                if let Some(held) = state.leases().get_mut(&id) {
                    *held = Lease::from_now(lease);
                }
            }
            // The coflow is over, or the coordinator has no leases.
            Err(RestError::Refused { status: 404 | 405 | 409, .. }) => {
                state.leases().remove(&id);
            }
            // The other calls would fail too.
            Err(_) => return,
        }
    }
}

/// An application's side of coflow scheduling. Clones share everything.
#[derive(Clone)]
pub struct Client(pub(crate) Arc<ClientState>);

impl Client {
    /// Finds the agent on this host. Without an agent, flows send as fast as they can. Must be
    /// called in a tokio runtime.
    ///
    /// # Errors
    /// When there are credentials that cannot be used.
    pub async fn start(mut options: Options) -> Result<Client, RestError> {
        let mut last_failure = None;
        let host = match &options.mode {
            Mode::Coordinator => None,
            Mode::Stream(setup) => {
                // A name that two hosts share mixes up their bytes, where they receive the same
                // coflow.
                let name = random() as u32;
                Some(Arc::new(Host::new(setup.clone(), name)))
            }
        };
        if host.is_some() {
            options.coordinator = None;
        }
        let rest = match options.coordinator.clone() {
            None => None,
            Some(address) => match Rest::new(address, &options.credentials, options.deadline) {
                Err(error) if !options.credentials.join("token").exists() => {
                    tracing::warn!(%error, "coflows are not registered");
                    last_failure = Some(error.to_string());
                    None
                }
                rest => Some(rest?),
            },
        };
        let link = match host {
            Some(_) => Link::unused(),
            None => Link::start(options.agent.clone()).await,
        };
        let tls = options.tls.clone().map(Tls::start).transpose()?;
        let lease = options.lease();
        let (is_away, takes_no_lease) = (AtomicBool::new(false), AtomicBool::new(false));
        let (last_failure, leases) = (Mutex::new(last_failure), Mutex::default());
        let state = ClientState {
            options,
            link,
            rest,
            host,
            tls,
            is_away,
            last_failure,
            takes_no_lease,
            leases,
        };
        let state = Arc::new(state);
        if state.rest.is_some() {
            tokio::spawn(maintain(Arc::downgrade(&state), lease));
        }
        Ok(Client(state))
    }

    /// Whether the flows of this application are scheduled now.
    pub fn scheduled(&self) -> Scheduled {
        match self.0.host {
            Some(_) => Scheduled::ByReceivers,
            None => self.0.link.scheduled(),
        }
    }

    /// How long decisions of receivers took until packets were marked here, if nobody is in charge:
    /// the last 4,096. They mean something where the clocks of the hosts agree.
    pub fn decision_delays(&self) -> Vec<Duration> {
        self.0.host.as_ref().map_or_else(Vec::new, |host| host.delays())
    }

    /// Why the last failed registration failed: the coordinator's refusal with its HTTP status, or
    /// that it has not answered. `None` if no registration has failed.
    pub fn unregistered_because(&self) -> Option<String> {
        self.0.last_failure.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The port of the fabric that this host is, if there is an agent.
    pub fn port(&self) -> Option<u32> {
        self.0.link.port()
    }

    /// Number of ends of flows that the coordinator has not acknowledged.
    pub fn unsettled(&self) -> usize {
        self.0.link.unacknowledged()
    }

    /// Returns when the coordinator has acknowledged the ends of all flows, or flows are not
    /// scheduled any more. If an application exits before that, the coordinator may never hear of
    /// those ends.
    pub async fn settled(&self) {
        while self.unsettled() > 0 && self.scheduled() == Scheduled::Yes {
            tokio::time::sleep(LOOK_AGAIN).await;
        }
    }

    /// The coflows that are present, or `all` that the coordinator remembers; empty without a
    /// coordinator.
    ///
    /// # Errors
    /// When the coordinator is away, or refuses.
    pub async fn coflows(&self, all: bool) -> Result<Vec<CoflowStatus>, RestError> {
        match &self.0.rest {
            Some(rest) => rest.list(all).await,
            None => Ok(Vec::new()),
        }
    }

    /// Registers a coflow. If the coordinator is away, stopping or full, or refuses the credential,
    /// the coflow gets an id that no coordinator knows, and its flows are not scheduled. That is
    /// logged once, and no later call waits for the coordinator until it has answered again.
    ///
    /// # Errors
    /// When the coordinator refuses the coflow itself; with [`Options::strict`], also when it
    /// cannot register any.
    pub async fn register(&self, spec: &CoflowSpec) -> Result<Coflow, RestError> {
        let ClientState { options, rest, is_away, host, .. } = &*self.0;
        if let Some(host) = host {
            return Ok(self.join(new_id(&spec.parents, host.proposal(), random())));
        }
        let Some(rest) = rest else { return Ok(self.join(unregistered())) };
        if is_away.load(Ordering::Relaxed) && !options.strict {
            return Ok(self.join(unregistered()));
        }
        let said = spec.lease_s.and_then(|s| Duration::try_from_secs_f64(s).ok());
        let lease = said.unwrap_or_else(|| options.lease());
        match self.0.register(rest, spec, lease).await {
            Ok(id) => {
                self.0.leases().insert(id, Lease::from_now(lease));
                Ok(self.join(id))
            }
            Err(error) if error.is_passing() && !options.strict => {
                self.0.registration_failed(&error);
                Ok(self.join(unregistered()))
            }
            Err(error) => Err(error),
        }
    }

    /// The coflow of this id, which another application has registered.
    pub fn join(&self, id: u64) -> Coflow {
        Coflow { client: self.clone(), id }
    }

    /// Whether a schedule may have a flow compressed that is opened now.
    pub(crate) fn may_compress(&self) -> bool {
        self.0.link.codec().is_some()
    }

    /// Begins TLS on a connection that was opened here, if flows have it.
    async fn secured(&self, stream: TcpStream) -> io::Result<Connection> {
        match &self.0.tls {
            None => Ok(Connection::plain(stream)),
            Some(tls) => tls.connect(stream).await,
        }
    }

    /// Has the agent ask what is registered of a flow of which this application opens one end;
    /// `None` if no coordinator knows the flow.
    pub(crate) fn opening(&self, header: &FlowHeader, side: Side) -> Option<Arc<Opening>> {
        let is_registered = self.0.host.is_none() && header.key.coflow & UNREGISTERED == 0;
        let bytes = header.bytes.map_or(f64::INFINITY, |bytes| bytes as f64);
        is_registered.then(|| self.0.link.begin(header.key, side, bytes))
    }

    pub(crate) fn receiver(
        &self,
        stream: Connection,
        header: FlowHeader,
        opening: Option<Arc<Opening>>,
    ) -> FlowReceiver {
        match self.0.host.as_ref().filter(|_| header.with_notes) {
            Some(host) => FlowReceiver::deciding(stream, header, host),
            None => FlowReceiver::new(stream, header, opening),
        }
    }

    pub(crate) fn sender(
        &self,
        stream: Connection,
        header: &FlowHeader,
        opening: Option<Arc<Opening>>,
    ) -> FlowSender {
        if let Some(host) = self.0.host.as_ref().filter(|_| header.with_notes) {
            return FlowSender::marked(stream, header, host);
        }
        let known = header.key.coflow & UNREGISTERED == 0;
        let link = known.then(|| self.0.link.clone());
        FlowSender::new(stream, header, link.zip(opening), self.0.options.hold_max)
    }
}

fn unregistered() -> u64 {
    // Without random numbers they all have the same id, which only their receivers see.
    random() | UNREGISTERED
}

/// A random number; 0 where the system has none.
fn random() -> u64 {
    let mut bytes = [0; 8];
    let _ = getrandom::fill(&mut bytes);
    u64::from_le_bytes(bytes)
}

/// A coflow that this application takes part in.
#[derive(Clone)]
pub struct Coflow {
    client: Client,
    id: u64,
}

impl Coflow {
    /// The coflow's id, by which other applications join it.
    pub fn id(&self) -> u64 {
        self.id
    }

    /// Whether a coordinator knows the coflow.
    pub fn is_registered(&self) -> bool {
        self.id & UNREGISTERED == 0
    }

    /// Opens the flow of index `flow` to a listener. `bytes` is its size if it is known; `label`,
    /// of at most 255 bytes, is for the receiver.
    ///
    /// # Errors
    /// When the connection cannot be made. If the flow is opened otherwise than it is registered,
    /// this or a later call on the flow returns a [`WrongOpening`](crate::WrongOpening).
    pub async fn open(
        &self,
        flow: u32,
        to: impl ToSocketAddrs,
        bytes: Option<u64>,
        label: &[u8],
    ) -> io::Result<FlowSender> {
        let header = self.header(flow, Direction::Pushed, bytes, label)?;
        let (stream, opening) = self.begin(to, &header, Side::Sends).await?;
        Ok(self.client.sender(stream, &header, opening))
    }

    /// Asks a listener to send the flow of index `flow`, with what its application has under
    /// `label`.
    ///
    /// # Errors
    /// When the connection cannot be made, the other side does not send the flow, or one of the two
    /// refuses the other's proof.
    pub async fn fetch(
        &self,
        flow: u32,
        from: impl ToSocketAddrs,
        label: &[u8],
    ) -> io::Result<FlowReceiver> {
        let header = self.header(flow, Direction::Pulled, None, label)?;
        let (stream, opening) = self.begin(from, &header, Side::Receives).await?;
        let (answer, proof) = read_header(&stream).await?;
        if answer.key != header.key || answer.direction != Direction::Pushed {
            let what = "the answer is of another flow than was asked for";
            return Err(io::Error::new(io::ErrorKind::InvalidData, what));
        }
        let peer = stream.peer_addr()?;
        if let Some(refusal) = self.client.0.link.check(&answer, proof, peer).await {
            let what = format!("the answer of {peer} is refused: {refusal}");
            return Err(io::Error::new(io::ErrorKind::PermissionDenied, what));
        }
        Ok(self.client.receiver(stream, answer, opening))
    }

    /// Makes a connection and sends a header on it, with a proof if one is necessary. Asks what is
    /// registered of the flow.
    async fn begin(
        &self,
        to: impl ToSocketAddrs,
        header: &FlowHeader,
        side: Side,
    ) -> io::Result<(Connection, Option<Arc<Opening>>)> {
        let opening = self.client.opening(header, side);
        let prove = self.client.0.link.prove(header.key, header.direction);
        let connect = async { self.client.secured(reach(to).await?).await };
        let (stream, proof) = tokio::join!(connect, prove);
        let stream = stream?;
        if let Some(opening) = &opening {
            opening.check()?;
        }
        write_header(&stream, header, proof.as_ref()).await?;
        Ok((stream, opening))
    }

    fn header(
        &self,
        flow: u32,
        direction: Direction,
        bytes: Option<u64>,
        label: &[u8],
    ) -> io::Result<FlowHeader> {
        if label.len() > 255 {
            let what = format!("a label: expected at most 255 bytes, found {}", label.len());
            return Err(io::Error::new(io::ErrorKind::InvalidInput, what));
        }
        let key = FlowKey { coflow: self.id, flow };
        let chunked = bytes.is_none() || self.is_registered() && self.client.may_compress();
        let with_notes = self.client.0.host.is_some();
        let chunked = chunked || with_notes;
        Ok(FlowHeader { key, direction, bytes, chunked, with_notes, label: label.to_vec() })
    }

    /// Changes the coflow: adds, moves or restarts flows. Does nothing if no coordinator knows the
    /// coflow.
    ///
    /// # Errors
    /// When the coordinator is away, or refuses.
    pub async fn update(&self, update: &Update) -> Result<(), RestError> {
        match &self.client.0.rest {
            Some(rest) if self.is_registered() => rest.update(self.id, update).await,
            _ => Ok(()),
        }
    }

    /// The coflow's status; `None` if no coordinator knows the coflow.
    ///
    /// # Errors
    /// When the coordinator is away, or has forgotten the coflow.
    pub async fn status(&self) -> Result<Option<CoflowStatus>, RestError> {
        match &self.client.0.rest {
            Some(rest) if self.is_registered() => {
                let status = rest.status(self.id).await?;
                if status.is_over() {
                    self.client.0.leases().remove(&self.id);
                }
                Ok(Some(status))
            }
            _ => Ok(None),
        }
    }

    /// Returns when the coflow has ended or was removed; at once if no coordinator knows it. Goes
    /// on waiting for half a minute while the coordinator is away, stopping or full.
    ///
    /// # Errors
    /// When the coordinator has forgotten the coflow, or is away for longer.
    pub async fn ended(&self) -> Result<Option<CoflowStatus>, RestError> {
        let mut pause = LOOK_AGAIN;
        let mut answered = Instant::now();
        loop {
            match self.status().await {
                Err(error) if error.is_passing() && answered.elapsed() < MAX_AWAY => {}
                Ok(Some(status)) if !status.is_over() => answered = Instant::now(),
                over => return over,
            }
            tokio::time::sleep(pause).await;
            pause = (pause * 3 / 2).min(MAX_LOOK_AGAIN);
        }
    }

    /// Deregisters the coflow before its last flow has ended.
    ///
    /// # Errors
    /// When the coordinator is away, or refuses.
    pub async fn deregister(self) -> Result<(), RestError> {
        match &self.client.0.rest {
            Some(rest) if self.is_registered() => {
                rest.remove(self.id).await?;
                self.client.0.leases().remove(&self.id);
                Ok(())
            }
            _ => Ok(()),
        }
    }
}
