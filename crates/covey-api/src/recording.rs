//! What the coordinator remembers of the last minutes.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

/// A page of what coflows did in the last minutes: the answer to `GET /v1/recording`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Recording {
    /// When the coordinator last looked at its coflows, on its clock in seconds.
    pub now_s: f64,
    /// What was before this time is forgotten.
    pub from_s: f64,
    /// Seconds between the last two looks. What begins and ends between two is not seen, but for
    /// the arrivals and ends of coflows.
    pub every_s: f64,
    /// Senders of coflows that a look since `from_s` has left out, because there were too many: the
    /// last one that did.
    pub left_out: usize,
    /// Coflows that were present, the latest first.
    pub items: Vec<RecordedCoflow>,
    /// The cursor of the next page, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}

/// A coflow that was present in the last minutes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RecordedCoflow {
    /// Its number.
    pub id: u64,
    /// What its framework calls it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Who pays for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tenant: Option<String>,
    /// The numbers of its parents.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub parents: Vec<u64>,
    /// When it came, in seconds on the coordinator's clock.
    pub arrival_s: f64,
    /// When it went.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub end_s: Option<f64>,
    /// What it did, in order of time.
    pub did: Vec<Did>,
    /// Where it sent, in order of the ends.
    pub sent: Vec<Sent>,
}

/// What a coflow did for some time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Did {
    /// Begin, in seconds on the coordinator's clock.
    pub from_s: f64,
    /// End.
    pub until_s: f64,
    /// What it did.
    #[serde(flatten)]
    pub doing: Doing,
}

/// What a coflow does.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Doing {
    /// `sending`, or what it waits for, as [`Waiting::why`](crate::Waiting::why) says.
    pub what: Cow<'static, str>,
    /// The layer of its first flow in the plan, from 0.
    pub layer: u32,
    /// The first of the coflows behind which it waits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub behind: Option<u64>,
    /// The port where it waits behind others.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub port: Option<u32>,
    /// `out` if the port is that of a sender there, `in` for a receiver.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub direction: Option<Cow<'static, str>>,
}

/// What a port sent of a coflow for some time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Sent {
    /// Begin, in seconds on the coordinator's clock.
    pub from_s: f64,
    /// End.
    pub until_s: f64,
    /// The sender.
    pub port: u32,
    /// Bytes per second of all flows together, as scheduled.
    pub rate: f64,
}
