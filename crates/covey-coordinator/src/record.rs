//! What the journal holds: everything that a coordinator must know again after a crash.

use covey_api::{CoflowSpec, Update};
use serde::{Deserialize, Serialize};

/// A coflow that has gone.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    /// Its number.
    pub id: u64,
    /// What its framework called it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Its id in the DAG of its job, `external.internal` (Aalo §6.1).
    pub lineage: (u64, u32),
    /// When it came and went, on the coordinator's clock.
    pub arrival_s: f64,
    /// See `arrival_s`.
    pub end_s: f64,
    /// Number of flows, and their bytes.
    pub flows: usize,
    /// See `flows`.
    pub bytes: f64,
    /// Whether it was deregistered before its last flow had ended.
    pub removed: bool,
    /// The key of its registration.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<Key>,
}

/// An `Idempotency-Key`, and a digest of the request that it came with.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Key {
    /// What the client chose.
    pub key: String,
    /// Of the request's body.
    pub digest: u64,
}

/// For how long a coflow is kept, where a start of the coordinator could not tell.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Lease {
    /// Its number.
    pub id: u64,
    /// For how many seconds it is kept each time; as long as by default if `None`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lease_s: Option<f64>,
    /// Until when, on the coordinator's clock, if half of its time is over and nobody has kept it since. Otherwise
    /// a start of the coordinator keeps it anew.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until_s: Option<f64>,
}

/// One entry of the journal.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Record {
    /// The coordinator has started.
    Epoch(u64),
    /// A coflow has been registered.
    Registered {
        /// Its number.
        id: u64,
        /// When.
        at_s: f64,
        /// Its id in its DAG.
        lineage: (u64, u32),
        /// The key of the request.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        key: Option<Key>,
        /// What was asked for.
        spec: CoflowSpec,
    },
    /// A coflow has been changed.
    Updated {
        /// Its number.
        id: u64,
        /// When.
        at_s: f64,
        /// How.
        update: Update,
    },
    /// Flows have ended.
    Ended {
        /// Their coflow's number.
        id: u64,
        /// When.
        at_s: f64,
        /// Number in the coflow, and bytes.
        flows: Vec<(u32, f64)>,
        /// Number in the coflow, and bytes that were sent, of those that were compressed.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        compressed: Vec<(u32, f64)>,
    },
    /// A coflow has been deregistered.
    Removed {
        /// Its number.
        id: u64,
        /// When.
        at_s: f64,
    },
    /// Coflows are kept for another time than was known.
    Kept {
        /// When.
        at_s: f64,
        /// For how long each.
        leases: Vec<Lease>,
    },
    /// A coflow that had gone when the journal was compacted.
    Gone(Summary),
    /// What coflows of a DAG that have gone had sent, when the journal was compacted.
    Dag {
        /// Its number.
        external: u64,
        /// Bytes.
        bytes: f64,
    },
    /// The numbers to be given next, when the journal was compacted.
    Next {
        /// Of coflows.
        id: u64,
        /// Of DAGs.
        external: u64,
    },
}
