//! The connection to the agent on this host.

use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use covey_proto::{
    CodecName, Decoder, Direction, FlowCheck, FlowHeader, FlowKey, FlowOpening, FromApp,
    LOCAL_VERSION, OLDEST_LOCAL, Proof, ProofRefusal, Side, ToApp, encode,
};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::UnixStream;
use tokio::sync::{Notify, watch};
use tokio::time::{MissedTickBehavior, interval};

use crate::connection::Connection;
use crate::framing::Written;
use crate::gate::Gate;
use crate::opening::Opening;
use crate::own_flows::{OwnFlows, Scheduled};

/// The connection to the agent. It is made again when it is lost.
pub struct Link {
    flows: Mutex<OwnFlows>,
    /// When the agent's last message came.
    heard: Mutex<Instant>,
    /// Notified when there is something to tell the agent.
    news: Notify,
}

/// How long a flow that needs a proof waits for an agent that is gone.
const AGENT_WITHIN: Duration = Duration::from_secs(5);
/// How long the start of an application waits for the agent.
const PATIENCE: Duration = Duration::from_secs(1);
/// Time between two attempts to connect to the agent.
const RETRY: Duration = Duration::from_millis(200);
/// Maximum time between two reports of what flows have sent, in seconds.
const MAX_TICK_S: f64 = 3600.0;
/// How long an agent may be silent to an application with flows before it is probed, and how long
/// it may take to answer.
const SILENCE: Duration = Duration::from_secs(1);
const ANSWERS_WITHIN: Duration = Duration::from_secs(2);

impl Link {
    /// A connection to no agent, where none is needed.
    pub fn unused() -> Arc<Link> {
        let heard = Mutex::new(Instant::now());
        Arc::new(Link { flows: Mutex::default(), heard, news: Notify::new() })
    }

    /// Connects to the agent at `path`, if there is one. Returns when it has answered, or after
    /// [`PATIENCE`].
    pub async fn start(path: Option<PathBuf>) -> Arc<Link> {
        let link = Link::unused();
        let Some(path) = path else {
            link.lock().changed();
            return link;
        };
        let (tell, mut answered) = watch::channel(false);
        tokio::spawn(run(Arc::downgrade(&link), path, tell));
        // An agent may also answer later.
        let _ = tokio::time::timeout(PATIENCE, answered.wait_for(|is| *is)).await;
        link
    }

    fn lock(&self) -> MutexGuard<'_, OwnFlows> {
        self.flows.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Changes the flows, and has the agent hear of it.
    fn with<T>(&self, change: impl FnOnce(&mut OwnFlows) -> T) -> T {
        let result = change(&mut self.lock());
        self.news.notify_one();
        result
    }

    /// The agent has said something.
    fn hear(&self) {
        *self.heard.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
    }

    /// How long the agent has been silent.
    fn silence(&self) -> Duration {
        self.heard.lock().unwrap_or_else(PoisonError::into_inner).elapsed()
    }

    /// Whether flows are scheduled.
    pub fn scheduled(&self) -> Scheduled {
        self.lock().scheduled()
    }

    /// The port of the fabric that this host is, as the agent says.
    pub fn port(&self) -> Option<u32> {
        self.lock().port()
    }

    /// The compressor that schedules may name, if they may name one.
    pub fn codec(&self) -> Option<CodecName> {
        self.lock().codec()
    }

    /// An application opens one end of a flow, to send `bytes` of it (infinite: as many as there
    /// are). If it has the flow open to send already, that one is over.
    pub fn begin(&self, key: FlowKey, side: Side, bytes: f64) -> Arc<Opening> {
        self.with(|own| own.begin(FlowOpening { key, side, bytes }))
    }

    /// A flow is to send more than is registered: the coordinator is to hear of it.
    pub fn exceeds(&self, key: FlowKey, bytes: f64) {
        self.with(|own| own.ask(FlowOpening { key, side: Side::Sends, bytes }));
    }

    /// Opens a flow over `connection`, of which that is known.
    pub fn open(
        &self,
        key: FlowKey,
        connection: Arc<Connection>,
        opening: Arc<Opening>,
    ) -> Arc<Gate> {
        self.with(|own| own.open(key, connection, opening))
    }

    /// A flow's last bytes are in its socket.
    pub fn written(&self, key: FlowKey) {
        self.with(|own| own.written(key));
    }

    /// A flow has ended.
    pub fn ended(&self, key: FlowKey, gate: &Arc<Gate>, sent: Written) {
        self.with(|own| own.ended(key, gate, sent));
    }

    /// A flow has been abandoned.
    pub fn abandoned(&self, key: FlowKey, gate: &Arc<Gate>) {
        self.with(|own| own.abandoned(key, gate));
    }

    /// The proof that a flow's header shows; `None` if it shows none. Waits for an agent that is
    /// gone, for at most [`AGENT_WITHIN`].
    pub async fn prove(&self, key: FlowKey, direction: Direction) -> Option<Proof> {
        let until = Instant::now() + AGENT_WITHIN;
        loop {
            let answer = {
                let mut own = self.lock();
                if !own.proving.is_on {
                    return None;
                }
                own.port().is_some().then(|| own.proving.ask(key, direction))
            };
            if let Some(answer) = answer {
                self.news.notify_one();
                if let Ok(proof) = answer.await {
                    return proof;
                }
            }
            if Instant::now() >= until {
                let FlowKey { coflow, flow } = key;
                tracing::warn!(coflow, flow, "no agent: a flow begins without a proof");
                return None;
            }
            tokio::time::sleep(RETRY / 4).await;
        }
    }

    /// Why the header of a flow is refused, if it is. Without an agent nobody can tell.
    pub async fn check(
        &self,
        header: &FlowHeader,
        proof: Option<Proof>,
        peer: SocketAddr,
    ) -> Option<ProofRefusal> {
        let answer = {
            let mut own = self.lock();
            if !own.proving.is_on || own.port().is_none() {
                return None;
            }
            let FlowHeader { key, direction, .. } = *header;
            own.proving.check(FlowCheck { number: 0, key, direction, proof, peer })
        };
        self.news.notify_one();
        answer.await.ok().flatten()
    }

    /// Number of ends that the coordinator has not acknowledged.
    pub fn unacknowledged(&self) -> usize {
        self.lock().unacknowledged()
    }
}

async fn run(link: std::sync::Weak<Link>, path: PathBuf, tell: watch::Sender<bool>) {
    let mut version = LOCAL_VERSION;
    loop {
        let connected = UnixStream::connect(&path).await;
        let is_there = connected.is_ok();
        let over = match connected {
            Ok(stream) => tokio::select! {
                over = talk(&link, stream, &tell, version) => over,
                silent = watch_silence(&link, &path) => Err(silent),
            },
            Err(error) => Err(error),
        };
        let Some(link) = link.upgrade() else { return };
        if let Err(error) = over {
            tracing::debug!(agent = %path.display(), %error, "no agent");
        }
        // An agent that knows no version so late ends the connection.
        let may_be_older = is_there && version > OLDEST_LOCAL && link.port().is_none();
        version = if may_be_older { version - 1 } else { LOCAL_VERSION };
        if may_be_older {
            continue;
        }
        link.lock().agent_left();
        drop(link);
        tell.send_replace(true);
        tokio::time::sleep(RETRY).await;
    }
}

/// Returns when the agent does not answer although its connection is open: its process is stopped,
/// or hangs.
///
/// An agent is silent while nothing changes. So a silent agent is probed by a second connection,
/// which an agent of any version welcomes at once.
async fn watch_silence(link: &std::sync::Weak<Link>, path: &Path) -> io::Error {
    loop {
        tokio::time::sleep(SILENCE / 2).await;
        let is_due = |link: Arc<Link>| link.lock().waits() && link.silence() >= SILENCE;
        if !link.upgrade().is_some_and(is_due) {
            continue;
        }
        let answered = tokio::time::timeout(ANSWERS_WITHIN, answers(path)).await;
        if answered.is_err() {
            let what = format!("the agent does not answer within {} s", ANSWERS_WITHIN.as_secs());
            return io::Error::new(io::ErrorKind::TimedOut, what);
        }
        // If the agent is gone, the connection itself ends.
        if let Some(link) = link.upgrade() {
            link.hear();
        }
    }
}

/// Returns when an agent has answered, or there is none.
async fn answers(path: &Path) {
    let Ok(mut stream) = UnixStream::connect(path).await else { return };
    let mut hello = Vec::new();
    encode(&FromApp::Hello(LOCAL_VERSION), &mut hello);
    if stream.write_all(&hello).await.is_ok() {
        // Any answer shows that the agent runs.
        let _ = stream.read(&mut [0; 64]).await;
    }
}

async fn talk(
    link: &std::sync::Weak<Link>,
    stream: UnixStream,
    tell: &watch::Sender<bool>,
    version: u16,
) -> io::Result<()> {
    let (mut reader, mut writer) = stream.into_split();
    let mut decoder = Decoder::default();
    let mut buffer = vec![0; 16 << 10];
    let mut ticks = interval(Duration::from_secs_f64(MAX_TICK_S));
    let mut reports = false;
    let mut bytes = Vec::new();
    encode(&FromApp::Hello(version), &mut bytes);
    loop {
        writer.write_all(&bytes).await?;
        bytes.clear();
        let Some(link) = link.upgrade() else { return Ok(()) };
        let sends = reports && link.lock().sends();
        let mut out = Vec::new();
        tokio::select! {
            count = reader.read(&mut buffer) => {
                let count = count?;
                if count == 0 {
                    return Err(io::ErrorKind::UnexpectedEof.into());
                }
                decoder.push(&buffer[..count]);
                link.hear();
                let garbage = |error| io::Error::new(io::ErrorKind::InvalidData, error);
                while let Some(message) = decoder.take::<ToApp>().map_err(garbage)? {
                    if let ToApp::Welcome { report_every_s, .. } = &message
                        && *report_every_s > 0.0
                    {
                        ticks = interval(Duration::from_secs_f64(report_every_s.clamp(0.001, MAX_TICK_S)));
                        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
                        reports = true;
                    }
                    let is_answer = matches!(message, ToApp::Coordinator { .. });
                    link.lock().heard(message)?;
                    if is_answer {
                        tell.send_replace(true);
                    }
                }
                out = link.lock().take_messages();
            }
            () = link.news.notified() => out = link.lock().take_messages(),
            _ = ticks.tick(), if sends => out = link.lock().report(),
            // Drops the link now and then, to see whether the application still has it.
            () = tokio::time::sleep(PATIENCE), if !sends => {}
        }
        out.iter().for_each(|message| encode(message, &mut bytes));
    }
}
