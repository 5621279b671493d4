//! What the coordinator reports of itself, and of coflows that wait.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

/// A report on the coordinator: the answer to `GET /v1/coordinator`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CoordinatorStatus {
    /// The version of the program.
    pub version: String,
    /// The policy, with parameters that differ from their defaults.
    pub policy: String,
    /// The number of this start.
    pub epoch: u64,
    /// Whether it accepts changes.
    pub ready: bool,
    /// Seconds since it started.
    pub up_s: f64,
    /// The present time in seconds on its clock, on which coflows have their arrivals.
    pub now_s: f64,
    /// Number of ports.
    pub ports: u32,
    /// Bytes per second of each port.
    pub port_rate: f64,
    /// Seconds from one sign of life of an agent to the next.
    pub heartbeat_s: f64,
    /// Seconds of silence after which a host is taken for lost.
    pub lost_after_s: f64,
    /// Number of coflows present.
    pub coflows: usize,
    /// Number of coflows with a flow whose host is away.
    pub coflows_stalled: usize,
    /// Number of coflows with a flow that does not use its rate.
    pub coflows_idle: usize,
    /// Number of coflows that nobody keeps.
    pub coflows_expired: usize,
    /// Number of agents that have joined.
    pub agents: usize,
    /// Number of relays that have joined.
    pub relays: usize,
    /// Seconds for which the oldest schedule that was sent is not applied.
    pub schedule_age_s: f64,
    /// Seconds until agents have applied a schedule: a mean that follows slowly.
    #[serde(default)]
    pub decision_s: f64,
    /// How far the policy can tell coflows apart, from 0 to 1; absent where applications name them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub confidence: Option<f64>,
    /// With less confidence no flow is held or paced.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub confidence_least: Option<f64>,
}

/// A coflow without a rate, as `GET /v1/waiting` reports it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Waiting {
    /// Number of the coflow.
    pub coflow: u64,
    /// What it waits for: `behind` (coflows that are served before it fill its links), `policy`
    /// (its links are not full, and the policy gives it nothing), `stalled` (hosts without an
    /// agent), `open` (flows that are yet to be added), `written` (reports that its last bytes have
    /// arrived), or as [`idle_why`](crate::CoflowStatus::idle_why) says.
    pub why: Cow<'static, str>,
    /// The layer of its first flow in the plan, from 0.
    pub layer: u32,
    /// Its place in the order of the plan, from 0; absent if the plan does not name it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub place: Option<usize>,
    /// The fullest links of its flows.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub behind: Vec<FullLink>,
    /// Ports of its flows whose agents are away, at most eight.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub lost: Vec<u32>,
}

/// A link that others fill.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FullLink {
    /// Its port.
    pub port: u32,
    /// `out` for what the host sends, `in` for what it receives.
    pub direction: Cow<'static, str>,
    /// The coflows with the highest rates there, at most four, in the order of the plan.
    pub coflows: Vec<u64>,
    /// Number of coflows that have a rate there.
    pub served: usize,
}
