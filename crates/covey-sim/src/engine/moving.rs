//! The coflows of which anything is sent: of thousands that are present, few have a rate.

use covey_core::CoflowId;
use covey_core::state::State;

/// A set of coflows.
#[derive(Debug, Default)]
pub(super) struct Moving {
    all: Vec<CoflowId>,
    /// By [`CoflowId`], whether it is among them.
    is: Vec<bool>,
    found: Vec<CoflowId>,
}

impl Moving {
    pub fn clear(&mut self) {
        self.all.drain(..).for_each(|id| self.is[id.index()] = false);
    }

    /// In no order that means anything.
    pub fn all(&self) -> &[CoflowId] {
        &self.all
    }

    /// Finds those that are present and of which something holds.
    pub fn find(&mut self, state: &State, holds: impl Fn(CoflowId) -> bool) {
        self.found.clear();
        let found = self.all.iter().filter(|id| state.is_present(**id) && holds(**id));
        self.found.extend(found);
        self.found.sort_unstable_by_key(|&id| state.order(id));
    }

    /// Those that were found last, in order of arrival.
    pub fn found(&self) -> &[CoflowId] {
        &self.found
    }

    pub fn add(&mut self, id: CoflowId) {
        if self.is.len() <= id.index() {
            self.is.resize(id.index() + 1, false);
        }
        if !std::mem::replace(&mut self.is[id.index()], true) {
            self.all.push(id);
        }
    }

    pub fn retain(&mut self, is_moving: impl Fn(CoflowId) -> bool) {
        let Moving { all, is, .. } = self;
        all.retain(|id| {
            is[id.index()] = is_moving(*id);
            is[id.index()]
        });
    }
}
