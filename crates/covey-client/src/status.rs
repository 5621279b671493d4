//! What the coordinator tells of a coflow.

use serde::{Deserialize, Serialize};

/// How a coflow is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum State {
    /// It has flows that have not ended, or is open for more.
    Active,
    /// The host of a flow that has not ended is away.
    Stalled,
    /// Its last flow has ended.
    Ended,
    /// It was deregistered before that.
    Removed,
}

/// A coflow, as `GET /v1/coflows/{id}` tells of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Status {
    /// Its number.
    pub id: u64,
    /// What its framework calls it.
    #[serde(default)]
    pub name: Option<String>,
    /// Its id in the DAG of its job, `external.internal`.
    pub lineage: String,
    /// How it is doing.
    pub state: State,
    /// The number of updates so far.
    pub revision: u64,
    /// When it came, in seconds on the coordinator's clock.
    pub arrival_s: f64,
    /// When it went, on the same clock.
    #[serde(default)]
    pub end_s: Option<f64>,
    /// Number of flows.
    pub flows: usize,
    /// Those that have ended.
    pub flows_ended: usize,
    /// Those that are stalled.
    pub flows_stalled: usize,
    /// Those that do not use what they are given, and have lost it.
    #[serde(default)]
    pub flows_idle: usize,
    /// Why most of these do not: `idle`, `unopened`, `closed` or `expired`.
    #[serde(default)]
    pub idle_why: Option<String>,
    /// For how many seconds there have been any.
    #[serde(default)]
    pub idle_s: Option<f64>,
    /// For how many seconds it is kept, if nobody does so again.
    #[serde(default)]
    pub kept_s: Option<f64>,
    /// Bytes that it has sent, as far as reported.
    pub bytes_sent: f64,
    /// Bytes per second that it has now.
    pub rate: f64,
}

impl Status {
    /// Whether it has ended, or was removed.
    pub fn is_over(&self) -> bool {
        matches!(self.state, State::Ended | State::Removed)
    }

    /// Its completion time in seconds, if it has ended.
    pub fn cct_s(&self) -> Option<f64> {
        let end_s = self.end_s.filter(|_| self.state == State::Ended)?;
        Some(end_s - self.arrival_s)
    }
}
