//! The coflows that are to be assessed again.

use covey_core::{CoflowId, LinkId, NonClairvoyant, View};

/// The coflows that are to be assessed: those whose own flows require it, and those that have
/// changed and share a link with a coflow that has arrived or left.
#[derive(Debug, Default)]
pub(super) struct ToAssess {
    /// Coflows to assess because of their own flows.
    dirty: Vec<CoflowId>,
    /// Links at which a coflow has arrived or left.
    dirty_links: Vec<LinkId>,
    /// By link, coflows there that have changed since they were assessed. Some of them may have
    /// been assessed since.
    changed_at: Vec<Vec<CoflowId>>,
    /// By coflow, whether it has changed since it was assessed.
    has_changed: Vec<bool>,
}

impl ToAssess {
    /// Adds a coflow.
    pub fn add(&mut self, coflow: CoflowId) {
        if self.dirty.last() != Some(&coflow) {
            self.dirty.push(coflow);
        }
    }

    /// Adds the coflows that have changed and share a link with a coflow that arrives or leaves.
    pub fn add_neighbours(&mut self, coflow: CoflowId, view: &View<'_, NonClairvoyant>) {
        self.dirty_links.extend(view.loads(coflow).map(|load| load.link));
    }

    /// Removes a coflow that has ended.
    pub fn remove(&mut self, coflow: CoflowId) {
        self.dirty.retain(|&dirty| dirty != coflow);
        if let Some(has_changed) = self.has_changed.get_mut(coflow.index()) {
            *has_changed = false;
        }
    }

    /// Takes all coflows out and calls `assess` with each.
    pub fn take(&mut self, view: &View<'_, NonClairvoyant>, mut assess: impl FnMut(CoflowId)) {
        self.find_changed(view);
        for coflow in self.dirty.drain(..) {
            self.has_changed[coflow.index()] = false;
            assess(coflow);
        }
        for link in self.dirty_links.drain(..) {
            for coflow in self.changed_at[link.index()].drain(..) {
                if std::mem::take(&mut self.has_changed[coflow.index()]) {
                    assess(coflow);
                }
            }
        }
    }

    /// Records by link which coflows have changed.
    fn find_changed(&mut self, view: &View<'_, NonClairvoyant>) {
        self.changed_at.resize_with(view.fabric().links(), Vec::new);
        self.has_changed.resize(view.slots(), false);
        for &coflow in view.changed().iter().filter(|&&coflow| view.is_present(coflow)) {
            if !std::mem::replace(&mut self.has_changed[coflow.index()], true) {
                view.loads(coflow).for_each(|load| self.changed_at[load.link.index()].push(coflow));
            }
        }
    }
}
