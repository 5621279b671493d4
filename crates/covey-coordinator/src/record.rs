//! What the journal holds: everything that a coordinator must know again after a crash.

use serde::{Deserialize, Serialize};

use crate::whole;

/// A coflow as it is registered.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CoflowSpec {
    /// What its framework calls it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Numbers of the coflows it depends on.
    #[serde(default, deserialize_with = "whole::numbers", skip_serializing_if = "Vec::is_empty")]
    pub parents: Vec<u64>,
    /// Weight in a weighted mean of completion times.
    #[serde(default = "one")]
    pub weight: f64,
    /// Seconds from arrival to the time by which it should have ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deadline_s: Option<f64>,
    /// Whether it stays when its last flow has ended, because more are to come.
    #[serde(default, skip_serializing_if = "is_false")]
    pub open: bool,
    /// For how many seconds it is kept, now and each time that somebody keeps it; as long as by default if `None`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lease_s: Option<f64>,
    /// Its flows.
    pub flows: Vec<Flow>,
}

impl CoflowSpec {
    /// A coflow of these flows, with nothing else said of it.
    pub fn of(flows: Vec<Flow>) -> CoflowSpec {
        CoflowSpec {
            name: None,
            parents: Vec::new(),
            weight: one(),
            deadline_s: None,
            open: false,
            lease_s: None,
            flows,
        }
    }
}

fn one() -> f64 {
    1.0
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks for it")]
fn is_false(flag: &bool) -> bool {
    !flag
}

/// A flow as it is registered.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Flow {
    /// Sending port.
    #[serde(deserialize_with = "whole::number")]
    pub src: u32,
    /// Receiving port.
    #[serde(deserialize_with = "whole::number")]
    pub dst: u32,
    /// Its size, if anybody knows; policies that go by sizes need it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes: Option<f64>,
}

/// A change of a coflow that is present (Philae §6, `update()`).
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Update {
    /// Flows that begin now: a later wave.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub add: Vec<Flow>,
    /// Flows that begin anew on other hosts: each ends with what it has sent, and a new one is added.
    #[serde(default, rename = "move", skip_serializing_if = "Vec::is_empty")]
    pub moved: Vec<Move>,
    /// Flows of which what was sent is lost, and which begin anew where they are.
    #[serde(default, deserialize_with = "whole::numbers", skip_serializing_if = "Vec::is_empty")]
    pub restart: Vec<u32>,
    /// Whether more flows are to come.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub open: Option<bool>,
}

impl Update {
    /// The numbers of flows that it names, each with its path in the request.
    pub(crate) fn named(&self) -> impl Iterator<Item = (String, u32)> {
        let moved = self.moved.iter().enumerate();
        let moved = moved.map(|(k, moved)| (format!("move[{k}].flow"), moved.flow));
        let restarted = self.restart.iter().enumerate();
        moved.chain(restarted.map(|(k, flow)| (format!("restart[{k}]"), *flow)))
    }
}

/// Where a flow goes.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Move {
    /// Its number in the coflow.
    #[serde(deserialize_with = "whole::number")]
    pub flow: u32,
    /// Where it goes.
    pub to: Flow,
}

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
