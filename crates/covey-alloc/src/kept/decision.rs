//! One decision of matching: what flows take and leave, link by link.

use crate::free_capacity::NEGLIGIBLE;
use covey_core::Demand;
use covey_core::sets::marked_links::MarkedLinks;

/// One decision. `after` is what is left so far at dirty links, and what the previous decision left
/// in the end at the others.
pub struct Decision<'a> {
    pub demand: &'a Demand,
    pub capacity: &'a [f64],
    pub after: &'a mut [f64],
    pub changed: &'a mut ChangedLinks,
}

/// The local links at which something else may be left than by the previous decision.
#[derive(Debug, Default)]
pub struct ChangedLinks {
    /// Whether a link is dirty. All false between decisions.
    dirty: Vec<bool>,
    /// The dirty links, each with what was left there in the end by the previous decision.
    were: Vec<(u32, f64)>,
}

impl ChangedLinks {
    /// Makes room for so many links.
    pub fn start(&mut self, links: usize) {
        self.dirty.resize(self.dirty.len().max(links), false);
    }

    /// Whether a link is dirty.
    #[inline]
    pub fn is_dirty(&self, link: u32) -> bool {
        self.dirty[link as usize]
    }

    /// The dirty links, each with what was left there in the end by the previous decision.
    pub fn were(&self) -> &[(u32, f64)] {
        &self.were
    }

    /// No link is dirty any more. Those of which another amount is left, in `after`, are added to
    /// `left`, if the previous decision is known.
    pub fn end(&mut self, after: &[f64], mut left: Option<&mut MarkedLinks>) {
        for (l, was) in self.were.drain(..) {
            self.dirty[l as usize] = false;
            if let Some(left) = &mut left
                && after[l as usize] != was
            {
                left.insert(l as usize);
            }
        }
    }
}

impl Decision<'_> {
    /// The free capacity of a local link has changed.
    #[inline]
    pub fn set(&mut self, l: usize, free: f64) {
        if !std::mem::replace(&mut self.changed.dirty[l], true) {
            self.changed.were.push((l as u32, self.after[l]));
        }
        self.after[l] = free;
    }

    /// Brings what a flow `found` free at some links up to date.
    #[inline]
    pub fn find(&self, links: &[u32], found: &mut [f64]) {
        for (&l, found) in links.iter().zip(found) {
            if self.changed.is_dirty(l) {
                *found = self.after[l as usize];
            }
        }
    }

    /// Gives a flow, which had the rate `was`, this `rate` at links at which it `found` so much. A
    /// link that is not dirty has the same capacity left if the flow keeps its rate.
    #[inline]
    pub fn take(&mut self, links: &[u32], found: &[f64], was: f64, rate: f64) {
        for (&l, &found) in links.iter().zip(found) {
            if rate != was || self.changed.is_dirty(l) {
                self.set(l as usize, self.rest(l as usize, found, rate));
            }
        }
    }

    /// What is left at a link after a flow. A residue of rounding counts as nothing: a flow must
    /// not run because of it.
    #[inline]
    fn rest(&self, l: usize, found: f64, rate: f64) -> f64 {
        let rest = found - rate;
        let negligible = || self.capacity[self.demand.links()[l].index()] * NEGLIGIBLE;
        if rate == 0.0 || rest > negligible() { rest } else { 0.0 }
    }
}
