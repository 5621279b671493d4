//! The coflows of which something is sent: of thousands that are present, few have a rate.

use covey_core::CoflowId;
use covey_core::state::State;

/// A set of coflows.
#[derive(Debug, Default)]
pub(super) struct Moving {
    all: Vec<CoflowId>,
    /// Whether each coflow is in `all`, by [`CoflowId`].
    is: Vec<bool>,
    /// Working memory and result of [`Moving::find`].
    found: Vec<CoflowId>,
}

impl Moving {
    /// No coflow is moving.
    pub fn clear(&mut self) {
        self.all.drain(..).for_each(|id| self.is[id.index()] = false);
    }

    /// The coflows, in no particular order.
    pub fn all(&self) -> &[CoflowId] {
        &self.all
    }

    /// Finds the coflows that are present and for which `holds` is true.
    pub fn find(&mut self, state: &State, holds: impl Fn(CoflowId) -> bool) {
        self.found.clear();
        let found = self.all.iter().filter(|id| state.is_present(**id) && holds(**id));
        self.found.extend(found);
        self.found.sort_unstable_by_key(|&id| state.order(id));
    }

    /// The coflows that were found last, in order of arrival.
    pub fn found(&self) -> &[CoflowId] {
        &self.found
    }

    /// Adds a coflow, unless it is there.
    pub fn add(&mut self, id: CoflowId) {
        if self.is.len() <= id.index() {
            self.is.resize(id.index() + 1, false);
        }
        if !std::mem::replace(&mut self.is[id.index()], true) {
            self.all.push(id);
        }
    }

    /// Removes the coflows for which `is_moving` is false.
    pub fn retain(&mut self, mut is_moving: impl FnMut(CoflowId) -> bool) {
        let Moving { all, is, .. } = self;
        all.retain(|id| {
            is[id.index()] = is_moving(*id);
            is[id.index()]
        });
    }
}
