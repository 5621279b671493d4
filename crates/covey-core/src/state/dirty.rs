//! Which coflows policies and drivers have to look at again.

use super::domains::Domains;
use crate::values::ids::{CoflowId, LinkId};

/// What has happened to coflows since the last plan, and since links were last shared.
#[derive(Debug, Default)]
pub(crate) struct Dirty {
    /// Which coflows can have met, and what has happened among them.
    domains: Domains,
    /// Coflows whose flows, or what is left of them, may have changed since the last plan.
    changed: Vec<CoflowId>,
    /// Whether a coflow is among `changed`, by [`CoflowId`].
    is_changed: Vec<bool>,
}

impl Dirty {
    /// No coflow uses any of so many links.
    pub fn clear(&mut self, links: usize) {
        self.clear_dirty();
        self.domains.clear(links);
    }

    /// Which coflows can have met.
    pub fn domains(&self) -> &Domains {
        &self.domains
    }

    /// Which coflows can have met, to be told of coflows that come and go and of events.
    pub fn domains_mut(&mut self) -> &mut Domains {
        &mut self.domains
    }

    /// The flows of a coflow, or what is left of them, may have changed.
    #[inline]
    pub fn note_change(&mut self, id: CoflowId) {
        // Most flows that start or end are of a coflow that has changed already.
        if self.is_changed.get(id.index()) != Some(&true) {
            self.add_changed(id);
        }
    }

    #[cold]
    fn add_changed(&mut self, id: CoflowId) {
        if self.is_changed.len() <= id.index() {
            self.is_changed.resize(id.index() + 1, false);
        }
        self.is_changed[id.index()] = true;
        self.changed.push(id);
    }

    /// Something has happened to a coflow with this first link that may change rates.
    pub fn note_event(&mut self, id: CoflowId, first: Option<LinkId>) {
        self.note_change(id);
        if let Some(link) = first {
            self.domains.note_event(link);
        }
    }

    /// Coflows whose flows, or what is left of them, may have changed since the last plan, in no
    /// particular order.
    pub fn changed(&self) -> &[CoflowId] {
        &self.changed
    }

    /// The policy has made a plan: no coflow is dirty or changed any more.
    pub fn clear_dirty(&mut self) {
        for id in self.changed.drain(..) {
            self.is_changed[id.index()] = false;
        }
        self.domains.clear_dirty();
    }
}
