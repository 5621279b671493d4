//! The capacity that the entries served so far have left.

use covey_core::Demand;
use covey_core::sets::bits::{has_bit, set_bit};
use covey_core::sets::link_set::LinkSet;
use covey_core::sets::marked_links::MarkedLinks;
use covey_core::sets::simd::bitmask;

/// Part of a link's capacity that counts as nothing. Rounding leaves such residues.
pub const NEGLIGIBLE: f64 = 1e-9;

/// What is left at each link of the fabric at one point of an allocation pass.
///
/// A link is *dirty* if another amount is left than at the same point of the previous pass. The
/// amounts and the open links are valid at dirty links only: the others are not read.
#[derive(Debug, Default)]
pub struct FreeCapacity {
    /// Bytes per second left at each link.
    pub amount: Vec<f64>,
    /// Dirty links.
    pub dirty: MarkedLinks,
    /// Links at which more than a negligible amount is left, a bit each.
    pub open: Vec<u64>,
}

impl FreeCapacity {
    /// Begins a pass. No link is dirty; or all are, each with its whole capacity, if the pass
    /// starts from scratch.
    pub fn start(&mut self, capacity: &[f64], is_from_scratch: bool) {
        self.dirty.start(capacity.len());
        self.open.resize(capacity.len().div_ceil(64), 0);
        if is_from_scratch {
            self.dirty.fill();
            self.amount.clear();
            self.amount.extend_from_slice(capacity);
            self.refresh_open(capacity);
        }
    }

    /// Brings `open` up to date at dirty links.
    pub fn refresh_open(&mut self, capacity: &[f64]) {
        for at in self.dirty.used_words() {
            let links = 64 * at..capacity.len().min(64 * at + 64);
            self.open[at] = open_links(&self.amount[links.clone()], &capacity[links]);
        }
    }

    /// Whether a link is dirty.
    pub fn is_dirty(&self, link: usize) -> bool {
        self.dirty.contains(link)
    }

    /// Whether a link is open, if it is dirty.
    pub fn is_open_if_dirty(&self, link: usize) -> Option<bool> {
        self.is_dirty(link).then(|| has_bit(&self.open, link))
    }

    /// Whether a link is dirty and open.
    pub fn is_open_and_dirty(&self, link: usize) -> bool {
        self.is_open_if_dirty(link) == Some(true)
    }

    /// Writes down which links of a set are dirty and open: bits of the set's words.
    pub fn open_and_dirty_in(&self, set: &LinkSet, links: &mut Vec<u64>) {
        links.clear();
        let words = set.words().iter();
        links.extend(words.map(|word| {
            word.bits & self.dirty.words()[word.at as usize] & self.open[word.at as usize]
        }));
    }

    /// Sets what is left at a link.
    #[inline]
    pub fn leave(&mut self, link: usize, after: f64, capacity: &[f64]) {
        self.amount[link] = after;
        set_bit(&mut self.open, link, after > capacity[link] * NEGLIGIBLE);
    }

    /// Sets what is `left` at those links of a coflow that are `dirty` from here on; both by local
    /// link.
    pub fn leave_dirty(
        &mut self,
        demand: &Demand,
        dirty: &MarkedLinks,
        left: &[f64],
        capacity: &[f64],
    ) {
        for l in dirty.iter() {
            let link = demand.links()[l].index();
            self.dirty.insert(link);
            self.leave(link, left[l], capacity);
        }
    }

    /// What is left at a link, without negligible residues.
    pub fn usable(&self, capacity: &[f64], link: usize) -> f64 {
        usable(&self.amount, capacity, link)
    }
}

/// The links at which more than a negligible amount is free, among up to 64 neighbours.
pub fn open_links(free: &[f64], capacity: &[f64]) -> u64 {
    bitmask(free.iter().zip(capacity).map(|(free, all)| *free > all * NEGLIGIBLE))
}

/// What is `free` at a link, without negligible residues.
pub fn usable(free: &[f64], capacity: &[f64], link: usize) -> f64 {
    usable_amount(free[link], capacity[link])
}

/// The same of one link.
pub fn usable_amount(free: f64, capacity: f64) -> f64 {
    if free > capacity * NEGLIGIBLE { free } else { 0.0 }
}
