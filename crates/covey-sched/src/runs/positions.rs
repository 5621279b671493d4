//! The order of coflows by run, and the coflows that have moved in it.

use covey_core::sorted::Sorted;
use covey_core::{CoflowId, Rank};

/// The coflows in the order of runs, then of arrival; and those whose position has changed.
#[derive(Debug, Default)]
pub(super) struct Positions {
    order: Sorted<Rank, CoflowId>,
    /// By coflow, its position.
    of: Vec<Option<Rank>>,
    /// Coflows whose positions have changed, each once.
    moved: Vec<(Rank, CoflowId)>,
    /// By coflow, whether it is among them.
    is_moved: Vec<bool>,
}

impl Positions {
    /// Moves a coflow to a position, unless it is there.
    pub fn move_to(&mut self, coflow: CoflowId, position: Rank) {
        if self.of.len() <= coflow.index() {
            self.of.resize(coflow.index() + 1, None);
            self.is_moved.resize(coflow.index() + 1, false);
        }
        let before = self.of[coflow.index()].replace(position);
        if before == Some(position) {
            return;
        }
        before.into_iter().for_each(|before| _ = self.order.remove(&before));
        self.order.insert(position, coflow);
        if std::mem::replace(&mut self.is_moved[coflow.index()], true) {
            self.moved.retain(|(_, other)| *other != coflow);
        }
        self.moved.push((position, coflow));
    }

    /// Removes a coflow that has not moved. Returns whether it had a position.
    pub fn remove(&mut self, coflow: CoflowId) -> bool {
        let position = self.of.get_mut(coflow.index()).and_then(Option::take);
        position.is_some_and(|position| self.order.remove(&position).is_some())
    }

    /// One more than the largest index of a coflow that has had a position.
    pub fn slots(&self) -> usize {
        self.of.len()
    }

    /// Puts the coflows that have moved in order.
    pub fn sort_moved(&mut self) {
        self.moved.sort_unstable();
    }

    /// The coflows that have moved, with their positions.
    pub fn moved(&self) -> &[(Rank, CoflowId)] {
        &self.moved
    }

    /// Whether a coflow has moved.
    pub fn is_moved(&self, coflow: CoflowId) -> bool {
        self.is_moved[coflow.index()]
    }

    /// From now on, no coflow counts as moved.
    pub fn forget_moved(&mut self) {
        self.moved.drain(..).for_each(|(_, coflow)| self.is_moved[coflow.index()] = false);
    }

    /// The last coflow before a position.
    pub fn before(&self, position: &Rank) -> Option<&(Rank, CoflowId)> {
        self.order.before(position)
    }

    /// The coflows behind a position, in order.
    pub fn behind(&self, position: Rank) -> impl Iterator<Item = &(Rank, CoflowId)> {
        self.order.after(position)
    }

    /// All coflows in order.
    #[cfg(test)]
    pub fn coflows(&self) -> impl Iterator<Item = CoflowId> {
        self.order.iter().map(|&(_, coflow)| coflow)
    }
}
