//! What all coflows do at a time: for the recording of the last minutes.

use std::collections::BTreeMap;
use std::ops::Range;

use covey_api::Doing;
use covey_core::Time;

use super::coflows::{Coflow, range};
use super::coordinator::CoordinatorState;
use super::memory::Summaries;
use super::waiting::{FullLinks, InForce};
use crate::record::Summary;

/// A copy of what coflows do, which can be looked at beside the coordinator.
pub struct Look {
    at: Time,
    in_force: InForce,
    gone: Summaries,
    next_id: u64,
}

/// What is seen of a coflow that is present.
pub struct Seen<'a> {
    /// Its number.
    pub id: u64,
    /// What its framework calls it.
    pub name: Option<&'a str>,
    /// Who pays for it.
    pub tenant: Option<&'a str>,
    /// The numbers of its parents.
    pub parents: &'a [u64],
    /// When it came, in seconds.
    pub arrival_s: f64,
    /// What it does.
    pub doing: Doing,
    /// What each of its senders sends, in bytes per second.
    pub sends: BTreeMap<u32, f64>,
}

impl CoordinatorState {
    /// A copy of what coflows do. It shares with the coordinator what does not change meanwhile.
    pub fn look(&self) -> Look {
        Look {
            at: self.now,
            in_force: self.in_force(),
            gone: self.coflows.gone.summaries(),
            next_id: self.coflows.next_id,
        }
    }
}

impl Look {
    /// When that was, in seconds.
    pub fn at_s(&self) -> f64 {
        self.at.as_secs()
    }

    /// The number of the next coflow that will come.
    pub fn next_id(&self) -> u64 {
        self.next_id
    }

    /// Those that are present. This looks at all rates.
    pub fn present(&self) -> impl Iterator<Item = Seen<'_>> {
        let full = self.in_force.full_links();
        range(&self.in_force.present, 0).map(move |(id, coflow)| self.seen(id, coflow, &full))
    }

    /// A coflow that has gone, unless it is forgotten.
    pub fn gone(&self, id: u64) -> Option<&Summary> {
        self.gone.get(&id).map(AsRef::as_ref)
    }

    /// Those with numbers in a range that have gone.
    pub fn gone_of(&self, ids: Range<u64>) -> impl Iterator<Item = &Summary> {
        self.gone.range(ids).map(|(_, summary)| summary.as_ref())
    }

    fn seen<'a>(&self, id: u64, coflow: &'a Coflow, full: &FullLinks) -> Seen<'a> {
        let about = &coflow.about;
        let mut sends = BTreeMap::new();
        // A flow that has moved may have the rate of none.
        for served in coflow.served.values().filter(|served| served.rate > 0.0) {
            if let Some(flow) = coflow.flows.get(served.flow) {
                *sends.entry(flow.src).or_default() += served.rate;
            }
        }
        let doing = if sends.is_empty() {
            self.waiting(id, coflow, full)
        } else {
            let layer = self.in_force.layer(coflow);
            Doing { what: "sending".into(), layer, behind: None, port: None, direction: None }
        };
        Seen {
            id,
            name: about.name.as_deref(),
            tenant: about.owner.as_ref().map(|owner| &*owner.tenant),
            parents: &about.parents,
            arrival_s: about.arrival_s,
            doing,
            sends,
        }
    }

    fn waiting(&self, id: u64, coflow: &Coflow, full: &FullLinks) -> Doing {
        let waiting = self.in_force.why(id, coflow, full);
        let link = waiting.behind.into_iter().next();
        Doing {
            what: waiting.why,
            layer: waiting.layer,
            behind: link.as_ref().and_then(|link| link.coflows.first().copied()),
            port: link.as_ref().map(|link| link.port),
            direction: link.map(|link| link.direction),
        }
    }
}
