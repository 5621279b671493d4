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
    /// When it came, on the coordinator's clock.
    pub arrival_s: f64,
    /// When it went.
    pub end_s: f64,
    /// Number of flows.
    pub flows: usize,
    /// Bytes that they have sent.
    pub bytes: f64,
    /// Whether it was deregistered before its last flow had ended.
    pub removed: bool,
    /// The key of its registration.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<Key>,
    /// Who registered it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner: Option<Registrant>,
}

/// Who has registered a coflow: its owner.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Registrant {
    /// The name of the token.
    pub token: String,
    /// The tenant that the token named then.
    pub tenant: String,
}

/// An `Idempotency-Key`, and a digest of the request that it came with.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Key {
    /// What the client chose.
    pub key: String,
    /// Of the request's body.
    #[serde(flatten)]
    pub digest: Digest,
}

/// The digest of a request, by which a second one with its key is compared. It is kept in the
/// journal: the same for every version of this program.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Digest {
    /// CRC-32 and length.
    #[serde(rename = "digest")]
    pub crc: u64,
    /// SHA-256, in hexadecimal digits. Before version 2.4 a journal had none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sha256: Option<String>,
}

impl Digest {
    /// Whether both are of the same request, as far as both say.
    pub fn is_same(&self, other: &Digest) -> bool {
        match (&self.sha256, &other.sha256) {
            (Some(this), Some(that)) => this == that,
            _ => self.crc == other.crc,
        }
    }
}

impl From<u64> for Digest {
    fn from(crc: u64) -> Digest {
        Digest { crc, sha256: None }
    }
}

/// For how long a coflow is kept, if a start of the coordinator could not know.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Lease {
    /// Its number.
    pub id: u64,
    /// Seconds for which it is kept each time; the default if `None`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lease_s: Option<f64>,
    /// Until when it is kept, on the coordinator's clock, if half of its time has passed and nobody
    /// has kept it since. Otherwise a start of the coordinator keeps it again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until_s: Option<f64>,
}

/// The id of a flow, and the coflows to which it belonged, each with its index there, oldest first.
pub type FormerNames = (u64, Vec<(u64, u32)>);

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
        /// Who registered it. Before version 2.4 a journal did not say: such a coflow belongs to
        /// nobody.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        owner: Option<Registrant>,
        /// The ids of its flows, in order: runs of ids, each by its first id and its length. Before
        /// version 2.1 a journal had none; such flows get the next ids in reading order.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        flow_ids: Vec<(u64, u32)>,
        /// Its revision, when the journal was compacted.
        #[serde(default, skip_serializing_if = "is_zero")]
        revision: u64,
        /// What was asked for.
        spec: CoflowSpec,
    },
    /// A coflow has been changed.
    Updated {
        /// Its number.
        id: u64,
        /// When.
        at_s: f64,
        /// The ids of the flows that it adds, then of those that it moves, as in `Registered`.
        /// Then, for each flow that it takes, the id of what stays in the flow's former coflow: a
        /// flow that has ended.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        flow_ids: Vec<(u64, u32)>,
        /// How.
        update: Update,
    },
    /// Flows of a coflow have ended, in a journal before version 2.1.
    Ended {
        /// Their coflow's number.
        id: u64,
        /// When.
        at_s: f64,
        /// Index in the coflow, and bytes.
        flows: Vec<(u32, f64)>,
        /// Index in the coflow, and bytes on the wire, of flows that were compressed.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        compressed: Vec<(u32, f64)>,
    },
    /// Flows have ended.
    FlowsEnded {
        /// When.
        at_s: f64,
        /// Id and bytes of each.
        flows: Vec<(u64, f64)>,
        /// Id, and bytes on the wire, of flows that were compressed.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        compressed: Vec<(u64, f64)>,
        /// Ids of those that were cancelled before the journal was compacted.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        cancelled: Vec<u64>,
    },
    /// A coflow has been deregistered.
    Removed {
        /// Its number.
        id: u64,
        /// When.
        at_s: f64,
    },
    /// Coflows are kept until another time than the journal says.
    Kept {
        /// When.
        at_s: f64,
        /// For how long each.
        leases: Vec<Lease>,
    },
    /// Former names of flows that had changed their coflow when the journal was compacted.
    Renamed {
        /// The id of each flow, and its former coflows and indices in them, oldest first.
        flows: Vec<FormerNames>,
    },
    /// A coflow that had gone when the journal was compacted.
    Gone(Summary),
    /// Bytes of those coflows of a DAG that had gone when the journal was compacted.
    Dag {
        /// Its number.
        external: u64,
        /// Bytes.
        bytes: f64,
    },
    /// A port gets no new flows from now on, or may get some again.
    Drain {
        /// The port.
        port: u32,
        /// Whether it gets none.
        draining: bool,
    },
    /// The numbers to be given next, when the journal was compacted.
    Next {
        /// Of coflows.
        id: u64,
        /// Of DAGs.
        external: u64,
        /// Of flows.
        #[serde(default, skip_serializing_if = "is_zero")]
        flow: u64,
    },
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks for it")]
fn is_zero(number: &u64) -> bool {
    *number == 0
}

impl Record {
    /// When it happened, in seconds on the coordinator's clock, if it happened at a time.
    pub fn at_s(&self) -> Option<f64> {
        match self {
            Record::Registered { at_s, .. }
            | Record::Updated { at_s, .. }
            | Record::Ended { at_s, .. }
            | Record::FlowsEnded { at_s, .. }
            | Record::Kept { at_s, .. }
            | Record::Removed { at_s, .. } => Some(*at_s),
            Record::Epoch(_)
            | Record::Drain { .. }
            | Record::Renamed { .. }
            | Record::Gone(_)
            | Record::Dag { .. }
            | Record::Next { .. } => None,
        }
    }
}

#[cfg(test)]
impl Record {
    /// A coflow that nobody owns has been registered, alone in its DAG, without a key and ids of
    /// flows.
    pub fn registered(id: u64, at_s: f64, spec: CoflowSpec) -> Record {
        let (key, owner, flow_ids) = (None, None, Vec::new());
        Record::Registered { id, at_s, lineage: (id, 0), key, owner, flow_ids, revision: 0, spec }
    }
}
