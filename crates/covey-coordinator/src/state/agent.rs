//! The coordinator's side of one agent.

use std::collections::{BTreeMap, BTreeSet};

use covey_core::Time;
use covey_proto::{
    Compressor, FlowAnswer, FlowId, FlowKey, FlowName, OpeningAnswer, ReportThreshold, Use,
};

use super::assignments::Assignments;
use super::early_openings::EarlyOpenings;
use super::effects::SessionId;
use super::host_links::HostLinks;

/// The coordinator's side of one agent.
#[derive(Debug, Default)]
pub(super) struct AgentState {
    pub connection: Connection,
    /// Whether its host is taken for lost.
    pub is_away: bool,
    /// Whether it was taken for lost because it never said that it had applied a schedule. Its host
    /// gets no rate before it has said so.
    pub is_doubtful: bool,
    pub assignments: Assignments,
    pub usage: Usage,
    pub early: EarlyOpenings,
    pub letters: Letters,
    pub processor: HostProcessor,
    pub links: HostLinks,
}

impl AgentState {
    /// Whether there is anything to send now.
    pub fn has_news(&self) -> bool {
        let is_greeted = self.connection.welcome || self.connection.alive;
        let has_news = self.letters.has_news() || self.assignments.has_news();
        let is_told = is_greeted || has_news || self.has_cancelled();
        self.connection.session.is_some() && is_told
    }

    fn has_cancelled(&self) -> bool {
        self.letters.cancelled.iter().any(|(id, _)| !self.assignments.has(*id))
    }

    /// Takes the cancelled flows that the agent does not hold any more, by the names that they had
    /// first.
    pub fn take_cancelled(&mut self) -> Vec<FlowName> {
        let assignments = &self.assignments;
        let is_told = |(id, _): &mut (FlowId, FlowName)| !assignments.has(*id);
        self.letters.cancelled.extract_if(.., is_told).map(|(_, name)| name).collect()
    }

    /// A coflow is over, of which the agent has reported something.
    pub fn over(&mut self, serial: u64) {
        // An agent without a session reports the coflow again when it joins, and is told then.
        if self.connection.session.is_some() && self.letters.over.last() != Some(&serial) {
            self.letters.over.push(serial);
        }
    }
}

/// The connection of an agent.
#[derive(Debug, Default)]
pub(super) struct Connection {
    /// The session, while there is one.
    pub session: Option<SessionId>,
    /// The version of the messages that both sides speak.
    pub spoken: u16,
    /// When the session began.
    pub since: Time,
    /// When the agent was last heard.
    pub heard: Time,
    /// When it was last sent something.
    pub told: Time,
    /// Whether it has to be welcomed first.
    pub welcome: bool,
    /// Whether it has to hear that the coordinator is there.
    pub alive: bool,
}

/// How an agent's flows are used, as it has reported.
#[derive(Debug, Default)]
pub(super) struct Usage {
    /// The use of single flows, by the names that the agent gave them: it may know a flow before it
    /// is added.
    pub flows: BTreeMap<FlowKey, Use>,
    /// Coflows of which no other flow is open at the host.
    pub unopened: BTreeSet<u64>,
}

impl Usage {
    /// A flow has changed its coflow.
    pub fn rename(&mut self, from: FlowKey, to: FlowKey) {
        if let Some(of) = self.flows.remove(&from) {
            self.flows.insert(to, of);
        } else if self.unopened.contains(&to.coflow) && !self.unopened.contains(&from.coflow) {
            self.flows.insert(to, Use::Moves);
        }
    }

    /// Forgets what was reported of a coflow. Returns whether anything was.
    pub fn forget(&mut self, serial: u64) -> bool {
        let all = FlowKey::all_of(serial);
        let keys: Vec<FlowKey> = self.flows.range(all).map(|(key, _)| *key).collect();
        keys.iter().for_each(|key| _ = self.flows.remove(key));
        self.unopened.remove(&serial) || !keys.is_empty()
    }

    /// Forgets everything. Returns whether anything was reported.
    pub fn clear(&mut self) -> bool {
        let was_reported = !self.flows.is_empty() || !self.unopened.is_empty();
        *self = Usage::default();
        was_reported
    }
}

/// What an agent has to hear besides schedules.
#[derive(Debug, Default)]
pub(super) struct Letters {
    /// Ends that are in the journal, by the names that the agent gave the flows.
    pub acknowledged: Vec<FlowName>,
    /// Flows that were cancelled, by the names that they had first. Told when the agent does not
    /// hold them any more.
    pub cancelled: Vec<(FlowId, FlowName)>,
    /// Flows that have changed their coflow, whose names the agent has to hear. Agents that do not
    /// know ids go on using the first names.
    pub renamed: BTreeSet<FlowId>,
    /// Report thresholds of coflows that have changed, in bytes.
    pub thresholds: BTreeMap<u64, f64>,
    /// Coflows of which the agent need not report anything more.
    pub over: Vec<u64>,
    /// Flows that no application has named and that are scheduled from now on, by their numbers.
    pub taken: Vec<u64>,
    /// The same of flows that are not scheduled any more.
    pub released: Vec<u64>,
    /// Whether it has to hear the keys of flow tokens.
    pub keys: bool,
    /// What it has asked of flows.
    pub answers: Vec<FlowAnswer>,
    /// What it has to hear of flows that applications have opened.
    pub openings: Vec<OpeningAnswer>,
    /// Coflows whose turns have changed.
    pub turns: BTreeSet<u64>,
}

impl Letters {
    fn has_news(&self) -> bool {
        // Cancelled flows are no news: they wait for schedules.
        let Letters { acknowledged, cancelled: _, renamed, thresholds, over, .. } = self;
        let Letters { taken, released, keys, answers, openings, turns, .. } = self;
        let says_ends = !acknowledged.is_empty() || !over.is_empty() || !released.is_empty();
        let says_tokens = *keys || !answers.is_empty() || !openings.is_empty();
        says_ends
            || says_tokens
            || !renamed.is_empty()
            || !thresholds.is_empty()
            || !taken.is_empty()
            || !turns.is_empty()
    }

    pub fn take_thresholds(&mut self) -> Vec<ReportThreshold> {
        let thresholds = std::mem::take(&mut self.thresholds).into_iter();
        thresholds.map(|(coflow, bytes)| ReportThreshold { coflow, bytes }).collect()
    }
}

/// What a host has for compressing, as its agent has reported.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct HostProcessor {
    /// The compressor of the policy's codec.
    pub compressor: Option<Compressor>,
    /// The share of a processor that is idle.
    pub idle: f64,
}
