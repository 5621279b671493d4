//! One change of a coflow after the other.
//!
//! A change has no effect before it is in the journal. Until then it is *under way*, and whatever
//! else would change the same coflow waits behind it: another change that a client asks for, and
//! ends of its flows. So each change is checked against the coflow that it will find, and a start
//! of the coordinator, which reads the journal in order, finds what this one has found.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use covey_proto::Ended;

use super::effects::RequestId;
use crate::request::{Client, Request};

/// What waits behind a change.
#[derive(Debug)]
pub(super) enum Behind {
    /// What a client asks for.
    Request(RequestId, Client, Box<Request>),
    /// What the agent of a port has reported.
    Ends(u32, Vec<Ended>),
}

/// The changes that are under way, and what waits behind them.
#[derive(Debug, Default)]
pub(super) struct Order {
    /// The coflows with a change under way.
    changing: BTreeSet<u64>,
    /// By coflow, oldest first. No queue is empty.
    behind: BTreeMap<u64, VecDeque<Behind>>,
    /// Requests in all queues.
    requests: usize,
}

impl Order {
    /// Whether a change of a coflow is under way.
    pub fn is_changing(&self, coflow: u64) -> bool {
        self.changing.contains(&coflow)
    }

    /// Requests that wait.
    pub fn requests(&self) -> usize {
        self.requests
    }

    /// A change of these coflows is under way from now on.
    pub fn begin(&mut self, coflows: &[u64]) {
        self.changing.extend(coflows);
    }

    /// The change of these coflows has had its effect, or will never have it.
    pub fn end(&mut self, coflows: &[u64]) {
        coflows.iter().for_each(|coflow| _ = self.changing.remove(coflow));
    }

    /// Has something wait until no change of a coflow is under way.
    pub fn wait(&mut self, coflow: u64, behind: Behind) {
        self.requests += usize::from(matches!(behind, Behind::Request(..)));
        self.behind.entry(coflow).or_default().push_back(behind);
    }

    /// What has waited longest behind changes of a coflow, if none is under way any more.
    pub fn next(&mut self, coflow: u64) -> Option<Behind> {
        if self.is_changing(coflow) {
            return None;
        }
        let queue = self.behind.get_mut(&coflow)?;
        let first = queue.pop_front();
        if queue.is_empty() {
            self.behind.remove(&coflow);
        }
        self.requests -= usize::from(matches!(first, Some(Behind::Request(..))));
        first
    }

    /// How many entries there are.
    #[cfg(test)]
    pub fn entries(&self) -> usize {
        self.changing.len() + self.behind.values().map(VecDeque::len).sum::<usize>()
    }
}
