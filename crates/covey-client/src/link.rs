//! The connection to the agent on this host: which flows there are, and how they stand.

use std::collections::BTreeMap;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use covey_proto::{
    CodecName, Connected, Decoder, Ended, Entry, FlowKey, FromApp, LOCAL_VERSION, MAX_LOCAL_FLOWS,
    Means, Sent, ToApp, encode,
};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpStream, UnixStream};
use tokio::sync::{Notify, watch};
use tokio::time::{MissedTickBehavior, interval};

use crate::framing::Passed;
use crate::gate::{Gate, Standing};

/// Who schedules the flows of this application.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scheduled {
    /// There is no agent: all flows send as fast as they can.
    NoAgent,
    /// The agent does not hear the coordinator: flows keep the last rates they were given, others
    /// send as fast as they can.
    NoCoordinator,
    /// The coordinator.
    Yes,
}

impl fmt::Display for Scheduled {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Scheduled::Yes => "yes",
            Scheduled::NoCoordinator => "no coordinator",
            Scheduled::NoAgent => "no agent",
        })
    }
}

/// A flow of this application that sends.
struct Open {
    gate: Arc<Gate>,
    /// What the agent said last; nothing if it has not.
    told: Option<Entry>,
    since: Instant,
}

struct Table {
    flows: BTreeMap<FlowKey, Open>,
    /// Ends that the coordinator has not written down yet.
    unsettled: BTreeMap<FlowKey, Passed>,
    /// What the agent has not been told yet.
    opened: Vec<FlowKey>,
    written: Vec<FlowKey>,
    ended: Vec<FlowKey>,
    gone: Vec<FlowKey>,
    /// The agent's welcome.
    agent: Option<(Means, u32)>,
    /// When it last said something.
    heard: Instant,
    coordinator: bool,
    /// What the coordinator may have flows compressed with.
    codec: Option<CodecName>,
    /// Whether the present state has been told to whom it concerns.
    noted: Option<Scheduled>,
}

impl Default for Table {
    fn default() -> Table {
        Table {
            flows: BTreeMap::new(),
            unsettled: BTreeMap::new(),
            opened: Vec::new(),
            written: Vec::new(),
            ended: Vec::new(),
            gone: Vec::new(),
            agent: None,
            heard: Instant::now(),
            coordinator: false,
            codec: None,
            noted: None,
        }
    }
}

impl Table {
    fn scheduled(&self) -> Scheduled {
        match (self.agent, self.coordinator) {
            (None, _) => Scheduled::NoAgent,
            (Some(_), false) => Scheduled::NoCoordinator,
            (Some(_), true) => Scheduled::Yes,
        }
    }

    fn place(&self, open: &Open) {
        let served = open.told.filter(|told| told.rate > 0.0);
        let standing = match (self.scheduled(), served) {
            (Scheduled::NoAgent, _) => Standing::Free,
            (_, Some(Entry { rate, .. })) => Standing::Paced(rate),
            (Scheduled::NoCoordinator, _) => Standing::Free,
            (Scheduled::Yes, None) if open.told.is_some() => Standing::Waits,
            (Scheduled::Yes, None) => Standing::Unmentioned { since: open.since },
        };
        let means = self.agent.map_or(Means::Pacing, |(means, _)| means);
        open.gate.set_codec(served.filter(|_| self.agent.is_some()).and_then(|told| told.codec));
        open.gate.set(standing, served.map(|told| told.layer), means);
    }

    /// The state has changed: says so once, and places all flows anew.
    fn changed(&mut self) {
        let scheduled = self.scheduled();
        if self.noted != Some(scheduled) {
            match scheduled {
                Scheduled::NoAgent => tracing::warn!("no agent: flows are not scheduled"),
                Scheduled::NoCoordinator => {
                    tracing::warn!("the agent hears no coordinator: new flows are not scheduled");
                }
                Scheduled::Yes if self.noted.is_some() => tracing::info!("flows are scheduled"),
                Scheduled::Yes => {}
            }
            self.noted = Some(scheduled);
        }
        self.flows.values().for_each(|open| self.place(open));
    }

    /// An agent hears this application for the first time: it is told all.
    fn welcomed(&mut self, means: Means, port: u32) {
        self.agent = Some((means, port));
        self.coordinator = false;
        let now = Instant::now();
        for open in self.flows.values_mut() {
            (open.told, open.since) = (None, now);
        }
        self.opened = self.flows.keys().copied().collect();
        self.ended = self.unsettled.keys().copied().collect();
        self.written.clear();
        self.gone.clear();
    }

    fn take_messages(&mut self) -> Vec<FromApp> {
        let mut out = Vec::new();
        let each = |keys: &mut Vec<FlowKey>| std::mem::take(keys);
        let opened = each(&mut self.opened);
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
        let written = each(&mut self.written);
        out.extend(written.chunks(MAX_LOCAL_FLOWS).map(|some| FromApp::Written(some.to_vec())));
        let ended = each(&mut self.ended).into_iter();
        let ended = ended.filter_map(|key| {
            let Passed { bytes, wire } = *self.unsettled.get(&key)?;
            Some(Ended { key, bytes: bytes as f64, wire: wire as f64 })
        });
        let ended: Vec<Ended> = ended.collect();
        out.extend(ended.chunks(MAX_LOCAL_FLOWS).map(|some| FromApp::Ended(some.to_vec())));
        let gone = each(&mut self.gone);
        out.extend(gone.chunks(MAX_LOCAL_FLOWS).map(|some| FromApp::Gone(some.to_vec())));
        out
    }

    fn report(&self) -> Vec<FromApp> {
        let sent = self.flows.iter().filter_map(|(&key, open)| {
            let Passed { bytes, wire } = open.gate.take_unreported()?;
            Some(Sent { key, bytes: bytes as f64, wire: wire as f64 })
        });
        let sent: Vec<Sent> = sent.collect();
        sent.chunks(MAX_LOCAL_FLOWS).map(|some| FromApp::Sent(some.to_vec())).collect()
    }
}

/// The connection to the agent, which comes again when it has gone.
pub struct Link {
    table: Mutex<Table>,
    news: Notify,
}

/// How long the application waits for its agent at the start.
const PATIENCE: Duration = Duration::from_secs(1);
/// How long between two attempts to find it.
const AGAIN: Duration = Duration::from_millis(200);
/// How long an agent may say nothing to an application with flows before it is asked whether it is there, and how
/// long that may take.
const SILENCE: Duration = Duration::from_secs(1);
const ANSWERS_WITHIN: Duration = Duration::from_secs(2);

impl Link {
    /// A link to the agent at `path`, or to none. Returns when it has answered, or not in time.
    pub async fn start(path: Option<PathBuf>) -> Arc<Link> {
        let link = Arc::new(Link { table: Mutex::default(), news: Notify::new() });
        let Some(path) = path else {
            link.lock().changed();
            return link;
        };
        let (tell, mut answered) = watch::channel(false);
        tokio::spawn(run(Arc::downgrade(&link), path, tell));
        // Who does not answer in time may do so later.
        let _ = tokio::time::timeout(PATIENCE, answered.wait_for(|is| *is)).await;
        link
    }

    fn lock(&self) -> MutexGuard<'_, Table> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Who schedules.
    pub fn scheduled(&self) -> Scheduled {
        self.lock().scheduled()
    }

    /// The port of the fabric that this host is, as the agent says.
    pub fn port(&self) -> Option<u32> {
        self.lock().agent.map(|(_, port)| port)
    }

    /// What flows that are opened now may be compressed with, if they may.
    pub fn codec(&self) -> Option<CodecName> {
        self.lock().codec
    }

    /// A flow is to be sent over `socket`.
    pub fn open(&self, key: FlowKey, socket: Arc<TcpStream>) -> Arc<Gate> {
        let mut table = self.lock();
        let gate = Arc::new(Gate::new(socket, Standing::Free));
        let open = Open { gate: gate.clone(), told: None, since: Instant::now() };
        table.place(&open);
        table.flows.insert(key, open);
        if table.agent.is_some() {
            table.opened.push(key);
        }
        drop(table);
        self.news.notify_one();
        gate
    }

    /// A flow's last bytes are in its socket.
    pub fn written(&self, key: FlowKey) {
        let mut table = self.lock();
        // Where the host keeps rates, what it still has of a flow goes out at the flow's rate.
        if table.agent.is_some_and(|(means, _)| means.paces() && !means.shapes()) {
            table.written.push(key);
        }
        drop(table);
        self.news.notify_one();
    }

    /// A flow has ended.
    pub fn ended(&self, key: FlowKey, sent: Passed) {
        let mut table = self.lock();
        table.flows.remove(&key);
        table.unsettled.insert(key, sent);
        if table.agent.is_some() {
            table.ended.push(key);
        }
        drop(table);
        self.news.notify_one();
    }

    /// A flow has been given up.
    pub fn gone(&self, key: FlowKey) {
        let mut table = self.lock();
        table.flows.remove(&key);
        if table.agent.is_some() {
            table.gone.push(key);
        }
        drop(table);
        self.news.notify_one();
    }

    /// Ends that the coordinator has not written down yet.
    pub fn unsettled(&self) -> usize {
        self.lock().unsettled.len()
    }
}

async fn run(link: std::sync::Weak<Link>, path: PathBuf, tell: watch::Sender<bool>) {
    loop {
        let over = match UnixStream::connect(&path).await {
            Ok(stream) => tokio::select! {
                over = talk(&link, stream, &tell) => over,
                silent = watch_silence(&link, &path) => Err(silent),
            },
            Err(error) => Err(error),
        };
        let Some(link) = link.upgrade() else { return };
        if let Err(error) = over {
            tracing::debug!(agent = %path.display(), %error, "no agent");
        }
        {
            let mut table = link.lock();
            table.agent = None;
            table.coordinator = false;
            table.codec = None;
            table.changed();
        }
        drop(link);
        tell.send_replace(true);
        tokio::time::sleep(AGAIN).await;
    }
}

/// Returns when the agent is there, and yet says nothing: its process is stopped, or hangs.
///
/// An agent has nothing to say for as long as nothing changes. So it is asked, by a connection of its own, which an
/// agent of any version welcomes at once.
async fn watch_silence(link: &std::sync::Weak<Link>, path: &Path) -> io::Error {
    loop {
        tokio::time::sleep(SILENCE / 2).await;
        let is_due = link.upgrade().is_some_and(|link| {
            let table = link.lock();
            let waits = !(table.flows.is_empty() && table.unsettled.is_empty());
            waits && table.agent.is_some() && table.heard.elapsed() >= SILENCE
        });
        if !is_due {
            continue;
        }
        let answered = tokio::time::timeout(ANSWERS_WITHIN, answers(path)).await;
        if answered.is_err() {
            let what = format!("the agent does not answer within {} s", ANSWERS_WITHIN.as_secs());
            return io::Error::new(io::ErrorKind::TimedOut, what);
        }
        // Whether it is gone the connection itself tells.
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
        // Whatever it says: it lives.
        let _ = stream.read(&mut [0; 64]).await;
    }
}

async fn talk(
    link: &std::sync::Weak<Link>,
    stream: UnixStream,
    tell: &watch::Sender<bool>,
) -> io::Result<()> {
    let (mut reader, mut writer) = stream.into_split();
    let mut decoder = Decoder::default();
    let mut buffer = vec![0; 16 << 10];
    let mut ticks = interval(Duration::from_secs(3600));
    let mut reports = false;
    let mut bytes = Vec::new();
    encode(&FromApp::Hello(LOCAL_VERSION), &mut bytes);
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
                        ticks = interval(Duration::from_secs_f64(report_every_s.max(0.001)));
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
                let mut table = link.lock();
                if table.agent.is_some() {
                    out = table.take_messages();
                }
            }
            _ = ticks.tick(), if sends => out = link.lock().report(),
            // Lets go of the link now and then, to see whether anybody else has it.
            () = tokio::time::sleep(PATIENCE), if !sends => {}
        }
        out.iter().for_each(|message| encode(message, &mut bytes));
    }
}

fn heard(link: &Link, message: ToApp) -> io::Result<()> {
    let mut table = link.lock();
    match message {
        ToApp::Refused => return Err(io::Error::other("the agent refuses this application")),
        ToApp::Welcome { version, .. } if version != LOCAL_VERSION => {
            return Err(io::Error::other("the agent speaks another version"));
        }
        ToApp::Welcome { means, port, .. } => table.welcomed(means, port),
        ToApp::Coordinator { heard, codec } => {
            table.coordinator = heard;
            table.codec = codec;
            table.changed();
        }
        ToApp::Shares(entries) => {
            for entry in entries {
                let Some(mut open) = table.flows.remove(&entry.key) else { continue };
                open.told = Some(entry);
                table.place(&open);
                table.flows.insert(entry.key, open);
            }
        }
        ToApp::Acknowledged(keys) => {
            for key in keys {
                table.unsettled.remove(&key);
            }
        }
    }
    Ok(())
}
