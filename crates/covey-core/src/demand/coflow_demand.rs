//! What one coflow still wants to send, and over which links.
//!
//! Links are numbered locally: senders `0..S` (egress links in order of their first flow),
//! receivers `S..S + R` (ingress links likewise), then links inside the fabric, in its order. Flows
//! are laid out by sender, in order of registration within a sender; the number of a flow in that
//! layout is its *position*. A sender's row is *regular* when it has exactly one flow to each
//! receiver in order, as in a shuffle: then the bits of the row are also bits of receivers and 64
//! flows are looked at at once.

use super::active_flows::ActiveFlows;
use super::builder::Builder;
use super::flow_counts::FlowCounts;
use super::layout::Layout;
use super::local_links::LocalLinks;
use super::paths::WholePath;
use crate::fabric::Fabric;
use crate::sets::bits::{bits, has_bit};
use crate::sets::clone_in_place::clone_in_place;
use crate::sets::link_set::LinkSet;
use crate::values::ids::{LinkId, PortId};

/// The unfinished flows of one coflow and the links they need.
///
/// Links and layout are fixed when the coflow is registered; active flows and their counts change
/// together whenever a flow starts or ends.
#[derive(Debug, Default)]
pub struct Demand {
    links: LocalLinks,
    layout: Layout,
    active: ActiveFlows,
    counts: FlowCounts,
}

clone_in_place!(Demand { links, layout, active, counts });

impl Demand {
    /// Lays the flows (source, destination) out; none of them is active yet. `numbers` gives the
    /// number of each flow among all flows of the run, by its index.
    pub fn rebuild(
        &mut self,
        fabric: &Fabric,
        numbers: impl Fn(u32) -> u64,
        flows: impl Iterator<Item = (PortId, PortId)> + Clone,
        builder: &mut Builder,
    ) {
        self.links.rebuild(fabric, flows.clone(), builder);
        self.layout.rebuild(fabric, numbers, flows, &mut self.links, builder);
        self.links.finish();
        self.active.reset(&self.layout, self.senders(), self.receivers());
        self.counts.reset(&self.links);
    }

    /// Every local link's name in the fabric.
    #[inline]
    pub fn links(&self) -> &[LinkId] {
        self.links.all()
    }

    /// Number of senders `S`; they are the local links `0..S`.
    #[inline]
    pub fn senders(&self) -> usize {
        self.links.senders()
    }

    /// Number of receivers `R`; they are the local links `S..S + R`.
    #[inline]
    pub fn receivers(&self) -> usize {
        self.links.receivers()
    }

    /// Number of flows laid out: active, finished, or yet to start.
    #[inline]
    pub fn width(&self) -> usize {
        self.layout.width()
    }

    /// Number of active flows.
    #[inline]
    pub fn unfinished(&self) -> u32 {
        self.counts.total()
    }

    /// Active flows at each local link.
    #[inline]
    pub fn count(&self) -> &[u32] {
        self.counts.at()
    }

    /// Positions of a local sender's flows.
    #[inline]
    pub fn row(&self, sender: usize) -> std::ops::Range<usize> {
        self.layout.row(sender)
    }

    /// Whether a sender has exactly one flow to each receiver, in the receivers' order.
    #[inline]
    pub fn is_regular(&self, sender: usize) -> bool {
        self.layout.is_regular(sender)
    }

    /// Bits of a sender's row, lowest position first; set while a flow is active.
    #[inline]
    pub fn row_bits(&self, sender: usize) -> &[u64] {
        self.active.row(sender)
    }

    /// Whether every sender has exactly one flow to each receiver, in the receivers' order, and no
    /// flow crosses an inner link.
    #[inline]
    fn is_shuffle(&self) -> bool {
        self.layout.is_shuffle()
    }

    /// The links as a set.
    #[inline]
    pub fn set(&self) -> &LinkSet {
        self.links.set()
    }

    /// The links that active flows cross: bits of the words of [`Demand::set`].
    #[inline]
    pub fn active_links(&self) -> &[u64] {
        self.counts.links()
    }

    /// Active flows at a link that is among [`Demand::links`].
    #[inline]
    pub fn unfinished_at(&self, link: LinkId) -> u32 {
        self.count()[self.local(link.index())]
    }

    /// Local number of the fabric's link `link`, which is among [`Demand::links`].
    #[inline]
    pub fn local(&self, link: usize) -> usize {
        self.set().local(link)
    }

    /// Local sender and local receiver link of a position.
    #[inline]
    pub fn ends(&self, position: usize) -> (usize, usize) {
        (self.sender_of(position), self.receiver_of(position))
    }

    /// The links at the two ends of a position, sender first.
    #[inline]
    pub fn end_links(&self, position: usize) -> (LinkId, LinkId) {
        let (s, r) = self.ends(position);
        (self.links()[s], self.links()[r])
    }

    /// Local sender of a position.
    #[inline]
    pub fn sender_of(&self, position: usize) -> usize {
        self.layout.paths().senders()[position] as usize
    }

    /// Local receiver link of a position.
    #[inline]
    pub fn receiver_of(&self, position: usize) -> usize {
        self.receiver_links()[position] as usize
    }

    /// Local receiver links of all positions.
    #[inline]
    pub fn receiver_links(&self) -> &[u32] {
        self.layout.paths().receivers()
    }

    /// Local links of a position's path.
    #[inline]
    pub fn path(&self, position: usize) -> impl Iterator<Item = usize> + Clone + '_ {
        self.layout.paths().path(position)
    }

    /// [`Demand::path`] as numbers in a row.
    #[inline]
    pub fn whole_path(&self, position: usize) -> WholePath<'_> {
        self.layout.paths().whole(position)
    }

    /// Local links inside the fabric of a position's path.
    #[inline]
    pub fn inner_path(&self, position: usize) -> impl Iterator<Item = usize> + Clone + '_ {
        self.inner_links(position).iter().map(|&l| l as usize)
    }

    /// [`Demand::inner_path`] as numbers in a row.
    #[inline]
    pub fn inner_links(&self, position: usize) -> &[u32] {
        self.layout.paths().inner(position)
    }

    /// Position of a flow, by its number within the coflow.
    #[inline]
    pub fn position(&self, index: u32) -> usize {
        self.layout.position(index)
    }

    /// Number within the coflow of the flow at a position.
    #[inline]
    pub fn index(&self, position: usize) -> u32 {
        self.layout.index(position)
    }

    /// Whether the flow at a position has started and not ended.
    #[inline]
    pub fn is_active(&self, position: usize) -> bool {
        self.are_active()[position]
    }

    /// [`Demand::is_active`] of all positions.
    #[inline]
    pub fn are_active(&self) -> &[bool] {
        self.active.all()
    }

    /// Positions of the active flows of a sender, ascending.
    #[inline]
    pub fn active_in_row(&self, sender: usize) -> impl Iterator<Item = usize> + '_ {
        let start = self.layout.row_start(sender);
        bits(self.row_bits(sender).iter().copied()).map(move |k| start + k)
    }

    /// Calls `visit` with the position of every active flow that crosses local link `l`, ascending.
    pub fn each_active_at(&self, l: usize, visit: impl FnMut(usize)) {
        let Some(beyond) = l.checked_sub(self.senders()) else {
            return self.active_in_row(l).for_each(visit);
        };
        if self.is_shuffle() {
            let position = |s: usize| self.layout.row_start(s) + beyond;
            bits(self.active.column(beyond).iter().copied()).map(position).for_each(visit);
        } else {
            let here = self.layout.crossing(&self.links, beyond).iter().map(|&p| p as usize);
            here.filter(|&p| self.is_active(p)).for_each(visit);
        }
    }

    /// Calls `visit` with the position of every flow, active or not, that crosses local link `l`,
    /// ascending.
    pub fn each_flow_at(&self, l: usize, mut visit: impl FnMut(usize)) {
        match l.checked_sub(self.senders()) {
            None => self.row(l).for_each(visit),
            Some(beyond) if self.is_shuffle() => {
                (0..self.senders()).for_each(|s| visit(self.layout.row_start(s) + beyond));
            }
            Some(beyond) => {
                self.layout.crossing(&self.links, beyond).iter().for_each(|&p| visit(p as usize))
            }
        }
    }

    /// Calls `visit` with the position of every flow of a set of active ones that crosses local
    /// link `l`, ascending. The set has a bit for each position.
    pub fn each_at(&self, l: usize, set: &mut [u64], mut visit: impl FnMut(&mut [u64], usize)) {
        let mut look_at = |position: usize| {
            if has_bit(set, position) {
                visit(set, position);
            }
        };
        match l.checked_sub(self.senders()) {
            None => self.row(l).for_each(look_at),
            Some(_) if self.is_shuffle() => self.each_active_at(l, look_at),
            Some(beyond) => {
                self.layout.crossing(&self.links, beyond).iter().for_each(|&p| look_at(p as usize));
            }
        }
    }

    /// Positions of all active flows, ascending.
    pub fn active(&self) -> impl Iterator<Item = usize> + '_ {
        let senders = (0..self.senders()).filter(|&s| self.count()[s] > 0);
        senders.flat_map(|s| self.active_in_row(s))
    }

    /// Marks a flow as started. Nothing happens if it is active already.
    pub fn start(&mut self, position: usize) {
        if !self.is_active(position) {
            self.flip(position, 1);
        }
    }

    /// Marks a flow as ended. Nothing happens unless it is active.
    pub fn finish(&mut self, position: usize) {
        if self.is_active(position) {
            self.flip(position, -1);
        }
    }

    fn flip(&mut self, position: usize, by: i32) {
        let (sender, receiver) = self.ends(position);
        self.active.flip(position, sender, position - self.layout.row_start(sender));
        let inner = self.layout.paths().inner(position);
        self.counts.change(by, [sender, receiver], inner, &self.links);
    }
}
