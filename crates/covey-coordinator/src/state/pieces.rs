//! Changes of wide coflows, piece by piece.
//!
//! What a change does to the flows of a wide coflow takes a while. So it is done in pieces of
//! [`Config::piece`](super::Config::piece) flows, one in each turn, and others are served between them. Until the last
//! piece the change is [under way](super::order): other changes of the coflow and ends of its flows wait behind it, and
//! so does whoever reads the coflow. The next plan waits as well. What a compaction writes is the coflow as it is, and
//! behind it the record, which a start applies to what is left.

use super::coordinator::CoordinatorState;
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

impl CoordinatorState {
    /// A change is in the journal: it has its effect now, or in pieces if it is wide.
    pub(super) fn take_effect(&mut self, change: Change) {
        if self.width(&change.record) > self.config.piece {
            return self.unfinished.push_back(change);
        }
        self.order.end(&change.coflows);
        self.apply(&change.record);
        self.end_change(&change);
    }

    /// Applies the next piece of the oldest change that is unfinished. Returns whether none is unfinished, or this one
    /// is not any more.
    pub(super) fn apply_next(&mut self) -> bool {
        let Some(mut change) = self.unfinished.pop_front() else { return true };
        if self.is_last(&change) {
            self.order.end(&change.coflows);
        }
        let is_done = self.apply_piece(&change.record, &mut change.done);
        match is_done {
            true => self.end_change(&change),
            false => self.unfinished.push_front(change),
        }
        is_done
    }

    /// Whether only one piece of a change is left.
    fn is_last(&self, change: &Change) -> bool {
        self.width(&change.record) <= change.done + self.config.piece
    }

    /// How many flows a change is about, where that can be many.
    fn width(&self, record: &Record) -> usize {
        match record {
            Record::Removed { id, .. } => {
                self.coflows.get(*id).map_or(0, |coflow| coflow.flows.len())
            }
            Record::Updated { update, .. } => update.cancel.len(),
            _ => 0,
        }
    }

    fn end_change(&mut self, change: &Change) {
        let answer = self.answer_to(&change.record);
        for &request in &change.requests {
            self.effects.answer(request, answer.clone());
        }
        self.go_on(&change.coflows);
    }

    /// Whether a change of a coflow has had a part of its effect.
    pub(super) fn is_in_pieces(&self, coflow: u64) -> bool {
        self.unfinished.iter().any(|change| change.coflows.contains(&coflow))
    }

    /// Records of which a part has had its effect at most.
    pub(super) fn unfinished_records(&self) -> impl Iterator<Item = (Lsn, Record)> {
        self.unfinished.iter().map(|change| (change.lsn, change.record.clone()))
    }
}
