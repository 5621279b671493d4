//! Where something has happened, for those who look again only there.

use super::State;
use crate::ids::{CoflowId, LinkId};

impl State {
    /// The policy is told of something that concerns a coflow, beside its arrival and its end.
    pub fn stir(&mut self, id: CoflowId) {
        if let Some(&link) = self.slots[id.index()].demand.links().first() {
            self.domains.stir(link);
        }
    }

    /// Something has happened to a coflow that may change rates, beside starts and ends of its flows.
    pub fn note(&mut self, id: CoflowId) {
        self.mark(id);
        if let Some(&link) = self.slots[id.index()].demand.links().first() {
            self.domains.note(link);
        }
    }

    /// Something has happened that may change the rates of all.
    pub fn note_all(&mut self) {
        self.domains.note_all();
    }

    /// Whether anything has happened, since rates were last shared, among the coflows that one with
    /// this link can have met.
    pub fn is_eventful(&self, link: LinkId) -> bool {
        self.domains.is_eventful(link)
    }

    /// Rates have been shared.
    pub fn end_moment(&mut self) {
        self.domains.end_moment();
    }

    /// Whether, since the last plan, the policy was told of anything among the coflows that this one
    /// can have met: those with which it shares a link, and those that these share one with, and so on.
    pub fn is_stirred(&self, id: CoflowId) -> bool {
        let link = self.slots[id.index()].demand.links().first();
        link.is_none_or(|&link| self.domains.is_stirred(link))
    }

    /// Whether two coflows can have met, or others through which one may matter to the other.
    pub fn may_meet(&self, a: CoflowId, b: CoflowId) -> bool {
        let domain = |id: CoflowId| {
            let link = self.slots[id.index()].demand.links().first();
            link.map(|&link| self.domains.of(link))
        };
        domain(a) == domain(b)
    }

    /// Whether a coflow can have met those that use a link.
    pub fn reaches(&self, id: CoflowId, link: LinkId) -> bool {
        let first = self.slots[id.index()].demand.links().first();
        first.is_some_and(|&first| self.domains.of(first) == self.domains.of(link))
    }

    /// The flows of a coflow, or what is left of them, may have changed.
    pub(super) fn mark(&mut self, id: CoflowId) {
        if !std::mem::replace(&mut self.slots[id.index()].is_changed, true) {
            self.changed.push(id);
        }
    }

    /// Coflows whose flows, or what is left of them, may have changed since the last plan, in no order that
    /// means anything; some of them may have gone.
    pub fn changed(&self) -> &[CoflowId] {
        &self.changed
    }

    /// The policy has made a plan.
    pub fn settle(&mut self) {
        for id in self.changed.drain(..) {
            self.slots[id.index()].is_changed = false;
        }
        self.domains.settle();
    }
}
