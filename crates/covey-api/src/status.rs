//! What the coordinator reports of coflows, flows and agents.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::net::SocketAddr;

use serde::{Deserialize, Serialize};

/// One page of a list.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Page<T> {
    /// The items.
    pub items: Vec<T>,
    /// The cursor of the next page; `None` on the last one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}

/// What a coflow is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CoflowState {
    /// It has flows that have not ended, or is open for more.
    Active,
    /// The host of a flow that has not ended is away.
    Stalled,
    /// Its last flow has ended.
    Ended,
    /// It was deregistered before that.
    Removed,
}

/// A report on a coflow: the answer to `GET /v1/coflows/{id}`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CoflowStatus {
    /// Its number.
    pub id: u64,
    /// What its framework calls it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The name of the token that registered it; it belongs to nobody if that is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner: Option<String>,
    /// The tenant of that token, when it registered the coflow.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tenant: Option<String>,
    /// Its id in the DAG of its job, `external.internal`.
    pub lineage: String,
    /// What it is doing.
    pub state: CoflowState,
    /// The number of updates so far.
    pub revision: u64,
    /// When it came, in seconds on the coordinator's clock.
    pub arrival_s: f64,
    /// When it went, on the same clock.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub end_s: Option<f64>,
    /// Number of flows.
    pub flows: usize,
    /// The ids of the flows by index: runs of ids, each by its first id and its length. Empty when
    /// the coflow has gone.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub flow_ids: Vec<(u64, u32)>,
    /// Number of flows that have ended.
    pub flows_ended: usize,
    /// Number of flows that are stalled.
    pub flows_stalled: usize,
    /// Number of flows that do not use their rates, and have lost them.
    #[serde(default)]
    pub flows_idle: usize,
    /// Why most of those do not: `idle` (sent nothing), `unopened`, `closed` or `expired` (nobody
    /// keeps it).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idle_why: Option<Cow<'static, str>>,
    /// Seconds for which there have been any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idle_s: Option<f64>,
    /// Seconds for which it is kept, if nobody keeps it again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kept_s: Option<f64>,
    /// Bytes that it has sent, as far as reported.
    pub bytes_sent: f64,
    /// Bytes per second that it has now.
    pub rate: f64,
}

impl CoflowStatus {
    /// Whether it has ended, or was removed.
    pub fn is_over(&self) -> bool {
        matches!(self.state, CoflowState::Ended | CoflowState::Removed)
    }

    /// Its completion time in seconds, if it has ended.
    pub fn cct_s(&self) -> Option<f64> {
        let end_s = self.end_s.filter(|_| self.state == CoflowState::Ended)?;
        Some(end_s - self.arrival_s)
    }
}

/// The rate of a flow, as `GET /v1/schedule` reports it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FlowRate {
    /// The id of the flow.
    #[serde(default)]
    pub id: u64,
    /// Number of the coflow.
    pub coflow: u64,
    /// Index in the coflow.
    pub flow: u32,
    /// Sending port.
    pub src: u32,
    /// Receiving port.
    pub dst: u32,
    /// Bytes per second on the wire.
    pub rate: f64,
    /// What it is compressed with; absent if it is not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub codec: Option<Cow<'static, str>>,
}

/// A flow that no application has named, as `GET /v1/flows` reports it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct UnnamedFlow {
    /// The id of the flow, until the coordinator starts again.
    pub id: u64,
    /// The number of the coflow that it was found to belong to; absent until it is in one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub found: Option<u64>,
    /// The entry of `GET /v1/coflows` that it is part of; absent until it is in a coflow.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub coflow: Option<u64>,
    /// Sending port.
    pub src: u32,
    /// Receiving port.
    pub dst: u32,
    /// The sender's end, address and port.
    pub from: SocketAddr,
    /// The receiver's.
    pub to: SocketAddr,
    /// The IANA number of its protocol.
    pub protocol: u8,
    /// When it started, in seconds on the coordinator's clock.
    pub start_s: f64,
    /// Bytes that it has sent, as far as reported.
    pub bytes_sent: f64,
    /// Bytes per second that it has now.
    pub rate: f64,
    /// Why it is in that coflow, with `why=true`; absent if no other flow of it is near, or left.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub near: Option<NearFlow>,
}

/// The two ends of a flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FlowEnds {
    /// The sender's end, address and port.
    pub from: SocketAddr,
    /// The receiver's.
    pub to: SocketAddr,
}

/// Why a flow that no application has named is in its coflow: the flow of the coflow that is
/// nearest to it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct NearFlow {
    /// The id of the other flow.
    pub id: u64,
    /// Their distance in the metric of the policy, without unit.
    pub distance: f64,
    /// Flows belong together if they are no further apart than this, or connected by such ones.
    pub radius: f64,
    /// The attributes in which the two differ, each with its share of the square of the distance.
    pub shares: BTreeMap<Cow<'static, str>, f64>,
}

/// Whether the agent of a port is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Presence {
    /// It has a session.
    Joined,
    /// It has none, and may still come in time.
    Awaited,
    /// Its host is taken for lost.
    Lost,
}

/// What a port that is drained still has: the answer to requests for
/// `/v1/admin/ports/{port}/drain`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct DrainStatus {
    /// The port.
    pub port: u32,
    /// Whether it gets no new flows.
    pub draining: bool,
    /// Coflows with flows there that have not ended.
    pub coflows: usize,
    /// These flows.
    pub flows: usize,
}

/// The agent of a port, as `GET /v1/agents` reports it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AgentStatus {
    /// The port.
    pub port: u32,
    /// Whether the agent is there.
    pub state: Presence,
    /// The version of the schedule that it was sent last.
    pub version: u64,
    /// The version of the schedule that it has applied.
    pub applied: u64,
    /// Whether its port gets no new flows.
    #[serde(default, skip_serializing_if = "crate::spec::is_false")]
    pub draining: bool,
    /// Number of flows that it is to serve.
    pub flows: usize,
    /// The number of its session, as in logs; absent if it has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<u64>,
    /// Its address, or that of its relay.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub peer: Option<SocketAddr>,
    /// The number of its relay's session, if it has joined through one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub relay: Option<u64>,
    /// The version of the messages that it speaks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub protocol: Option<u16>,
    /// Seconds since it joined.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub joined_s: Option<f64>,
    /// Seconds since it said something; absent if it never has.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub heard_s: Option<f64>,
    /// Seconds for which a schedule that it was sent is not applied.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unapplied_s: Option<f64>,
    /// Bytes per second that leave its host beside the flows that are scheduled; absent if it has
    /// not said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub other_sent: Option<f64>,
    /// The same for what comes to its host.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub other_received: Option<f64>,
}

/// A relay that has joined, as `GET /v1/relays` reports it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RelayStatus {
    /// The number of its session, as in logs.
    pub session: u64,
    /// Its address.
    pub peer: SocketAddr,
    /// Number of agents that have joined through it.
    pub agents: usize,
    /// Seconds since it joined.
    pub joined_s: f64,
    /// Seconds since it said something.
    pub heard_s: f64,
}
