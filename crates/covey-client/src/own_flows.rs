//! The flows of this application, and what is known of agent and coordinator. Without I/O.

use std::collections::BTreeMap;
use std::fmt;
use std::io;
use std::sync::Arc;
use std::time::Instant;

use covey_proto::{
    CodecName, Connected, Ended, Entry, FlowKey, FlowOpening, FromApp, LOCAL_OPENINGS,
    LOCAL_TOKENS, LOCAL_VERSION, MAX_LOCAL_FLOWS, Means, OLDEST_LOCAL, Sent, Service, ToApp,
};

use crate::connection::Connection;
use crate::framing::Written;
use crate::gate::{Gate, SendState};
use crate::opening::{Opening, Openings};
use crate::proving::Proving;

/// Whether the flows of this application are scheduled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scheduled {
    /// There is no agent: all flows send as fast as they can.
    NoAgent,
    /// The agent does not hear the coordinator: flows keep the last rates that they were given;
    /// flows without a rate send as fast as they can.
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
    service: Option<Service>,
    /// Whether it is opened rightly, and needed.
    opening: Arc<Opening>,
    /// When the flow was opened, or this agent was told of it.
    since: Instant,
}

/// Something that has happened to a flow, which the agent is to hear.
#[derive(Debug, Clone, Copy)]
enum News {
    Opens(FlowOpening),
    Opened(FlowKey),
    Written(FlowKey),
    Ended(Ended),
    Gone(FlowKey),
}

fn ended(key: FlowKey, Written { bytes, wire }: Written) -> Ended {
    Ended { key: key.into(), bytes: bytes as f64, wire: wire as f64 }
}

/// The flows of this application, and what is known of agent and coordinator.
#[derive(Default)]
pub struct OwnFlows {
    flows: BTreeMap<FlowKey, SendingFlow>,
    /// Ends that the coordinator has not acknowledged.
    unacknowledged: BTreeMap<FlowKey, Written>,
    /// What the agent has not been told yet, in the order in which it has happened: a flow may end
    /// and be opened again.
    news: Vec<News>,
    /// Means and port, from the agent's welcome.
    agent: Option<(Means, u32)>,
    /// Whether the agent hears the coordinator.
    coordinator: bool,
    /// The compressor that schedules may name, if they may name one.
    codec: Option<CodecName>,
    /// Bytes that the open flows of a coflow may send before a schedule mentions them.
    start_small: u64,
    /// The state that was logged last.
    logged: Option<Scheduled>,
    pub proving: Proving,
    openings: Openings,
    /// Whether the agent passes on what is registered of flows.
    checks_openings: bool,
}

impl OwnFlows {
    pub fn scheduled(&self) -> Scheduled {
        match (self.agent, self.coordinator) {
            (None, _) => Scheduled::NoAgent,
            (Some(_), false) => Scheduled::NoCoordinator,
            (Some(_), true) => Scheduled::Yes,
        }
    }

    /// The port of the fabric that this host is, as the agent says; `None` without an agent.
    pub fn port(&self) -> Option<u32> {
        self.agent.map(|(_, port)| port)
    }

    /// The compressor that schedules may name, if they may name one.
    pub fn codec(&self) -> Option<CodecName> {
        self.codec
    }

    /// Whether flows are open here.
    pub fn sends(&self) -> bool {
        !self.flows.is_empty()
    }

    /// Number of ends that the coordinator has not acknowledged.
    pub fn unacknowledged(&self) -> usize {
        self.unacknowledged.len()
    }

    /// Sets a flow's gate.
    fn set_gate(&self, flow: &SendingFlow) {
        let served = flow.service.filter(|service| service.rate > 0.0);
        // A flow that may be opened wrongly has no use for a rate: it may be that of an earlier
        // opening.
        let is_asked = self.checks_openings && !flow.opening.is_right();
        let state = match (self.scheduled(), served) {
            _ if flow.opening.is_cancelled() => SendState::Cancelled,
            (Scheduled::Yes, _) if is_asked => {
                SendState::Unmentioned { since: flow.since, free: self.start_small }
            }
            (Scheduled::NoAgent | Scheduled::ByReceivers, _) => SendState::Free,
            (_, Some(Service { rate, .. })) => SendState::Paced(rate),
            (Scheduled::NoCoordinator, _) => SendState::Free,
            (Scheduled::Yes, None) if flow.service.is_some() => SendState::Waits,
            (Scheduled::Yes, None) => {
                SendState::Unmentioned { since: flow.since, free: self.start_small }
            }
        };
        let means = self.agent.map_or(Means::Pacing, |(means, _)| means);
        let codec = served.filter(|_| self.agent.is_some()).and_then(|service| service.codec);
        flow.gate.set_codec(codec);
        flow.gate.set(state, served.map(|service| service.layer), means);
    }

    /// Agent or coordinator has come or gone: logs that once, and sets all gates.
    pub fn changed(&mut self) {
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
        self.start_small = 0;
        let now = Instant::now();
        for flow in self.flows.values_mut() {
            (flow.service, flow.since) = (None, now);
        }
        let over = self.unacknowledged.iter().map(|(&key, &sent)| News::Ended(ended(key, sent)));
        let asked = if self.checks_openings { self.openings.ask_again() } else { Vec::new() };
        let open = self.flows.iter().filter(|(_, flow)| !flow.opening.is_cancelled());
        let open = open.map(|(&key, _)| News::Opened(key));
        self.news = over.chain(asked.into_iter().map(News::Opens)).chain(open).collect();
    }

    /// The agent is gone.
    pub fn agent_left(&mut self) {
        self.agent = None;
        self.proving.agent_left();
        self.coordinator = false;
        self.codec = None;
        self.changed();
    }

    fn note(&mut self, news: News) {
        // Who comes is told everything.
        if self.agent.is_some() {
            self.news.push(news);
        }
    }

    /// One end of a flow is opened.
    pub fn begin(&mut self, what: FlowOpening) -> Arc<Opening> {
        self.ask(what);
        self.openings.begin(what, self.agent.is_some() && self.checks_openings)
    }

    /// The agent is to ask what is registered of a flow.
    pub fn ask(&mut self, what: FlowOpening) {
        if self.agent.is_some() && self.checks_openings && self.openings.ask(what) {
            self.note(News::Opens(what));
        }
    }

    /// A flow is open to send over `connection`.
    pub fn open(
        &mut self,
        key: FlowKey,
        connection: Arc<Connection>,
        opening: Arc<Opening>,
    ) -> Arc<Gate> {
        let other = self.flows.range(FlowKey::all_of(key.coflow)).next();
        let of_coflow = other.map_or_else(Arc::default, |(_, flow)| flow.gate.of_coflow());
        let gate = Arc::new(Gate::new(connection, SendState::Free, of_coflow));
        let since = Instant::now();
        let flow = SendingFlow { gate: gate.clone(), service: None, opening, since };
        self.set_gate(&flow);
        self.flows.insert(key, flow);
        self.note(News::Opened(key));
        gate
    }

    /// A flow's last bytes are in its socket.
    pub fn written(&mut self, key: FlowKey) {
        // Where the host keeps rates, it sends the rest of the flow at the flow's rate, which is
        // still needed.
        if self.agent.is_some_and(|(means, _)| means.paces() && !means.shapes()) {
            self.note(News::Written(key));
        }
    }

    /// A flow has ended.
    pub fn ended(&mut self, key: FlowKey, gate: &Arc<Gate>, sent: Written) {
        if self.remove(key, gate) {
            self.unacknowledged.insert(key, sent);
            self.note(News::Ended(ended(key, sent)));
        }
    }

    /// A flow has been abandoned.
    pub fn abandoned(&mut self, key: FlowKey, gate: &Arc<Gate>) {
        if self.remove(key, gate) {
            self.note(News::Gone(key));
        }
    }

    /// Removes a flow, unless it has been opened again since it got this gate.
    fn remove(&mut self, key: FlowKey, gate: &Arc<Gate>) -> bool {
        let is_latest = self.flows.get(&key).is_some_and(|flow| Arc::ptr_eq(&flow.gate, gate));
        is_latest && self.flows.remove(&key).is_some()
    }

    /// Takes what the agent is to hear. There is nothing before it has welcomed this application.
    pub fn take_messages(&mut self) -> Vec<FromApp> {
        let mut out = Vec::new();
        if self.agent.is_none() {
            return out;
        }
        let news = std::mem::take(&mut self.news);
        let is_alike = |a: &News, b: &News| std::mem::discriminant(a) == std::mem::discriminant(b);
        for run in news.chunk_by(is_alike).flat_map(|run| run.chunks(MAX_LOCAL_FLOWS)) {
            self.say(run, &mut out);
        }
        // Behind what flows are opened for: the answers come in this order, too.
        self.proving.take_messages(&mut out);
        out
    }

    /// Says news of one kind.
    fn say(&self, run: &[News], out: &mut Vec<FromApp>) {
        let keys = || {
            let key = |news: &News| match *news {
                News::Opened(key) | News::Written(key) | News::Gone(key) => Some(key),
                News::Opens(_) | News::Ended(_) => None,
            };
            run.iter().filter_map(key).collect::<Vec<FlowKey>>()
        };
        out.push(match run[0] {
            News::Opens(_) => FromApp::Opens(run.iter().filter_map(News::opening).collect()),
            News::Ended(_) => FromApp::Ended(run.iter().filter_map(News::end).collect()),
            News::Opened(_) => FromApp::Opened(keys()),
            News::Written(_) => FromApp::Written(keys()),
            News::Gone(_) => FromApp::Gone(keys()),
        });
        let shapes = self.agent.is_some_and(|(means, _)| means.shapes());
        if let (News::Opened(_), true) = (run[0], shapes) {
            let connected = |key: FlowKey| {
                let (from, to) = self.flows.get(&key)?.gate.ends()?;
                Some(Connected { key, from, to })
            };
            let connected: Vec<Connected> = keys().into_iter().filter_map(connected).collect();
            out.extend((!connected.is_empty()).then_some(FromApp::Connected(connected)));
        }
    }

    /// What flows have sent, where that has changed since the last report.
    pub fn report(&self) -> Vec<FromApp> {
        let sent = self.flows.iter().filter_map(|(&key, flow)| {
            let Written { bytes, wire } = flow.gate.take_unreported()?;
            Some(Sent { key: key.into(), bytes: bytes as f64, wire: wire as f64 })
        });
        let sent: Vec<Sent> = sent.collect();
        sent.chunks(MAX_LOCAL_FLOWS).map(|some| FromApp::Sent(some.to_vec())).collect()
    }

    /// Whether the agent has something to say, now or later: flows are open, or it is asked
    /// something.
    pub fn waits(&self) -> bool {
        let is_idle = self.flows.is_empty() && self.unacknowledged.is_empty();
        self.agent.is_some() && (!is_idle || self.proving.waits())
    }

    /// The agent has said something.
    ///
    /// # Errors
    /// When it does not speak with this application.
    pub fn heard(&mut self, message: ToApp) -> io::Result<()> {
        match message {
            ToApp::Refused => return Err(io::Error::other("the agent refuses this application")),
            ToApp::Welcome { version, .. }
                if !(OLDEST_LOCAL..=LOCAL_VERSION).contains(&version) =>
            {
                return Err(io::Error::other("the agent speaks another version"));
            }
            ToApp::Welcome { version, means, port, .. } => {
                self.welcomed(means, port, version);
                self.proving.is_on &= version >= LOCAL_TOKENS;
            }
            ToApp::Coordinator { heard, codec } => {
                self.coordinator = heard;
                self.codec = codec;
                self.changed();
            }
            ToApp::Shares(entries) => {
                for Entry { key: name, service } in entries {
                    if let Some(key) = name.key() {
                        self.change(key, |flow| flow.service = Some(service));
                    }
                }
            }
            ToApp::Acknowledged(keys) => {
                for key in keys {
                    // An end that the application has told. The flow may have been opened once
                    // more.
                    if self.unacknowledged.remove(&key).is_none() {
                        // The coordinator has ended a flow that is still open here, or about to be.
                        self.openings.cancelled(key);
                        self.change(key, |_| {});
                    }
                }
            }
            ToApp::StartSmall(bytes) => {
                self.start_small = bytes;
                self.flows.values().for_each(|flow| self.set_gate(flow));
            }
            ToApp::Proving(is_on) => self.proving.is_on = is_on,
            ToApp::Proofs(proofs) => self.proving.proved(proofs),
            ToApp::Checked(checked) => self.proving.checked(checked),
            ToApp::Openings(answers) => {
                for answer in answers {
                    let next = self.openings.answered(&answer);
                    next.into_iter().for_each(|what| self.note(News::Opens(what)));
                    self.change(answer.key, |_| {});
                }
            }
        }
        Ok(())
    }

    /// Changes a flow that is open, or what is known of it, and sets its gate.
    fn change(&mut self, key: FlowKey, change: impl FnOnce(&mut SendingFlow)) {
        if let Some(flow) = self.flows.get_mut(&key) {
            change(flow);
        }
        if let Some(flow) = self.flows.get(&key) {
            self.set_gate(flow);
        }
    }
}

impl News {
    fn opening(&self) -> Option<FlowOpening> {
        if let News::Opens(what) = *self { Some(what) } else { None }
    }

    fn end(&self) -> Option<Ended> {
        if let News::Ended(ended) = *self { Some(ended) } else { None }
    }
}
