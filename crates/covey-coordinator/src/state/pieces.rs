//! Changes of wide coflows, piece by piece.
//!
//! What a change does to the flows of a wide coflow takes a while. So it is done in pieces of
//! [`Config::piece`](super::Config::piece) flows, one in each turn, and others are served between
//! them. Until the last piece the change is [under way](super::order): other changes of the coflow
//! and ends of its flows wait behind it, and so does whoever reads the coflow. The next plan waits
//! as well. What a compaction writes is the coflow as it is, and behind it the record, which a
//! start applies to what is left.

use super::coordinator::CoordinatorState;
use super::unfinished::Change;
use crate::record::Record;

impl CoordinatorState {
    /// A change is in the journal: it has its effect now, or in pieces if it is wide.
    pub(super) fn take_effect(&mut self, change: Change) {
        if self.width(&change.record) > self.config.piece {
            return self.unfinished.push(change);
        }
        self.order.end(&change.coflows);
        self.apply(&change.record);
        self.end_change(&change);
    }

    /// Applies the next piece of the oldest change that is unfinished. Returns whether none is
    /// unfinished, or this one is not any more.
    pub(super) fn apply_next(&mut self) -> bool {
        let Some(mut change) = self.unfinished.take() else { return true };
        if self.is_last(&change) {
            self.order.end(&change.coflows);
        }
        let is_done = self.apply_piece(&change.record, &mut change.done);
        match is_done {
            true => self.end_change(&change),
            false => self.unfinished.put_back(change),
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
}
