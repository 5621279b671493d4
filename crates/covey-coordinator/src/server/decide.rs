//! The decision thread: the state of the coordinator, the clock, and who waits for which answer.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use covey_api::hmac_sha256;
use covey_core::Time;
use covey_proto::{FromAgent, Schedule, ToAgent, encode};
use tokio::runtime::Handle;
use tokio::sync::{mpsc, oneshot};
use tokio::time::{Instant as Deadline, timeout_at};

use super::command::Command;
use super::heard::Heard;
use super::jobs::{Job, Written};
use super::metrics::Used;
use super::route::{Group, Peer, Route};
use super::shared::{Numbered, PAST, Shared};
use super::switch::Switch;
use crate::connections::lock;
use crate::request::{Answer, List, MakePage};
use crate::state::{CoordinatorState, Event, Look, Output, RequestId, SessionId};

/// The most commands taken over before a decision. While more than these wait of what agents have
/// said, nothing else is received.
const BATCH: usize = 4096;

/// Bytes after which no further agent is sent something in this turn: others are served before.
const PUSHED: usize = 1 << 18;

/// Seconds from one attempt to write a journal that could not be written to the next.
const PROBE_EVERY_S: f64 = 1.0;

/// Seconds from one look at all agents to the next.
const LOOK_EVERY_S: f64 = 0.25;

pub(super) struct Decider {
    pub coordinator: CoordinatorState,
    pub commands: mpsc::Receiver<Command>,
    pub journal: std::sync::mpsc::Sender<Job>,
    pub groups: std::sync::mpsc::Sender<Vec<Group>>,
    pub journal_bytes: u64,
    /// The journal is compacted when it has more bytes than this: at least twice what it had after
    /// the last compaction.
    pub compact_above: u64,
    pub shared: Arc<Shared>,
    /// The time of the state at `started`.
    pub base: Time,
    pub started: Instant,
    pub state: State,
}

/// Which clients and connections wait for what.
#[derive(Default)]
pub(super) struct State {
    routes: BTreeMap<SessionId, (Route, Peer)>,
    ready: BTreeSet<SessionId>,
    /// The session that was sent something last.
    pushed: SessionId,
    /// What agents have said.
    heard: Heard,
    waiting: BTreeMap<RequestId, oneshot::Sender<Answer>>,
    next_request: RequestId,
    next_event: u64,
    journal_failures: u64,
    /// When the journal was last tried after a failure, in seconds from the start.
    probed_s: f64,
    plan_errors: u64,
    drained: Option<oneshot::Sender<()>>,
    /// Lists that are read at the end of the turn.
    lists: Vec<(List, oneshot::Sender<MakePage>)>,
    /// Looks that are taken at the end of the turn.
    looks: Vec<oneshot::Sender<Look>>,
    /// Another policy that is about to begin.
    pub switch: Option<Switch>,
    /// Sessions that have reported ends or bytes since the last turn.
    reporting: Vec<SessionId>,
}

impl Decider {
    /// Runs until all senders of commands are gone.
    pub fn run(mut self, runtime: &Handle) {
        let mut batch = Vec::new();
        loop {
            if self.state.heard.len() < BATCH || self.state.switch.is_some() {
                let deadline = Deadline::now() + Duration::from_secs_f64(self.wait_s());
                let received = runtime.block_on(async {
                    timeout_at(deadline, self.commands.recv_many(&mut batch, BATCH)).await
                });
                if received == Ok(0) {
                    return;
                }
            }
            self.turn(&mut batch);
        }
    }

    /// How long there is nothing to do, in seconds, unless somebody says something.
    fn wait_s(&self) -> f64 {
        let State { heard, ready, switch, .. } = &self.state;
        let has_heard = heard.len() > 0 && switch.is_none();
        if has_heard || !ready.is_empty() {
            return 0.0;
        }
        (self.coordinator.next_wake() - self.now()).clamp(0.0, PROBE_EVERY_S)
    }

    /// All sessions of agents are over.
    pub(super) fn leave_all(&mut self) {
        let sessions = std::mem::take(&mut self.state.routes).into_keys();
        sessions.for_each(|session| self.coordinator.closed(session));
        self.state.ready.clear();
        self.state.reporting.clear();
    }

    /// Has the lists that are read show what was decided. Their pages are made elsewhere.
    fn show_lists(&mut self) {
        for (list, reader) in std::mem::take(&mut self.state.lists) {
            let peer = |session| {
                let (_, peer) = self.state.routes.get(&session)?;
                Some((peer.address, peer.relay))
            };
            // The client may have left.
            let _ = reader.send(self.coordinator.list(&list, peer));
        }
        for recorder in std::mem::take(&mut self.state.looks) {
            let _ = recorder.send(self.coordinator.look());
        }
    }

    fn now(&self) -> Time {
        self.base + self.started.elapsed().as_secs_f64()
    }

    fn turn(&mut self, batch: &mut Vec<Command>) {
        self.shared.turn.begin();
        let began = cpu_s();
        for command in batch.drain(..) {
            self.command(command);
        }
        self.hear();
        // Answers and records need not wait for the decision.
        self.execute();
        self.switch();
        let received = cpu_s();
        let is_time = self.state.heard.is_time() || self.state.switch.is_some();
        let decided = is_time && self.decide();
        let calculated = cpu_s();
        let before = self.coordinator.counts().schedules;
        self.execute();
        self.push();
        self.show_lists();
        self.probe();
        let sent = cpu_s();
        let used = Used {
            calculate_s: calculated - received,
            send_s: sent - calculated,
            receive_s: received - began,
            flushed: self.coordinator.counts().schedules > before,
        };
        self.tell_metrics(used, decided);
        self.shared.turn.end();
        if self.coordinator.pending() == 0
            && self.state.switch.is_none()
            && let Some(drained) = self.state.drained.take()
        {
            // The receiver may be gone.
            let _ = drained.send(());
        }
    }

    /// Returns whether anything was decided.
    fn decide(&mut self) -> bool {
        self.state.heard.decided();
        self.coordinator.decide(self.now()).unwrap_or_else(|error| {
            self.state.plan_errors += 1;
            tracing::error!(%error, "the policy's plan cannot be carried out");
            true
        })
    }

    /// Takes over a piece of what agents have said.
    fn hear(&mut self) {
        if self.state.switch.is_some() {
            // All sessions are about to end: what was said in them counts for nothing.
            let is_connection = |command: &Command| !matches!(command, Command::Heard(..));
            let connections = self.state.heard.take_all().into_iter().filter(is_connection);
            return connections.for_each(|command| self.agent(command));
        }
        let mut flows = 0;
        while let Some(command) = self.state.heard.next(&mut flows) {
            self.agent(command);
        }
    }

    pub(super) fn command(&mut self, command: Command) {
        let Some(command) = self.hold(command) else { return };
        let now = self.now();
        match command {
            Command::List(list, reader) => self.state.lists.push((list, reader)),
            Command::Look(recorder) => self.state.looks.push(recorder),
            Command::Request(client, request, answer) => {
                let id = self.state.next_request;
                self.state.next_request += 1;
                self.state.waiting.insert(id, answer);
                self.coordinator.request_of(id, client, request, now);
            }
            command @ (Command::Joined(..)
            | Command::Heard(..)
            | Command::Closed(_)
            | Command::Writable(_)) => self.state.heard.push(command),
            Command::Written(Written::Durable { last, bytes, sync_s }) => {
                self.writable();
                lock(&self.shared.measured).1.sync.add(sync_s);
                self.journal_bytes = bytes;
                self.coordinator.durable(last, now);
                self.compact();
            }
            Command::Written(Written::Failed { first, last, why }) => {
                self.state.journal_failures += 1;
                // Logged once; later failures are counted.
                if self.shared.durable.swap(false, Ordering::Relaxed) {
                    tracing::error!(why, "the journal cannot be written");
                }
                self.state.probed_s = self.started.elapsed().as_secs_f64();
                self.coordinator.not_durable(first, last, &why);
            }
            Command::Written(Written::Compacted { bytes }) => {
                tracing::info!(bytes, "journal compacted");
                self.writable();
                self.journal_bytes = bytes;
                self.compact_above = self.compact_above.max(2 * bytes);
            }
            Command::Written(Written::Writable) => self.writable(),
            Command::Written(Written::Lost) => self.rewrite(),
            Command::Change(settings, changed) => self.change(*settings, changed),
            Command::Limits(limits) => self.coordinator.set_limits(limits),
            Command::FlowSecret(secret) => self.coordinator.set_flow_secret(secret, hmac_sha256),
            Command::Drain(drained) => self.state.drained = Some(drained),
        }
    }

    /// Takes over what an agent has said, or that its connection has come or gone.
    fn agent(&mut self, command: Command) {
        match command {
            Command::Joined(session, route, peer) => {
                self.state.routes.insert(session, (route, peer));
            }
            Command::Heard(session, message) => self.said(session, message),
            Command::Closed(session) => {
                self.coordinator.closed(session);
                self.state.routes.remove(&session);
                self.state.ready.remove(&session);
            }
            Command::Writable(session) => {
                self.state.ready.insert(session);
            }
            // Nobody else is an agent.
            _ => {}
        }
    }

    fn said(&mut self, session: SessionId, message: FromAgent) {
        // Messages of a session that was closed here may still be under way.
        let Some((_, peer)) = self.state.routes.get(&session) else { return };
        let peer = peer.address;
        if matches!(message, FromAgent::Ended(_) | FromAgent::Sent(_)) {
            self.state.reporting.push(session);
        }
        let ahead = self.coordinator.counts().epochs_ahead;
        self.coordinator.heard(session, message, self.now());
        if self.coordinator.counts().epochs_ahead > ahead {
            tracing::warn!(
                session,
                %peer,
                epoch = self.coordinator.epoch(),
                "an agent was refused: it knows of a later epoch, so that this journal is not the last one"
            );
        }
    }

    fn writable(&self) {
        if !self.shared.durable.swap(true, Ordering::Relaxed) {
            tracing::info!("the journal can be written again");
            // The epoch is written before anything else.
            self.shared.is_fenced.send_replace(true);
        }
    }

    /// After a failure, tries now and then whether the journal can be written again.
    fn probe(&mut self) {
        let now_s = self.started.elapsed().as_secs_f64();
        let durable = self.shared.durable.load(Ordering::Relaxed);
        if !durable && now_s >= self.state.probed_s + PROBE_EVERY_S {
            self.state.probed_s = now_s;
            let _ = self.journal.send(Job::Probe);
        }
    }

    fn compact(&mut self) {
        if self.journal_bytes > self.compact_above {
            // Not again before this compaction is done.
            self.compact_above = self.journal_bytes.saturating_mul(2);
            self.rewrite();
        }
    }

    /// Replaces the journal by what is known.
    fn rewrite(&mut self) {
        // Records of this batch that the journal has not been given come first.
        let outputs = self.coordinator.take_outputs();
        self.execute_all(outputs);
        let (known, under_way) = self.coordinator.snapshot();
        let _ = self.journal.send(Job::Replace { known, under_way });
    }

    pub(super) fn execute(&mut self) {
        let outputs = self.coordinator.take_outputs();
        self.execute_all(outputs);
    }

    fn execute_all(&mut self, outputs: Vec<Output>) {
        for output in outputs {
            match output {
                Output::Journal(lsn, record) => {
                    // If the thread is gone the process is about to end.
                    let _ = self.journal.send(Job::Append(lsn, Box::new(record)));
                }
                Output::Answer(request, answer) => {
                    if let Some(waiting) = self.state.waiting.remove(&request) {
                        // A client may have left.
                        let _ = waiting.send(answer);
                    }
                }
                Output::Ready(session) => {
                    self.state.ready.insert(session);
                }
                Output::Close(session, refusal) => {
                    let route = self.state.routes.remove(&session);
                    let peer = route.as_ref().map(|(_, peer)| peer.address);
                    let peer = peer.map(tracing::field::display);
                    tracing::info!(session, peer, ?refusal, "session closed");
                    // A connection that is full is closed without a reason.
                    if let Some((route, _)) = route.filter(|(route, _)| route.is_free()) {
                        let mut bytes = Vec::new();
                        encode(&ToAgent::Refused(refusal), &mut bytes);
                        self.send(vec![route.group(bytes)]);
                    }
                }
                Output::Event(event) => self.tell_event(event),
            }
        }
    }

    fn tell_event(&mut self, event: Event) {
        match event {
            Event::Registered { id } => tracing::debug!(coflow = id, "registered"),
            Event::Updated { id } => tracing::debug!(coflow = id, "updated"),
            Event::Ended { id } => tracing::debug!(coflow = id, "ended"),
            Event::Removed { id } => tracing::debug!(coflow = id, "deregistered"),
            Event::Stalled { id } => tracing::warn!(coflow = id, "stalled: a host is away"),
            Event::Idle { id, why } => {
                tracing::info!(
                    coflow = id,
                    why = why.name(),
                    "idle: it does not use what it is given"
                );
            }
            Event::Expired { id } => tracing::warn!(coflow = id, "expired: nobody keeps it"),
            Event::Resumed { id } => tracing::info!(coflow = id, "goes on"),
            Event::Joined { port } => tracing::debug!(port, "agent joined"),
            Event::Lost { port } => tracing::warn!(port, "agent lost"),
        }
        self.shared.audit.event(event);
        let numbered = Numbered { number: self.state.next_event, event };
        self.state.next_event += 1;
        let mut past = lock(&self.shared.past);
        if past.len() == PAST {
            past.pop_front();
        }
        past.push_back(numbered);
        // Nobody may be watching.
        let _ = self.shared.events.send(numbered);
    }

    /// Hands messages to the connections that can take some.
    fn push(&mut self) {
        let (mut messages, mut groups) = (Vec::new(), Vec::new());
        let mut pushed = 0;
        while pushed < PUSHED
            && let Some(session) = self.next_ready()
        {
            let Some((route, _)) = self.state.routes.get(&session) else { continue };
            if !route.is_free() {
                continue;
            }
            self.coordinator.take_messages(session, &mut messages);
            if !messages.is_empty() {
                let mut bytes = Vec::new();
                for message in messages.drain(..) {
                    if let ToAgent::Schedule(Schedule { epoch, version, .. }) = &message {
                        let port = self.coordinator.port_of(session);
                        tracing::debug!(port, epoch, version, "a schedule is sent");
                    }
                    encode(&message, &mut bytes);
                }
                pushed += bytes.len();
                groups.push(route.group(bytes));
            }
        }
        if !groups.is_empty() {
            self.send(groups);
        }
    }

    /// The next session for which there may be messages, each in its turn.
    fn next_ready(&mut self) -> Option<SessionId> {
        let State { ready, pushed, .. } = &mut self.state;
        let after = ready.range(*pushed + 1..).next();
        *pushed = after.or(ready.first()).copied()?;
        ready.remove(pushed);
        Some(*pushed)
    }

    fn send(&self, groups: Vec<Group>) {
        // If the thread is gone the process is about to end.
        let _ = self.groups.send(groups);
    }

    fn tell_metrics(&mut self, used: Used, decided: bool) {
        let now_s = self.started.elapsed().as_secs_f64();
        let mut shared = lock(&self.shared.measured);
        shared.1.turn(now_s, used, decided, &mut self.state.reporting);
        shared.0.epoch = self.coordinator.epoch();
        shared.0.counts = self.coordinator.counts();
        shared.0.population = self.coordinator.population();
        shared.0.pending = self.coordinator.pending();
        shared.0.commands = self.commands.len();
        shared.0.decision_s = self.coordinator.decision_s();
        shared.0.confidence = self.coordinator.confidence();
        shared.0.journal_bytes = self.journal_bytes;
        shared.0.journal_failures = self.state.journal_failures;
        shared.0.plan_errors = self.state.plan_errors;
        // This looks at all agents.
        if now_s >= shared.0.looked_s + LOOK_EVERY_S {
            shared.0.oldest_unapplied_s = self.coordinator.oldest_unapplied_s();
            shared.0.looked_s = now_s;
            shared.0.size_factors = self.coordinator.size_factors();
            shared.0.holdings = self.coordinator.holdings();
        }
    }
}

/// The CPU that this thread has used, in seconds.
fn cpu_s() -> f64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 * 1e-9
}
