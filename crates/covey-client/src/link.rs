//! The connection to the agent on this host: the flows of this application and what the schedule says of them.

use std::collections::BTreeMap;
use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};

use covey_proto::{
    CodecName, Connected, Decoder, Direction, Ended, Entry, FlowCheck, FlowHeader, FlowKey,
    FlowOpening, FromApp, LOCAL_OPENINGS, LOCAL_TOKENS, LOCAL_VERSION, MAX_LOCAL_FLOWS, Means,
    OLDEST_LOCAL, OpeningAnswer, OpeningError, Proof, ProofRefusal, Sent, Side, ToApp, encode,
};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::UnixStream;
use tokio::sync::{Notify, watch};
use tokio::time::{MissedTickBehavior, interval};

use crate::connection::Connection;
use crate::framing::Written;
use crate::gate::{Gate, SendState};
use crate::opening::Opening;
use crate::proving::Proving;

/// Whether the flows of this application are scheduled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scheduled {
    /// There is no agent: all flows send as fast as they can.
    NoAgent,
    /// The agent does not hear the coordinator: flows keep the last rates that they were given; flows without a rate
    /// send as fast as they can.
    NoCoordinator,
    /// The coordinator schedules them.
    Yes,
    /// Nobody is in charge: receivers give them priorities.
    ByReceivers,
}

impl fmt::Display for Scheduled {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Scheduled::Yes => "yes",
            Scheduled::NoCoordinator => "no coordinator",
            Scheduled::NoAgent => "no agent",
            Scheduled::ByReceivers => "by receivers",
        })
    }
}

/// A flow that this application sends.
struct SendingFlow {
    gate: Arc<Gate>,
    /// The agent's last message about the flow.
    entry: Option<Entry>,
    /// Whether nobody needs the flow any more.
    is_cancelled: bool,
    /// When the flow was opened, or this agent was told of it.
    since: Instant,
}

/// What the agent has not been told yet.
#[derive(Default)]
struct News {
    opened: Vec<FlowKey>,
    written: Vec<FlowKey>,
    ended: Vec<FlowKey>,
    gone: Vec<FlowKey>,
    opens: Vec<FlowOpening>,
}

/// The flows of this application, and what is known of agent and coordinator.
struct OwnFlows {
    flows: BTreeMap<FlowKey, SendingFlow>,
    /// Ends that the coordinator has not acknowledged.
    unacknowledged: BTreeMap<FlowKey, Written>,
    news: News,
    /// Means and port, from the agent's welcome.
    agent: Option<(Means, u32)>,
    /// When the agent's last message came.
    heard: Instant,
    /// Whether the agent hears the coordinator.
    coordinator: bool,
    /// The compressor that schedules may name, if they may name one.
    codec: Option<CodecName>,
    /// The state that was logged last.
    logged: Option<Scheduled>,
    proving: Proving,
    /// The ends of flows that are open here, with the bytes that each was opened for, if their application still has
    /// them.
    openings: BTreeMap<(FlowKey, Side), (Weak<Opening>, f64)>,
    /// How many of these there are when those that nobody has any more are forgotten next.
    prune_at: usize,
    /// Whether the agent passes on what is registered of flows.
    checks_openings: bool,
}

impl Default for OwnFlows {
    fn default() -> OwnFlows {
        OwnFlows {
            flows: BTreeMap::new(),
            unacknowledged: BTreeMap::new(),
            news: News::default(),
            agent: None,
            heard: Instant::now(),
            coordinator: false,
            codec: None,
            logged: None,
            proving: Proving::default(),
            openings: BTreeMap::new(),
            prune_at: MIN_PRUNED,
            checks_openings: false,
        }
    }
}

impl OwnFlows {
    fn scheduled(&self) -> Scheduled {
        match (self.agent, self.coordinator) {
            (None, _) => Scheduled::NoAgent,
            (Some(_), false) => Scheduled::NoCoordinator,
            (Some(_), true) => Scheduled::Yes,
        }
    }

    /// Sets a flow's gate.
    fn set_gate(&self, flow: &SendingFlow) {
        let served = flow.entry.filter(|entry| entry.rate > 0.0);
        let state = match (self.scheduled(), served) {
            _ if flow.is_cancelled => SendState::Cancelled,
            (Scheduled::NoAgent | Scheduled::ByReceivers, _) => SendState::Free,
            (_, Some(Entry { rate, .. })) => SendState::Paced(rate),
            (Scheduled::NoCoordinator, _) => SendState::Free,
            (Scheduled::Yes, None) if flow.entry.is_some() => SendState::Waits,
            (Scheduled::Yes, None) => SendState::Unmentioned { since: flow.since },
        };
        let means = self.agent.map_or(Means::Pacing, |(means, _)| means);
        let codec = served.filter(|_| self.agent.is_some()).and_then(|entry| entry.codec);
        flow.gate.set_codec(codec);
        flow.gate.set(state, served.map(|entry| entry.layer), means);
    }

    /// Agent or coordinator has come or gone: logs that once, and sets all gates.
    fn changed(&mut self) {
        let scheduled = self.scheduled();
        if self.logged != Some(scheduled) {
            match scheduled {
                Scheduled::NoAgent => tracing::warn!("no agent: flows are not scheduled"),
                Scheduled::NoCoordinator => {
                    tracing::warn!("the agent hears no coordinator: new flows are not scheduled");
                }
                Scheduled::Yes if self.logged.is_some() => tracing::info!("flows are scheduled"),
                Scheduled::Yes | Scheduled::ByReceivers => {}
            }
            self.logged = Some(scheduled);
        }
        self.flows.values().for_each(|flow| self.set_gate(flow));
    }

    /// An agent has welcomed this application: it is to be told everything.
    fn welcomed(&mut self, means: Means, port: u32, version: u16) {
        self.agent = Some((means, port));
        self.checks_openings = version >= LOCAL_OPENINGS;
        self.coordinator = false;
        let now = Instant::now();
        for flow in self.flows.values_mut() {
            (flow.entry, flow.since) = (None, now);
        }
        let open = self.flows.iter().filter(|(_, flow)| !flow.is_cancelled);
        let opened = open.map(|(key, _)| *key).collect();
        let ended = self.unacknowledged.keys().copied().collect();
        self.openings.retain(|_, (opening, _)| opening.strong_count() > 0);
        let open = self.openings.iter().filter(|((_, side), _)| *side == Side::Sends);
        let opens = open.map(|(&(key, side), &(_, bytes))| FlowOpening { key, side, bytes });
        let opens = opens.filter(|_| self.checks_openings).collect();
        self.news = News { opened, ended, opens, ..News::default() };
    }

    /// Whether a flow has not been opened again since it got this gate.
    fn is_latest(&self, key: FlowKey, gate: &Arc<Gate>) -> bool {
        self.flows.get(&key).is_some_and(|flow| Arc::ptr_eq(&flow.gate, gate))
    }

    /// The agent is to ask what is registered of a flow.
    fn ask_opening(&mut self, key: FlowKey, side: Side, bytes: f64) {
        if self.agent.is_some() && self.checks_openings {
            self.news.opens.push(FlowOpening { key, side, bytes });
        }
    }

    fn take_messages(&mut self) -> Vec<FromApp> {
        let mut out = Vec::new();
        let News { opened, written, ended, gone, opens } = std::mem::take(&mut self.news);
        // What was opened once more is over first.
        let (again, ended) = ended.into_iter().partition(|key| self.flows.contains_key(key));
        let (gone_before, gone): (Vec<FlowKey>, Vec<FlowKey>) =
            gone.into_iter().partition(|key| self.flows.contains_key(key));
        self.say_over(again, &gone_before, &mut out);
        // Before proofs are asked for: the answers come in this order, too.
        out.extend(opens.chunks(MAX_LOCAL_FLOWS).map(|some| FromApp::Opens(some.to_vec())));
        self.proving.take_messages(&mut out);
        out.extend(opened.chunks(MAX_LOCAL_FLOWS).map(|some| FromApp::Opened(some.to_vec())));
        if self.agent.is_some_and(|(means, _)| means.shapes()) {
            let connected = |key: &FlowKey| {
                let (from, to) = self.flows.get(key)?.gate.ends()?;
                Some(Connected { key: *key, from, to })
            };
            let connected: Vec<Connected> = opened.iter().filter_map(connected).collect();
            let each = connected.chunks(MAX_LOCAL_FLOWS);
            out.extend(each.map(|some| FromApp::Connected(some.to_vec())));
        }
        out.extend(written.chunks(MAX_LOCAL_FLOWS).map(|some| FromApp::Written(some.to_vec())));
        self.say_over(ended, &gone, &mut out);
        out
    }

    /// Says that flows have ended, and that others have been abandoned.
    fn say_over(&self, ended: Vec<FlowKey>, gone: &[FlowKey], out: &mut Vec<FromApp>) {
        let ended = ended.into_iter().filter_map(|key| {
            let Written { bytes, wire } = *self.unacknowledged.get(&key)?;
            Some(Ended { key, bytes: bytes as f64, wire: wire as f64 })
        });
        let ended: Vec<Ended> = ended.collect();
        out.extend(ended.chunks(MAX_LOCAL_FLOWS).map(|some| FromApp::Ended(some.to_vec())));
        out.extend(gone.chunks(MAX_LOCAL_FLOWS).map(|some| FromApp::Gone(some.to_vec())));
    }

    fn report(&self) -> Vec<FromApp> {
        let sent = self.flows.iter().filter_map(|(&key, flow)| {
            let Written { bytes, wire } = flow.gate.take_unreported()?;
            Some(Sent { key, bytes: bytes as f64, wire: wire as f64 })
        });
        let sent: Vec<Sent> = sent.collect();
        sent.chunks(MAX_LOCAL_FLOWS).map(|some| FromApp::Sent(some.to_vec())).collect()
    }
}

/// The connection to the agent. It is made again when it is lost.
pub struct Link {
    flows: Mutex<OwnFlows>,
    /// Notified when there is something to tell the agent.
    news: Notify,
}

/// How long a flow that needs a proof waits for an agent that is gone.
const AGENT_WITHIN: Duration = Duration::from_secs(5);
/// So many ends of flows may be kept although nobody has them open.
const MIN_PRUNED: usize = 1000;
/// How long the start of an application waits for the agent.
const PATIENCE: Duration = Duration::from_secs(1);
/// Time between two attempts to connect to the agent.
const RETRY: Duration = Duration::from_millis(200);
/// Maximum time between two reports of what flows have sent, in seconds.
const MAX_TICK_S: f64 = 3600.0;
/// How long an agent may be silent to an application with flows before it is probed, and how long it may take to
/// answer.
const SILENCE: Duration = Duration::from_secs(1);
const ANSWERS_WITHIN: Duration = Duration::from_secs(2);

impl Link {
    /// A connection to no agent, where none is needed.
    pub fn unused() -> Arc<Link> {
        Arc::new(Link { flows: Mutex::default(), news: Notify::new() })
    }

    /// Connects to the agent at `path`, if there is one. Returns when it has answered, or after [`PATIENCE`].
    pub async fn start(path: Option<PathBuf>) -> Arc<Link> {
        let link = Arc::new(Link { flows: Mutex::default(), news: Notify::new() });
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

    /// Whether flows are scheduled.
    pub fn scheduled(&self) -> Scheduled {
        self.lock().scheduled()
    }

    /// The port of the fabric that this host is, as the agent says.
    pub fn port(&self) -> Option<u32> {
        self.lock().agent.map(|(_, port)| port)
    }

    /// The compressor that schedules may name, if they may name one.
    pub fn codec(&self) -> Option<CodecName> {
        self.lock().codec
    }

    /// An application opens one end of a flow, to send `bytes` of it (infinite: as many as there are). If it has the
    /// flow open to send already, that one is over.
    pub fn begin(&self, key: FlowKey, side: Side, bytes: f64) -> Arc<Opening> {
        let opening = Opening::new(key, side);
        let mut own = self.lock();
        if own.openings.len() >= own.prune_at {
            own.openings.retain(|_, (opening, _)| opening.strong_count() > 0);
            own.prune_at = 2 * own.openings.len() + MIN_PRUNED;
        }
        let before = own.openings.insert((key, side), (Arc::downgrade(&opening), bytes));
        if side == Side::Sends
            && let Some(before) = before.and_then(|(before, _)| before.upgrade())
        {
            before.answered(OpeningAnswer { key, side, found: Err(OpeningError::Taken) });
        }
        own.ask_opening(key, side, bytes);
        drop(own);
        self.news.notify_one();
        opening
    }

    /// A flow is to send more than is registered: the coordinator is to hear of it.
    pub fn exceeds(&self, key: FlowKey, bytes: f64) {
        self.lock().ask_opening(key, Side::Sends, bytes);
        self.news.notify_one();
    }

    /// Opens a flow over `connection`.
    pub fn open(&self, key: FlowKey, connection: Arc<Connection>) -> Arc<Gate> {
        let mut own = self.lock();
        let gate = Arc::new(Gate::new(connection, SendState::Free));
        let (since, is_cancelled) = (Instant::now(), false);
        let flow = SendingFlow { gate: gate.clone(), entry: None, is_cancelled, since };
        own.set_gate(&flow);
        own.flows.insert(key, flow);
        if own.agent.is_some() {
            own.news.opened.push(key);
        }
        drop(own);
        self.news.notify_one();
        gate
    }

    /// A flow's last bytes are in its socket.
    pub fn written(&self, key: FlowKey) {
        let mut own = self.lock();
        // Where the host keeps rates, it sends the rest of the flow at the flow's rate, which is still needed.
        if own.agent.is_some_and(|(means, _)| means.paces() && !means.shapes()) {
            own.news.written.push(key);
        }
        drop(own);
        self.news.notify_one();
    }

    /// A flow has ended.
    pub fn ended(&self, key: FlowKey, gate: &Arc<Gate>, sent: Written) {
        let mut own = self.lock();
        if !own.is_latest(key, gate) {
            return;
        }
        own.flows.remove(&key);
        own.openings.remove(&(key, Side::Sends));
        own.unacknowledged.insert(key, sent);
        if own.agent.is_some() {
            own.news.ended.push(key);
        }
        drop(own);
        self.news.notify_one();
    }

    /// A flow has been abandoned.
    pub fn abandoned(&self, key: FlowKey, gate: &Arc<Gate>) {
        let mut own = self.lock();
        if !own.is_latest(key, gate) {
            return;
        }
        own.flows.remove(&key);
        own.openings.remove(&(key, Side::Sends));
        if own.agent.is_some() {
            own.news.gone.push(key);
        }
        drop(own);
        self.news.notify_one();
    }

    /// The proof that a flow's header shows; `None` if it shows none. Waits for an agent that is gone, for at most
    /// [`AGENT_WITHIN`].
    pub async fn prove(&self, key: FlowKey, direction: Direction) -> Option<Proof> {
        let until = Instant::now() + AGENT_WITHIN;
        loop {
            let answer = {
                let mut own = self.lock();
                if !own.proving.is_on {
                    return None;
                }
                own.agent.is_some().then(|| own.proving.ask(key, direction))
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
            if !own.proving.is_on || own.agent.is_none() {
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
        self.lock().unacknowledged.len()
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
        {
            let mut own = link.lock();
            own.agent = None;
            own.proving.agent_left();
            own.coordinator = false;
            own.codec = None;
            own.changed();
        }
        drop(link);
        tell.send_replace(true);
        tokio::time::sleep(RETRY).await;
    }
}

/// Returns when the agent does not answer although its connection is open: its process is stopped, or hangs.
///
/// An agent is silent while nothing changes. So a silent agent is probed by a second connection, which an agent of
/// any version welcomes at once.
async fn watch_silence(link: &std::sync::Weak<Link>, path: &Path) -> io::Error {
    loop {
        tokio::time::sleep(SILENCE / 2).await;
        let is_due = link.upgrade().is_some_and(|link| {
            let own = link.lock();
            let is_idle = own.flows.is_empty() && own.unacknowledged.is_empty();
            let waits = !is_idle || own.proving.waits();
            waits && own.agent.is_some() && own.heard.elapsed() >= SILENCE
        });
        if !is_due {
            continue;
        }
        let answered = tokio::time::timeout(ANSWERS_WITHIN, answers(path)).await;
        if answered.is_err() {
            let what = format!("the agent does not answer within {} s", ANSWERS_WITHIN.as_secs());
            return io::Error::new(io::ErrorKind::TimedOut, what);
        }
        // If the agent is gone, the connection itself ends.
        if let Some(link) = link.upgrade() {
            link.lock().heard = Instant::now();
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
        let sends = reports && !link.lock().flows.is_empty();
        let mut out = Vec::new();
        tokio::select! {
            count = reader.read(&mut buffer) => {
                let count = count?;
                if count == 0 {
                    return Err(io::ErrorKind::UnexpectedEof.into());
                }
                decoder.push(&buffer[..count]);
                link.lock().heard = Instant::now();
                let garbage = |error| io::Error::new(io::ErrorKind::InvalidData, error);
                while let Some(message) = decoder.take::<ToApp>().map_err(garbage)? {
                    if let ToApp::Welcome { report_every_s, .. } = &message
                        && *report_every_s > 0.0
                    {
                        ticks = interval(Duration::from_secs_f64(report_every_s.clamp(0.001, MAX_TICK_S)));
                        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
                        reports = true;
                    }
                    if let ToApp::Coordinator { .. } = &message {
                        heard(&link, message)?;
                        tell.send_replace(true);
                    } else {
                        heard(&link, message)?;
                    }
                }
                out = link.lock().take_messages();
            }
            () = link.news.notified() => {
                let mut own = link.lock();
                if own.agent.is_some() {
                    out = own.take_messages();
                }
            }
            _ = ticks.tick(), if sends => out = link.lock().report(),
            // Drops the link now and then, to see whether the application still has it.
            () = tokio::time::sleep(PATIENCE), if !sends => {}
        }
        out.iter().for_each(|message| encode(message, &mut bytes));
    }
}

fn heard(link: &Link, message: ToApp) -> io::Result<()> {
    let mut own = link.lock();
    match message {
        ToApp::Refused => return Err(io::Error::other("the agent refuses this application")),
        ToApp::Welcome { version, .. } if !(OLDEST_LOCAL..=LOCAL_VERSION).contains(&version) => {
            return Err(io::Error::other("the agent speaks another version"));
        }
        ToApp::Welcome { version, means, port, .. } => {
            own.welcomed(means, port, version);
            own.proving.is_on &= version >= LOCAL_TOKENS;
        }
        ToApp::Coordinator { heard, codec } => {
            own.coordinator = heard;
            own.codec = codec;
            own.changed();
        }
        ToApp::Shares(entries) => {
            for entry in entries {
                let Some(mut flow) = own.flows.remove(&entry.key) else { continue };
                flow.entry = Some(entry);
                own.set_gate(&flow);
                own.flows.insert(entry.key, flow);
            }
        }
        ToApp::Acknowledged(keys) => {
            for key in keys {
                // An end that the application has told. The flow may have been opened once more.
                if own.unacknowledged.remove(&key).is_some() {
                    continue;
                }
                // The coordinator has ended a flow that is still open here.
                if let Some(mut flow) = own.flows.remove(&key) {
                    flow.is_cancelled = true;
                    own.set_gate(&flow);
                    own.flows.insert(key, flow);
                }
            }
        }
        ToApp::Proving(is_on) => own.proving.is_on = is_on,
        ToApp::Proofs(proofs) => own.proving.proved(proofs),
        ToApp::Checked(checked) => own.proving.checked(checked),
        ToApp::Openings(answers) => {
            for answer in answers {
                let at = (answer.key, answer.side);
                let opening = own.openings.get(&at).and_then(|(opening, _)| opening.upgrade());
                if let Some(opening) = opening {
                    opening.answered(answer);
                }
                if answer.side == Side::Receives {
                    own.openings.remove(&at);
                }
            }
        }
    }
    Ok(())
}
