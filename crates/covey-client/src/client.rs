//! The application's part in coflow scheduling: coflows, and the connections of their flows.

use std::collections::BTreeMap;
use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};

use covey_api::{CoflowSpec, CoflowStatus, Update};
use covey_proto::{Direction, FlowHeader, FlowKey};
use tokio::net::{TcpListener, TcpStream, ToSocketAddrs};
use tokio::sync::{Semaphore, mpsc};

use crate::flow::{FlowReceiver, FlowSender, Patience, read_header, write_header};
use crate::link::{Link, Scheduled};
use crate::rest::{Rest, RestError};

/// How an application takes part.
#[derive(Debug, Clone)]
pub struct Options {
    /// The socket of the agent on this host; none if flows are not to be scheduled.
    pub agent: Option<PathBuf>,
    /// Where the coordinator listens for clients; none for an application that only joins coflows.
    pub coordinator: Option<SocketAddr>,
    /// Folder with the credentials: `token`, and `ca.pem` where the coordinator speaks TLS.
    pub credentials: PathBuf,
    /// How long a flow waits each time, before it sends unscheduled until it gets a rate again; for ever if nothing
    /// is said. It does not matter whether a schedule has mentioned it before.
    pub hold_max: Option<Duration>,
    /// Bytes that a flow may send before a schedule mentions it (Aalo lets coflows under 10 MB go
    /// unscheduled).
    pub start_small: u64,
    /// For how long a coflow that this application has registered stays when it is not heard of any more, from a
    /// second to a day. Until it ends it is kept again and again.
    pub lease: Duration,
    /// How long a call of the coordinator may take.
    pub deadline: Duration,
    /// Whether it is an error if a coflow cannot be registered: the coordinator is away, stopping or full, or does not
    /// take the credential. Otherwise its flows are not scheduled.
    pub strict: bool,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            agent: Some(PathBuf::from("covey-data/agent.sock")),
            coordinator: Some(SocketAddr::from(([127, 0, 0, 1], 7420))),
            credentials: PathBuf::from("covey-data"),
            hold_max: Some(Duration::from_secs(60)),
            start_small: 0,
            lease: Duration::from_secs(60),
            deadline: Duration::from_secs(2),
            strict: false,
        }
    }
}

impl Options {
    /// The lease, within what a coordinator takes.
    fn lease(&self) -> Duration {
        self.lease.clamp(Duration::from_secs(1), Duration::from_secs(86_400))
    }
}

/// How long until something is looked at again that is waited for: at first, and at most.
const LOOK_AGAIN: Duration = Duration::from_millis(5);
const LOOK_AGAIN_MOST: Duration = Duration::from_millis(500);

/// For how long a coordinator may be away while somebody waits for the end of a coflow.
const AWAY_MOST: Duration = Duration::from_secs(30);
/// How long it may take to reach the host of a flow.
const CONNECT_WITHIN: Duration = Duration::from_secs(30);

async fn reach(to: impl ToSocketAddrs) -> io::Result<TcpStream> {
    let connecting = TcpStream::connect(to);
    tokio::time::timeout(CONNECT_WITHIN, connecting).await.map_err(io::Error::from).flatten()
}

/// Bit of the numbers of coflows that no coordinator knows.
const UNREGISTERED: u64 = 1 << 63;

struct Inner {
    options: Options,
    link: Arc<Link>,
    rest: Option<Rest>,
    /// Whether coflows could not be registered when this was last tried. Then it is not tried again before the
    /// coordinator has answered: nobody is to wait for each.
    is_away: AtomicBool,
    /// Why, when it was last tried.
    why: Mutex<Option<String>>,
    /// Whether the coordinator is of a version that takes no lease with a registration.
    takes_no_lease: AtomicBool,
    /// Coflows that it has registered and that may not have ended.
    kept: Mutex<BTreeMap<u64, Kept>>,
}

/// When a coflow is to be kept again, and for how long.
#[derive(Debug, Clone, Copy)]
struct Kept {
    at: Instant,
    lease: Duration,
}

impl Kept {
    fn from_now(lease: Duration) -> Kept {
        Kept { at: Instant::now() + lease / KEEPS, lease }
    }
}

impl Inner {
    /// Coflows cannot be registered: that is said once.
    fn goes_without(&self, error: &RestError) {
        *self.why.lock().unwrap_or_else(PoisonError::into_inner) = Some(error.to_string());
        if !self.is_away.swap(true, Ordering::Relaxed) {
            tracing::warn!(%error, "coflows are not scheduled");
        }
    }

    /// Registers a coflow that is kept for so long from its first moment on, whatever becomes of this application.
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
            // A coordinator of the version before.
            Err(RestError::Refused { detail, .. })
                if detail.contains("unknown field `lease_s`") =>
            {
                self.takes_no_lease.store(true, Ordering::Relaxed);
                rest.register(&CoflowSpec { lease_s: None, ..leased }).await
            }
            answer => answer,
        }
    }

    fn kept(&self) -> MutexGuard<'_, BTreeMap<u64, Kept>> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// How often coflows are kept in the time for which they are kept.
const KEEPS: u32 = 3;

/// How long between two looks whether a coordinator that was away is there again: at first, and at most.
const LOOK_FOR: Duration = Duration::from_millis(500);
const LOOK_FOR_MOST: Duration = Duration::from_secs(10);

/// Keeps the coflows that a client has registered, and looks for a coordinator that is away, as long as there is
/// a client.
async fn tend(client: Weak<Inner>, lease: Duration) {
    let every = lease / KEEPS;
    let (mut pause, mut next_look) = (LOOK_FOR, Instant::now());
    loop {
        tokio::time::sleep(LOOK_FOR.min(every / 4)).await;
        let Some(inner) = client.upgrade() else { return };
        let Some(rest) = &inner.rest else { return };
        if !inner.is_away.load(Ordering::Relaxed) {
            pause = LOOK_FOR;
            keep(&inner, rest).await;
        } else if Instant::now() >= next_look {
            if rest.answers().await {
                tracing::info!("coflows can be registered again");
                inner.is_away.store(false, Ordering::Relaxed);
            }
            next_look = Instant::now() + pause;
            pause = (2 * pause).min(LOOK_FOR_MOST);
        }
    }
}

async fn keep(inner: &Inner, rest: &Rest) {
    let due: Vec<(u64, Duration)> = {
        let (kept, now) = (inner.kept(), Instant::now());
        kept.iter().filter(|(_, it)| it.at <= now).map(|(&id, it)| (id, it.lease)).collect()
    };
    for (id, lease) in due {
        match rest.keep(id, lease.as_secs_f64()).await {
            Ok(()) => {
                if let Some(kept) = inner.kept().get_mut(&id) {
                    *kept = Kept::from_now(lease);
                }
            }
            // It is over, or the coordinator keeps none.
            Err(RestError::Refused { status: 404 | 405 | 409, .. }) => {
                inner.kept().remove(&id);
            }
            // The others come no further now.
            Err(_) => return,
        }
    }
}

/// An application's part in coflow scheduling. Clones are the same.
#[derive(Clone)]
pub struct Client(Arc<Inner>);

impl Client {
    /// Finds the agent on this host. Without one the application works too: its flows then send as
    /// fast as they can. To be called in a runtime.
    ///
    /// # Errors
    /// When there are credentials that cannot be used.
    pub async fn start(options: Options) -> Result<Client, RestError> {
        let mut why = None;
        let rest = match options.coordinator {
            None => None,
            Some(address) => match Rest::new(address, &options.credentials, options.deadline) {
                Err(error) if !options.credentials.join("token").exists() => {
                    tracing::warn!(%error, "coflows are not registered");
                    why = Some(error.to_string());
                    None
                }
                rest => Some(rest?),
            },
        };
        let link = Link::start(options.agent.clone()).await;
        let lease = options.lease();
        let (is_away, takes_no_lease) = (AtomicBool::new(false), AtomicBool::new(false));
        let (why, kept) = (Mutex::new(why), Mutex::default());
        let inner = Arc::new(Inner { options, link, rest, is_away, why, takes_no_lease, kept });
        if inner.rest.is_some() {
            tokio::spawn(tend(Arc::downgrade(&inner), lease));
        }
        Ok(Client(inner))
    }

    /// Who schedules the flows of this application now.
    pub fn scheduled(&self) -> Scheduled {
        self.0.link.scheduled()
    }

    /// Why a coflow could last not be registered: the coordinator's refusal with its HTTP status, or that it has not
    /// answered. Nothing if none was ever refused so.
    pub fn unregistered_because(&self) -> Option<String> {
        self.0.why.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The port of the fabric that this host is, if there is an agent.
    pub fn port(&self) -> Option<u32> {
        self.0.link.port()
    }

    /// Ends of flows that the coordinator has not written down yet.
    pub fn unsettled(&self) -> usize {
        self.0.link.unsettled()
    }

    /// Returns when the coordinator has written down the ends of all flows, or there is nobody to do so.
    /// An application that ends before leaves flows of which the coordinator never hears again.
    pub async fn settled(&self) {
        while self.unsettled() > 0 && self.scheduled() == Scheduled::Yes {
            tokio::time::sleep(LOOK_AGAIN).await;
        }
    }

    /// The coflows that are present, or all that the coordinator remembers; none without a coordinator.
    ///
    /// # Errors
    /// When the coordinator is away, or refuses.
    pub async fn coflows(&self, all: bool) -> Result<Vec<CoflowStatus>, RestError> {
        match &self.0.rest {
            Some(rest) => rest.list(all).await,
            None => Ok(Vec::new()),
        }
    }

    /// Registers a coflow. While that is not possible because the coordinator is away, stopping or full, or does not
    /// take the credential, the coflow gets a number of which no coordinator ever hears, and its flows are not
    /// scheduled. That is said once; from then on nobody waits for the coordinator before it has answered again.
    ///
    /// # Errors
    /// When the coordinator refuses what is asked for; with [`Options::strict`], also when it is not possible.
    pub async fn register(&self, spec: &CoflowSpec) -> Result<Coflow, RestError> {
        let Inner { options, rest, is_away, .. } = &*self.0;
        let Some(rest) = rest else { return Ok(self.join(unregistered())) };
        if is_away.load(Ordering::Relaxed) && !options.strict {
            return Ok(self.join(unregistered()));
        }
        let said = spec.lease_s.and_then(|s| Duration::try_from_secs_f64(s).ok());
        let lease = said.unwrap_or_else(|| options.lease());
        match self.0.register(rest, spec, lease).await {
            Ok(id) => {
                self.0.kept().insert(id, Kept::from_now(lease));
                Ok(self.join(id))
            }
            Err(error) if error.is_passing() && !options.strict => {
                self.0.goes_without(&error);
                Ok(self.join(unregistered()))
            }
            Err(error) => Err(error),
        }
    }

    /// The coflow of this number, which somebody else has registered.
    pub fn join(&self, id: u64) -> Coflow {
        Coflow { client: self.clone(), id }
    }

    /// Accepts flows at an address.
    ///
    /// # Errors
    /// When the address cannot be used.
    pub async fn listen(&self, address: impl ToSocketAddrs) -> io::Result<Listener> {
        let listener = TcpListener::bind(address).await?;
        let address = listener.local_addr()?;
        let (sender, receiver) = mpsc::channel(128);
        let task = tokio::spawn(accept(listener, self.clone(), sender));
        Ok(Listener { address, receiver, task })
    }

    /// Whether a flow that is opened now may come to be compressed.
    fn may_compress(&self) -> bool {
        self.0.link.codec().is_some()
    }

    fn sender(&self, stream: TcpStream, header: &FlowHeader) -> FlowSender {
        let known = header.key.coflow & UNREGISTERED == 0;
        let Options { hold_max, start_small, .. } = self.0.options;
        let link = known.then(|| self.0.link.clone());
        FlowSender::new(stream, header, link, Patience { hold_max, start_small })
    }
}

fn unregistered() -> u64 {
    let mut bytes = [0; 8];
    // Without random numbers all of them have the same, which only their receivers see.
    let _ = getrandom::fill(&mut bytes);
    u64::from_le_bytes(bytes) | UNREGISTERED
}

/// A coflow that this application takes part in.
#[derive(Clone)]
pub struct Coflow {
    client: Client,
    id: u64,
}

impl Coflow {
    /// Its number, by which others join it.
    pub fn id(&self) -> u64 {
        self.id
    }

    /// Whether a coordinator knows it.
    pub fn is_registered(&self) -> bool {
        self.id & UNREGISTERED == 0
    }

    /// Opens a flow to a listener: the one at place `flow` of the coflow, of so many bytes if that is
    /// known. `label` is what the receiver is told of it, at most 255 bytes.
    ///
    /// # Errors
    /// When there is no connection.
    pub async fn open(
        &self,
        flow: u32,
        to: impl ToSocketAddrs,
        bytes: Option<u64>,
        label: &[u8],
    ) -> io::Result<FlowSender> {
        let mut stream = reach(to).await?;
        let header = self.header(flow, Direction::Pushed, bytes, label)?;
        write_header(&mut stream, &header).await?;
        Ok(self.client.sender(stream, &header))
    }

    /// Asks a listener to send a flow: what its application has under `label`.
    ///
    /// # Errors
    /// When there is no connection, or the other side does not send it.
    pub async fn fetch(
        &self,
        flow: u32,
        from: impl ToSocketAddrs,
        label: &[u8],
    ) -> io::Result<FlowReceiver> {
        let mut stream = reach(from).await?;
        let header = self.header(flow, Direction::Pulled, None, label)?;
        write_header(&mut stream, &header).await?;
        let answer = read_header(&mut stream).await?;
        if answer.key != header.key || answer.direction != Direction::Pushed {
            let what = "the answer is of another flow than was asked for";
            return Err(io::Error::new(io::ErrorKind::InvalidData, what));
        }
        Ok(FlowReceiver::new(stream, answer))
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
        Ok(FlowHeader { key, direction, bytes, chunked, label: label.to_vec() })
    }

    /// Changes the coflow: flows that are added, moved or begin anew. Nothing happens to one that no
    /// coordinator knows.
    ///
    /// # Errors
    /// When the coordinator is away, or refuses.
    pub async fn update(&self, update: &Update) -> Result<(), RestError> {
        match &self.client.0.rest {
            Some(rest) if self.is_registered() => rest.update(self.id, update).await,
            _ => Ok(()),
        }
    }

    /// How it is doing; nothing is known of one that no coordinator knows.
    ///
    /// # Errors
    /// When the coordinator is away, or has forgotten it.
    pub async fn status(&self) -> Result<Option<CoflowStatus>, RestError> {
        match &self.client.0.rest {
            Some(rest) if self.is_registered() => {
                let status = rest.status(self.id).await?;
                if status.is_over() {
                    self.client.0.kept().remove(&self.id);
                }
                Ok(Some(status))
            }
            _ => Ok(None),
        }
    }

    /// Returns when the coflow has ended, or was removed; at once if no coordinator knows it. While the
    /// coordinator is away, stopping or full, it goes on waiting for half a minute.
    ///
    /// # Errors
    /// When the coordinator has forgotten it, or is away for longer.
    pub async fn ended(&self) -> Result<Option<CoflowStatus>, RestError> {
        let mut pause = LOOK_AGAIN;
        let mut heard = Instant::now();
        loop {
            match self.status().await {
                Err(error) if error.is_passing() && heard.elapsed() < AWAY_MOST => {}
                Ok(Some(status)) if !status.is_over() => heard = Instant::now(),
                over => return over,
            }
            tokio::time::sleep(pause).await;
            pause = (pause * 3 / 2).min(LOOK_AGAIN_MOST);
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
                self.client.0.kept().remove(&self.id);
                Ok(())
            }
            _ => Ok(()),
        }
    }
}

/// A flow that somebody has opened to this application.
pub enum Incoming {
    /// It comes here.
    Flow(FlowReceiver),
    /// It is to go from here.
    Request(FlowRequest),
}

/// Somebody asks for a flow.
pub struct FlowRequest {
    client: Client,
    stream: TcpStream,
    header: FlowHeader,
}

impl FlowRequest {
    /// The number of its coflow.
    pub fn coflow(&self) -> u64 {
        self.header.key.coflow
    }

    /// Its place in the coflow.
    pub fn flow(&self) -> u32 {
        self.header.key.flow
    }

    /// What is asked for.
    pub fn label(&self) -> &[u8] {
        &self.header.label
    }

    /// Sends it: so many bytes, if that is known.
    ///
    /// # Errors
    /// When the connection breaks.
    pub async fn send(mut self, bytes: Option<u64>) -> io::Result<FlowSender> {
        self.header.direction = Direction::Pushed;
        self.header.bytes = bytes;
        let known = self.header.key.coflow & UNREGISTERED == 0;
        self.header.chunked = bytes.is_none() || known && self.client.may_compress();
        write_header(&mut self.stream, &self.header).await?;
        Ok(self.client.sender(self.stream, &self.header))
    }
}

/// Where others open flows to this application.
pub struct Listener {
    address: SocketAddr,
    receiver: mpsc::Receiver<Incoming>,
    task: tokio::task::JoinHandle<()>,
}

impl Listener {
    /// Its address.
    pub fn local_addr(&self) -> SocketAddr {
        self.address
    }

    /// The next flow. Connections that do not begin like a flow's are closed and logged.
    ///
    /// # Errors
    /// When there will be none any more.
    pub async fn accept(&mut self) -> io::Result<Incoming> {
        self.receiver.recv().await.ok_or_else(|| io::ErrorKind::NotConnected.into())
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// How long a connection may take to say which flow it is, and how many may do so at a time.
const HEADER_WITHIN: Duration = Duration::from_secs(10);
const NAMELESS: usize = 4096;

async fn accept(listener: TcpListener, client: Client, sender: mpsc::Sender<Incoming>) {
    let nameless = Arc::new(Semaphore::new(NAMELESS));
    // There is no way to close the semaphore.
    while let Ok(permit) = nameless.clone().acquire_owned().await {
        let (mut stream, peer) = match listener.accept().await {
            Ok(accepted) => accepted,
            Err(error) => {
                tracing::warn!(%error, "a flow was not accepted");
                tokio::time::sleep(Duration::from_millis(50)).await;
                continue;
            }
        };
        let (client, sender) = (client.clone(), sender.clone());
        tokio::spawn(async move {
            let read = read_header(&mut stream);
            match tokio::time::timeout(HEADER_WITHIN, read).await.map_err(io::Error::from).flatten()
            {
                Err(error) => tracing::debug!(%peer, %error, "no flow"),
                Ok(header) => {
                    drop(permit);
                    let incoming = match header.direction {
                        Direction::Pushed => Incoming::Flow(FlowReceiver::new(stream, header)),
                        Direction::Pulled => {
                            Incoming::Request(FlowRequest { client, stream, header })
                        }
                    };
                    // The listener may have gone.
                    let _ = sender.send(incoming).await;
                }
            }
        });
    }
}
