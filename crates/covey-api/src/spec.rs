//! Coflows and their changes, as clients ask for them and as the journal keeps them.

use serde::{Deserialize, Serialize};

use crate::{FlowEnds, serde_integers, serde_objects};

/// A coflow as it is registered.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CoflowSpec {
    /// What its framework calls it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Numbers of the coflows it depends on.
    #[serde(
        default,
        deserialize_with = "serde_integers::numbers",
        skip_serializing_if = "Vec::is_empty"
    )]
    pub parents: Vec<u64>,
    /// Whether its flows wait until all of its parents have ended or were removed. If not, they may
    /// start at once, and the parents come first where they contend, in policies that go by DAGs.
    #[serde(default, skip_serializing_if = "is_false")]
    pub barrier: bool,
    /// Weight in a weighted mean of completion times.
    #[serde(default = "one")]
    pub weight: f64,
    /// Seconds from arrival to the time by which it should have ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deadline_s: Option<f64>,
    /// Whether it stays when its last flow has ended, because more flows are to come.
    #[serde(default, skip_serializing_if = "is_false")]
    pub open: bool,
    /// Seconds for which it is kept, now and each time that somebody keeps it. `None`: the
    /// coordinator's default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lease_s: Option<f64>,
    /// Whether its flows may be compressed, where the policy compresses.
    #[serde(default = "yes", skip_serializing_if = "is_true")]
    pub compress: bool,
    /// Compressed bytes for each raw byte of its flows, above 0 and at most 1, if that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ratio: Option<f64>,
    /// Its flows.
    #[serde(deserialize_with = "serde_objects::objects")]
    pub flows: Vec<Flow>,
}

impl CoflowSpec {
    /// A coflow of these flows, with defaults for all else.
    pub fn of(flows: Vec<Flow>) -> CoflowSpec {
        CoflowSpec {
            name: None,
            parents: Vec::new(),
            barrier: false,
            weight: one(),
            deadline_s: None,
            open: false,
            lease_s: None,
            compress: true,
            ratio: None,
            flows,
        }
    }
}

fn yes() -> bool {
    true
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks for it")]
fn is_true(flag: &bool) -> bool {
    *flag
}

fn one() -> f64 {
    1.0
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks for it")]
pub(crate) fn is_false(flag: &bool) -> bool {
    !flag
}

/// A flow as it is registered.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Flow {
    /// Sending port.
    #[serde(deserialize_with = "serde_integers::number")]
    pub src: u32,
    /// Receiving port.
    #[serde(deserialize_with = "serde_integers::number")]
    pub dst: u32,
    /// Its size in bytes, if known. Clairvoyant policies need it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes: Option<f64>,
    /// Index of a flow of the coflow that carries the same bytes: this is another attempt of that
    /// transfer. The first attempt to end makes the others needless, and they are cancelled.
    #[serde(
        default,
        deserialize_with = "serde_integers::optional",
        skip_serializing_if = "Option::is_none"
    )]
    pub attempt: Option<u32>,
    /// Compressed bytes for each raw byte of it, above 0 and at most 1, if that is known; 1 if it
    /// is not compressible. `None`: that of its coflow.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ratio: Option<f64>,
}

impl Flow {
    /// A flow of `bytes` from a port to a port, the only attempt of its transfer.
    pub fn new(src: u32, dst: u32, bytes: Option<f64>) -> Flow {
        Flow { src, dst, bytes, attempt: None, ratio: None }
    }
}

/// A change of a coflow that is present (Philae §6, `update()`).
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Update {
    /// Flows that begin now: a later wave.
    #[serde(
        default,
        deserialize_with = "serde_objects::objects",
        skip_serializing_if = "Vec::is_empty"
    )]
    pub add: Vec<Flow>,
    /// Flows that start again on other hosts: each ends with what it has sent, and a new one is
    /// added.
    #[serde(
        default,
        rename = "move",
        deserialize_with = "serde_objects::objects",
        skip_serializing_if = "Vec::is_empty"
    )]
    pub moved: Vec<Move>,
    /// Indices of flows that have lost what they sent, and start again where they are.
    #[serde(
        default,
        deserialize_with = "serde_integers::numbers",
        skip_serializing_if = "Vec::is_empty"
    )]
    pub restart: Vec<u32>,
    /// Indices of flows that nobody needs any more: each ends with what it has sent.
    #[serde(
        default,
        deserialize_with = "serde_integers::numbers",
        skip_serializing_if = "Vec::is_empty"
    )]
    pub cancel: Vec<u32>,
    /// Ids of unfinished flows of other coflows, which join this one with what they have sent.
    #[serde(
        default,
        deserialize_with = "serde_integers::numbers",
        skip_serializing_if = "Vec::is_empty"
    )]
    pub take: Vec<u64>,
    /// Whether more flows are to come.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub open: Option<bool>,
}

impl Update {
    /// How many flows it adds to the coflow.
    pub fn added(&self) -> usize {
        self.add.len() + self.moved.len() + self.take.len()
    }

    /// The indices of the flows that it names, each with its path in the request.
    pub fn named(&self) -> impl Iterator<Item = (String, u32)> {
        let moved = self.moved.iter().enumerate();
        let moved = moved.map(|(k, moved)| (format!("move[{k}].flow"), moved.flow));
        let restarted = self.restart.iter().enumerate();
        let restarted = restarted.map(|(k, flow)| (format!("restart[{k}]"), *flow));
        let cancelled = self.cancel.iter().enumerate();
        let cancelled = cancelled.map(|(k, flow)| (format!("cancel[{k}]"), *flow));
        moved.chain(restarted).chain(cancelled)
    }
}

/// Flows that no application registers and that belong together, as somebody knows.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Community {
    /// Its number.
    #[serde(deserialize_with = "serde_integers::number")]
    pub community: u32,
    /// The ends of the flows, which may not have begun.
    #[serde(deserialize_with = "serde_objects::objects")]
    pub flows: Vec<FlowEnds>,
}

/// Where a flow goes.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Move {
    /// Its index in the coflow.
    #[serde(deserialize_with = "serde_integers::number")]
    pub flow: u32,
    /// Where it goes.
    #[serde(deserialize_with = "serde_objects::object")]
    pub to: Flow,
}
