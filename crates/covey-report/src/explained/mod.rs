//! How completion times came about, and what ports carry at a time: with names, for people and
//! programs.

mod align;
mod links;
mod moment;
mod picture;
mod words;

pub(crate) use links::link_name;
pub use moment::{Moment, UsedBy, UsedPort};

use crate::Run;
use covey_core::{Fabric, Unit};
use covey_trace::results::{Explanation, Kind, Reason};
use serde::{Serialize, Serializer};

/// The headings of the columns of [`Explained::rows`].
pub(crate) const HEADINGS: [&str; 8] =
    ["s", "%", "part", "coflow", "port", "from s", "until s", "why"];

/// How the completion time of a coflow came about under a policy. `Serialize` gives its object of
/// `explain --json`.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Explained {
    /// The coflow's id in the trace.
    pub coflow: String,
    /// The policy, as the user typed it.
    pub policy: String,
    /// Completion time in seconds, from release.
    pub cct_s: f64,
    /// Release, in seconds since the start of the trace.
    pub release_s: f64,
    /// End, in seconds since the start of the trace.
    pub completion_s: f64,
    /// Whether it had not ended: the completion time is that until now.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub is_present: bool,
    /// The link at which the coflow alone needs the most time.
    pub bottleneck: String,
    /// Seconds from arrival to release, in which it waited for its parents. They are no part of the
    /// completion time.
    pub parents_s: f64,
    /// The parent that ended last, if the coflow waited for parents.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent: Option<String>,
    /// The parts of the completion time, the longest first. They add up to it.
    pub parts: Vec<ExplainedPart>,
}

/// A part of a completion time.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ExplainedPart {
    /// What held.
    #[serde(serialize_with = "kind_name")]
    pub kind: Kind,
    /// Its length in seconds.
    pub s: f64,
    /// The coflow that used the link.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub coflow: Option<String>,
    /// The link.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub port: Option<String>,
    /// Why the policy served that coflow first.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<ExplainedReason>,
    /// When it first held, in seconds since the start of the trace.
    pub from_s: f64,
    /// When it last held, in seconds since the start of the trace.
    pub until_s: f64,
}

/// What the policy ranked by, as it was when the part began.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ExplainedReason {
    /// What it is, such as `queue`.
    pub by: String,
    /// Unit of the values: `s`, `bytes`, or nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unit: Option<&'static str>,
    /// The value of the coflow that was served first, if there is a value.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub value: Option<f64>,
    /// The value of the coflow that is explained, if it was ranked by the same.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub own: Option<f64>,
}

fn kind_name<S: Serializer>(kind: &Kind, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(kind.name())
}

impl Explained {
    /// An explanation with the names of coflows, hosts and links.
    pub fn of(run: &Run<'_>, explanation: &Explanation, fabric: &Fabric) -> Explained {
        let workload = run.workload();
        let name = |coflow: u32| workload.coflows[coflow as usize].id.clone();
        let coflow = &workload.coflows[explanation.coflow as usize];
        let outcome = &run.outcome().coflows;
        let ends =
            coflow.parents.iter().map(|&parent| (outcome[parent as usize].completion_s, parent));
        let last = ends.fold(None, |last: Option<(f64, u32)>, next| match last {
            Some(last) if last.0 >= next.0 => Some(last),
            _ => Some(next),
        });
        let parents_s = explanation.release_s - coflow.arrival_s;
        let waited = last.filter(|_| parents_s > 0.0);
        let part = |part: &covey_trace::results::Part| ExplainedPart {
            kind: part.kind,
            s: part.seconds,
            coflow: part.other.map(name),
            port: part.link.map(|link| link_name(workload, fabric, link)),
            reason: part.reason.map(ExplainedReason::of),
            from_s: part.from_s,
            until_s: part.until_s,
        };
        Explained {
            coflow: coflow.id.clone(),
            policy: run.info().label.clone(),
            cct_s: explanation.cct_s,
            release_s: explanation.release_s,
            completion_s: outcome[explanation.coflow as usize].completion_s,
            is_present: false,
            bottleneck: link_name(workload, fabric, explanation.bottleneck),
            parents_s: if waited.is_some() { parents_s } else { 0.0 },
            parent: waited.map(|(_, parent)| name(parent)),
            parts: explanation.parts.iter().map(part).collect(),
        }
    }

    /// Seconds that went to a kind.
    pub fn seconds_of(&self, kind: Kind) -> f64 {
        let of_kind = self.parts.iter().filter(|part| part.kind == kind);
        of_kind.fold(0.0, |sum, part| sum + part.s)
    }
}

impl ExplainedReason {
    fn of(Reason { criterion, own }: Reason) -> ExplainedReason {
        let unit = match criterion.unit {
            Unit::Seconds => Some("s"),
            Unit::Bytes => Some("bytes"),
            Unit::Number => None,
        };
        ExplainedReason { by: criterion.name.to_owned(), unit, value: criterion.value, own }
    }
}

/// Explanations of some coflows, each under every policy: of the first coflow under all policies,
/// then of the next one.
#[derive(Debug, Clone, PartialEq)]
pub struct Explanations {
    all: Vec<Explained>,
    policies: usize,
}

/// One explanation is an object, several are a list.
impl Serialize for Explanations {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.all.as_slice() {
            [one] => one.serialize(serializer),
            all => all.serialize(serializer),
        }
    }
}

impl Explanations {
    /// Explanations by policy: those of each policy are about the same coflows in the same order.
    pub fn new(by_policy: Vec<Vec<Explained>>) -> Explanations {
        let policies = by_policy.len();
        let mut lists: Vec<_> = by_policy.into_iter().map(Vec::into_iter).collect();
        let mut all = Vec::new();
        while let Some(next) = lists.iter_mut().map(Iterator::next).collect::<Option<Vec<_>>>()
            && !next.is_empty()
        {
            all.extend(next);
        }
        Explanations { all, policies }
    }

    /// The explanations, coflow by coflow.
    pub fn all(&self) -> &[Explained] {
        &self.all
    }

    /// The explanations of each coflow, one for each policy.
    fn by_coflow(&self) -> impl Iterator<Item = &[Explained]> {
        self.all.chunks(self.policies.max(1))
    }
}
