//! Changes in the journal that have not had their whole effect.

use std::collections::VecDeque;

use super::effects::{Lsn, RequestId};
use crate::record::Record;

/// A change that is in the journal.
#[derive(Debug)]
pub(super) struct Change {
    pub lsn: Lsn,
    pub record: Record,
    /// Who is answered when it has had its effect.
    pub requests: Vec<RequestId>,
    /// The coflows that it changes.
    pub coflows: Vec<u64>,
    /// Flows to which it has happened.
    pub done: usize,
}

/// Wide changes, oldest first. The first one may have had a part of its effect.
#[derive(Debug, Default)]
pub(super) struct Unfinished(VecDeque<Change>);

impl Unfinished {
    /// How many there are.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Adds the newest.
    pub fn push(&mut self, change: Change) {
        self.0.push_back(change);
    }

    /// Takes the oldest.
    pub fn take(&mut self) -> Option<Change> {
        self.0.pop_front()
    }

    /// Puts the oldest back.
    pub fn put_back(&mut self, change: Change) {
        self.0.push_front(change);
    }

    /// Whether one of them changes a coflow.
    pub fn changes(&self, coflow: u64) -> bool {
        self.0.iter().any(|change| change.coflows.contains(&coflow))
    }

    /// Their records.
    pub fn records(&self) -> impl Iterator<Item = (Lsn, Record)> {
        self.0.iter().map(|change| (change.lsn, change.record.clone()))
    }
}
