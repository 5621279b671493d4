//! The links of one coflow, numbered locally.

use super::builder::Builder;
use crate::fabric::Fabric;
use crate::sets::clone_in_place::clone_in_place;
use crate::sets::link_set::LinkSet;
use crate::values::ids::{LinkId, PortId};

/// The links that the flows of one coflow cross, each at its local number: first the senders, in
/// order of their first flows, then the receivers likewise, then the links inside the fabric in its
/// order.
#[derive(Debug, Default)]
pub(super) struct LocalLinks {
    links: Vec<LinkId>,
    /// The same links with the same numbers, as a set.
    set: LinkSet,
    senders: usize,
    receivers: usize,
}

clone_in_place!(LocalLinks { links, set, senders, receivers });

impl LocalLinks {
    /// Numbers the links at both ends of the flows.
    pub fn rebuild(
        &mut self,
        fabric: &Fabric,
        flows: impl Iterator<Item = (PortId, PortId)> + Clone,
        builder: &mut Builder,
    ) {
        builder.start(fabric.links());
        self.links.clear();
        for (src, _) in flows.clone() {
            self.number(fabric.egress(src), builder);
        }
        self.senders = self.links.len();
        for (_, dst) in flows {
            self.number(fabric.ingress(dst), builder);
        }
        self.receivers = self.links.len() - self.senders;
    }

    /// Local number of a link. A link without one gets the next.
    pub fn number(&mut self, link: LinkId, builder: &mut Builder) -> u32 {
        builder.local_of(link, &mut self.links)
    }

    /// Puts the links inside the fabric in order. Returns the new number of each, in the order of
    /// the old ones.
    pub fn sort_inner(&mut self) -> Vec<u32> {
        let ends = self.senders + self.receivers;
        let mut order: Vec<u32> = (ends as u32..self.links.len() as u32).collect();
        order.sort_unstable_by_key(|&l| self.links[l as usize]);
        let mut numbers = vec![0; order.len()];
        for (new, &old) in (ends as u32..).zip(&order) {
            numbers[old as usize - ends] = new;
        }
        self.links[ends..].sort_unstable();
        numbers
    }

    /// Every link of every path has its number: makes the set of them.
    pub fn finish(&mut self) {
        self.set.rebuild(&self.links);
    }

    /// All links, by local number.
    #[inline]
    pub fn all(&self) -> &[LinkId] {
        &self.links
    }

    /// The links as a set.
    #[inline]
    pub fn set(&self) -> &LinkSet {
        &self.set
    }

    /// Number of senders `S`; they are the local links `0..S`.
    #[inline]
    pub fn senders(&self) -> usize {
        self.senders
    }

    /// Number of receivers `R`; they are the local links `S..S + R`.
    #[inline]
    pub fn receivers(&self) -> usize {
        self.receivers
    }
}
