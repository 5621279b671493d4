//! What is asked of the coordinator over REST, and what it answers.

use serde::Serialize;

use crate::record::{CoflowSpec, Key, Update};

/// A request.
#[derive(Debug, Clone, PartialEq)]
pub enum Request {
    /// Register a coflow.
    Register {
        /// The coflow.
        spec: CoflowSpec,
        /// Makes a second request with the same key harmless.
        key: Option<Key>,
    },
    /// Change a coflow.
    Update {
        /// Its number.
        id: u64,
        /// How.
        update: Update,
        /// The revision that the client knows; anything if `None`.
        revision: Option<u64>,
    },
    /// Deregister a coflow.
    Remove {
        /// Its number.
        id: u64,
    },
    /// Keep a coflow.
    Keep {
        /// Its number.
        id: u64,
        /// For how many seconds from now on; as long as by default if `None`.
        lease_s: Option<f64>,
    },
    /// Tell of a coflow.
    Get {
        /// Its number.
        id: u64,
    },
    /// List coflows with numbers from `from` on, present ones or all that are remembered.
    List {
        /// The first number.
        from: u64,
        /// The most to list.
        limit: usize,
        /// Whether those that have gone are listed too.
        all: bool,
    },
    /// List rates in force, of the flows from this one on.
    Schedule {
        /// The first flow: coflow and number in it.
        from: (u64, u32),
        /// The most to list.
        limit: usize,
    },
    /// List ports from `from` on, with their agents.
    Agents {
        /// The first port.
        from: u32,
        /// The most to list.
        limit: usize,
    },
}

/// What was asked for, or what is wrong.
pub type Answer = Result<Reply, Problem>;

/// What was asked for.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Reply {
    /// A coflow has been registered, now or by an earlier request with the same key.
    Registered(CoflowStatus),
    /// A coflow.
    Coflow(CoflowStatus),
    /// Several.
    Coflows(Page<CoflowStatus>),
    /// A coflow has been deregistered.
    Removed,
    /// Rates.
    Schedule(Page<Rate>),
    /// Agents.
    Agents(Page<AgentStatus>),
}

/// Some items of a list.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Page<T> {
    /// The items.
    pub items: Vec<T>,
    /// Where to go on; `None` at the end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}

/// What is told of a coflow.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CoflowStatus {
    /// Its number.
    pub id: u64,
    /// What its framework calls it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Its id in the DAG of its job, `external.internal`.
    pub lineage: String,
    /// `active`, `stalled` (a host of an unfinished flow is away), `ended` or `removed`.
    pub state: &'static str,
    /// The number of updates so far.
    pub revision: u64,
    /// When it came, in seconds on the coordinator's clock.
    pub arrival_s: f64,
    /// When it went.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub end_s: Option<f64>,
    /// Number of flows, of those that have ended, of those that are stalled, and of those that do not use what
    /// they are given.
    pub flows: usize,
    /// See `flows`.
    pub flows_ended: usize,
    /// See `flows`.
    pub flows_stalled: usize,
    /// See `flows`.
    pub flows_idle: usize,
    /// Why most of those do not: `idle` (sent nothing), `unopened`, `closed` or `expired` (nobody keeps it).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub idle_why: Option<&'static str>,
    /// For how many seconds there have been any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub idle_s: Option<f64>,
    /// For how many seconds it is kept, if nobody does so again.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kept_s: Option<f64>,
    /// Bytes that it has sent, as far as reported.
    pub bytes_sent: f64,
    /// Bytes per second that it has now.
    pub rate: f64,
}

/// The rate of a flow.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Rate {
    /// Number of the coflow.
    pub coflow: u64,
    /// Number in the coflow.
    pub flow: u32,
    /// Sending port.
    pub src: u32,
    /// Receiving port.
    pub dst: u32,
    /// Bytes per second on the wire.
    pub rate: f64,
    /// What it is compressed with; absent if it is not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub codec: Option<&'static str>,
}

/// What is told of a port's agent.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct AgentStatus {
    /// The port.
    pub port: u32,
    /// `joined`, `awaited` or `lost`.
    pub state: &'static str,
    /// The version of the schedule it was sent last, and of the one it has applied.
    pub version: u64,
    /// See `version`.
    pub applied: u64,
    /// Flows it is to serve.
    pub flows: usize,
}

/// Why a request is refused (RFC 9457).
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Problem {
    /// The HTTP status.
    pub status: u16,
    /// The kind of problem, in words.
    pub title: &'static str,
    /// What is wrong with this request.
    pub detail: String,
}

impl Problem {
    pub(crate) fn new(status: u16, title: &'static str, detail: impl Into<String>) -> Problem {
        Problem { status, title, detail: detail.into() }
    }

    pub(crate) fn unknown(id: u64) -> Problem {
        Problem::new(404, "no such coflow", format!("coflow {id} is not known"))
    }

    pub(crate) fn invalid(detail: impl Into<String>) -> Problem {
        Problem::new(422, "invalid request", detail)
    }
}
