//! What explanations consist of.

use covey_core::{Criterion, LinkId};

/// How the completion time of a coflow came about.
#[derive(Debug, Clone, PartialEq)]
pub struct Explanation {
    /// Index of the coflow in the workload.
    pub coflow: u32,
    /// Index in the coflow of its last flow.
    pub flow: u32,
    /// The coflow's bottleneck.
    pub bottleneck: LinkId,
    /// Its release, in seconds since the start of the trace.
    pub release_s: f64,
    /// Its completion time in seconds, from its release.
    pub cct_s: f64,
    /// The parts of the completion time, the longest first.
    pub parts: Vec<Part>,
}

/// A part of a completion time.
#[derive(Debug, Clone, PartialEq)]
pub struct Part {
    /// What held.
    pub kind: Kind,
    /// How long it held in all, in seconds.
    pub seconds: f64,
    /// Index in the workload of the coflow that used the link.
    pub other: Option<u32>,
    /// The link.
    pub link: Option<LinkId>,
    /// Why the policy served that coflow before.
    pub reason: Option<Reason>,
    /// When it first held, in seconds since the start of the trace.
    pub from_s: f64,
    /// When it last held, in seconds since the start of the trace.
    pub until_s: f64,
}

/// What a time goes to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// The bottleneck carries bytes of the coflow.
    Sending,
    /// It carries those of a coflow that is served beside this one.
    Sharing,
    /// It carries those of a coflow that the policy has put before this one.
    Waiting,
    /// The bottleneck has capacity for the last flow, but another link does not: it carries bytes
    /// of a coflow that is served before or beside this one, or of this one.
    OtherEnd,
    /// The last flow has not started: it belongs to a later wave.
    Start,
    /// The last flow is compressed before it is sent.
    Compression,
    /// The policy has not decided on the last flow: that is the delay between an event and the
    /// decision.
    Undecided,
    /// The policy gives the last flow less than it could have.
    Paced,
    /// In the live system: a host of the coflow is away.
    Away,
    /// In the live system: the coflow does not use its rate.
    Idle,
    /// In the live system: nobody has watched the coflow.
    Unseen,
}

impl Kind {
    /// All kinds that a simulation has.
    pub const ALL: [Kind; 8] = [
        Kind::Sending,
        Kind::Sharing,
        Kind::Waiting,
        Kind::OtherEnd,
        Kind::Start,
        Kind::Compression,
        Kind::Undecided,
        Kind::Paced,
    ];

    /// Its name in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Sending => "sending",
            Kind::Sharing => "sharing",
            Kind::Waiting => "waiting",
            Kind::OtherEnd => "other-end",
            Kind::Start => "start",
            Kind::Compression => "compression",
            Kind::Undecided => "undecided",
            Kind::Paced => "paced",
            Kind::Away => "away",
            Kind::Idle => "idle",
            Kind::Unseen => "unseen",
        }
    }
}

/// Why a policy has put another coflow before this one, as it was when that began.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Reason {
    /// What the other coflow was ranked by.
    pub criterion: Criterion,
    /// The value of this coflow, if it was ranked by the same.
    pub own: Option<f64>,
}
