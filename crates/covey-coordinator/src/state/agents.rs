//! All agents: their sessions, their schedules, and what they have reserved of the receiving ports.

use std::collections::{BTreeMap, BTreeSet};

use covey_core::Time;
use covey_proto::{FlowAnnouncement, FlowId, FlowKey, FlowName, Schedule, Service, TOKENS};

use super::agent::AgentState;
use super::early_openings::EarlyOpenings;
use super::effects::SessionId;
use super::flows::Flow;
use super::reservations::IngressReservations;

/// All agents, by port. A session is that of exactly one agent, and an agent for which there may be
/// news is awake.
#[derive(Debug)]
pub(super) struct Agents {
    /// The number of the coordinator's start.
    epoch: u64,
    agents: Vec<AgentState>,
    /// The ports of the sessions.
    sessions: BTreeMap<SessionId, u32>,
    reservations: IngressReservations,
    /// Agents that may have something to be sent.
    awake: BTreeSet<u32>,
    /// How long it takes until a schedule is applied, in seconds: a mean that follows slowly.
    decision_s: f64,
}

/// The part of the newest value in the mean of [`Agents::decision_s`].
const NEWEST: f64 = 1.0 / 8.0;

impl Agents {
    /// No agent has joined. `ingress` is the capacity of each receiving port, in bytes per second.
    pub fn new(epoch: u64, ingress: &[f64], start: Time) -> Agents {
        let mut agents: Vec<AgentState> = Vec::new();
        agents.resize_with(ingress.len(), AgentState::default);
        agents.iter_mut().for_each(|agent| agent.connection.heard = start);
        Agents {
            epoch,
            agents,
            sessions: BTreeMap::new(),
            reservations: IngressReservations::new(ingress),
            awake: BTreeSet::new(),
            decision_s: 0.0,
        }
    }

    /// The number of the coordinator's start.
    pub fn epoch(&self) -> u64 {
        self.epoch
    }

    /// How many ports there are.
    pub fn ports(&self) -> u32 {
        self.agents.len() as u32
    }

    /// How many agents have joined.
    pub fn joined(&self) -> usize {
        self.sessions.len()
    }

    pub fn get(&self, port: u32) -> &AgentState {
        &self.agents[port as usize]
    }

    /// An agent, to change what it has reported or has to hear.
    pub fn get_mut(&mut self, port: u32) -> &mut AgentState {
        &mut self.agents[port as usize]
    }

    /// The agents with their ports.
    pub fn iter(&self) -> impl Iterator<Item = (u32, &AgentState)> {
        (0..).zip(&self.agents)
    }

    /// The port of a session.
    pub fn port_of(&self, session: SessionId) -> Option<u32> {
        self.sessions.get(&session).copied()
    }

    /// There may be news for an agent.
    pub fn wake(&mut self, port: u32) {
        self.awake.insert(port);
    }

    /// The sessions of the awake agents that have something to be sent; all sleep again.
    pub fn take_ready(&mut self) -> Vec<SessionId> {
        let awake = std::mem::take(&mut self.awake).into_iter();
        let agents = awake.map(|port| &self.agents[port as usize]);
        agents.filter(|agent| agent.has_news()).filter_map(|it| it.connection.session).collect()
    }

    /// Begins a session of an agent that speaks this version. Returns the one that it replaces.
    pub fn begin(
        &mut self,
        port: u32,
        session: SessionId,
        spoken: u16,
        now: Time,
    ) -> Option<SessionId> {
        let agent = &mut self.agents[port as usize];
        let before = agent.connection.session.replace(session);
        if let Some(before) = before {
            self.sessions.remove(&before);
        }
        self.sessions.insert(session, port);
        agent.connection.spoken = spoken;
        agent.connection.since = now;
        (agent.connection.heard, agent.connection.told) = (now, now);
        agent.connection.welcome = true;
        // The agent says again what its applications have open.
        agent.early = EarlyOpenings::default();
        // Messages that it did not receive before are decided again.
        agent.letters.acknowledged.clear();
        agent.letters.cancelled.clear();
        agent.letters.thresholds.clear();
        agent.letters.renamed.clear();
        agent.letters.taken.clear();
        agent.letters.released.clear();
        agent.letters.answers.clear();
        agent.letters.openings.clear();
        agent.letters.turns.clear();
        agent.letters.keys = spoken >= TOKENS;
        agent.assignments.forget_announcements();
        before
    }

    /// A session is over.
    pub fn end(&mut self, session: SessionId) {
        if let Some(port) = self.sessions.remove(&session) {
            let connection = &mut self.agents[port as usize].connection;
            if connection.session == Some(session) {
                connection.session = None;
            }
        }
    }

    /// An agent that joins holds the schedule of this epoch and version; (0, 0): none.
    pub fn holds(&mut self, port: u32, (epoch, version): (u64, u64)) {
        let Agents { agents, reservations, awake, .. } = self;
        let AgentState { assignments, is_away, .. } = &mut agents[port as usize];
        if (epoch, version) == (0, 0) {
            assignments.holds_nothing(reservations, awake);
        } else if *is_away
            || epoch != self.epoch
            || !assignments.rejoin(version, reservations, awake)
        {
            assignments.lose_track();
        }
    }

    /// An agent has applied a schedule. Returns whether its host is back by that.
    pub fn applied(&mut self, port: u32, epoch: u64, version: u64, now: Time) -> bool {
        let Agents { agents, reservations, awake, decision_s, .. } = self;
        let AgentState { assignments, is_doubtful, is_away, .. } = &mut agents[port as usize];
        let sent_at = assignments.under_way_since();
        if epoch != self.epoch || !assignments.apply(version, reservations, awake) {
            return false;
        }
        awake.insert(port);
        *decision_s += NEWEST * (now - sent_at.unwrap_or(now) - *decision_s);
        std::mem::take(is_doubtful) && std::mem::take(is_away)
    }

    /// How long it takes until agents have applied a schedule, in seconds: a mean that follows
    /// slowly.
    pub fn decision_s(&self) -> f64 {
        self.decision_s
    }

    /// A flow that no application has named is scheduled from now on.
    pub fn taken(&mut self, port: u32, number: u64) {
        let letters = &mut self.agents[port as usize].letters;
        letters.released.retain(|other| *other != number);
        letters.taken.push(number);
        self.wake(port);
    }

    /// A flow that no application has named is not scheduled any more.
    pub fn spared(&mut self, port: u32, number: u64, id: FlowId) {
        let agent = &mut self.agents[port as usize];
        agent.assignments.renamed(id);
        // An agent that is not there lets all go.
        if agent.connection.session.is_some() {
            agent.letters.taken.retain(|other| *other != number);
            agent.letters.released.push(number);
            self.wake(port);
        }
    }

    /// An agent lacks a schedule: it must be sent all.
    pub fn resync(&mut self, port: u32) {
        self.agents[port as usize].assignments.lose_track();
        self.wake(port);
    }

    /// A host is taken for lost: others may have what it held. Returns the session that this ends.
    pub fn lose(&mut self, port: u32) -> Option<SessionId> {
        let Agents { agents, reservations, awake, .. } = self;
        let agent = &mut agents[port as usize];
        agent.is_away = true;
        agent.is_doubtful |= agent.assignments.under_way_since().is_some();
        agent.assignments.holds_nothing(reservations, awake);
        let session = agent.connection.session.take()?;
        self.sessions.remove(&session);
        Some(session)
    }

    /// A flow that had sent what it says has sent so many bytes on the wire in all.
    pub fn carried(&mut self, flow: &Flow, wire: f64) {
        let new = (wire - flow.wire).max(0.0);
        self.get_mut(flow.src).links.carried(0, new);
        self.get_mut(flow.dst).links.carried(1, new);
    }

    /// Wants a flow to be served so from now on.
    pub fn want(&mut self, port: u32, id: FlowId, name: FlowName, dst: u32, service: Service) {
        self.agents[port as usize].assignments.want(id, name, dst, service);
        self.wake(port);
    }

    /// An agent has reported the end of a flow.
    pub fn flow_ended(&mut self, port: u32, id: FlowId) {
        let Agents { agents, reservations, awake, .. } = self;
        agents[port as usize].assignments.flow_ended(id, reservations, awake);
    }

    /// An agent has reported that the last bytes of a flow are on their way.
    pub fn flow_written(&mut self, port: u32, id: FlowId) {
        let Agents { agents, reservations, awake, .. } = self;
        agents[port as usize].assignments.flow_written(id, reservations, awake);
        self.wake(port);
    }

    /// An agent has passed the rate of a flow that has ended, or needs nothing more, on to another
    /// flow with the same receiver; `name` is the first name of that.
    pub fn passed(&mut self, port: u32, from: FlowId, to: FlowId, name: FlowName) {
        self.agents[port as usize].assignments.pass(from, to, name);
        self.wake(port);
    }

    /// The next schedule for an agent, if there is one.
    pub fn next_schedule(&mut self, port: u32, now: Time) -> Option<Schedule> {
        let Agents { epoch, agents, reservations, .. } = self;
        agents[port as usize].assignments.next_schedule(port, *epoch, reservations, now)
    }

    /// Has an agent's new schedule name flows by id, for an agent that knows ids.
    pub fn name_by_id(
        &mut self,
        port: u32,
        schedule: &mut Schedule,
        announcements: impl Fn(FlowId) -> Vec<FlowAnnouncement>,
    ) -> Vec<FlowAnnouncement> {
        self.agents[port as usize].assignments.name_by_id(schedule, announcements)
    }

    /// A flow that a port sends has changed its coflow.
    pub fn renamed(&mut self, port: u32, id: FlowId, from: FlowKey, to: FlowKey) {
        let agent = &mut self.agents[port as usize];
        agent.usage.rename(from, to);
        agent.assignments.renamed(id);
        // An agent that is not there hears of it when it joins.
        if agent.connection.session.is_some() {
            agent.letters.renamed.insert(id);
        }
        self.wake(port);
    }

    /// The greatest age of a schedule that is under way, in seconds.
    pub fn oldest_unapplied_s(&self, now: Time) -> f64 {
        let joined = self.agents.iter().filter(|agent| agent.connection.session.is_some());
        let sent = joined.filter_map(|agent| agent.assignments.under_way_since());
        sent.map(|since| now - since).fold(0.0, f64::max)
    }
}
