//! How many flows of one coflow are active.

use super::local_links::LocalLinks;
use crate::sets::clone_in_place::clone_in_place;

/// How many flows of one coflow are active, in all and at each local link.
#[derive(Debug, Default)]
pub(super) struct FlowCounts {
    total: u32,
    at: Vec<u32>,
    /// The links with active flows: bits of the words of the coflow's link set.
    links: Vec<u64>,
}

clone_in_place!(FlowCounts { total, at, links });

impl FlowCounts {
    /// None is active.
    pub fn reset(&mut self, links: &LocalLinks) {
        self.total = 0;
        self.at.clear();
        self.at.resize(links.all().len(), 0);
        self.links.clear();
        self.links.resize(links.set().words().len(), 0);
    }

    /// Number of active flows.
    #[inline]
    pub fn total(&self) -> u32 {
        self.total
    }

    /// Number of active flows at each local link.
    #[inline]
    pub fn at(&self) -> &[u32] {
        &self.at
    }

    /// The links with active flows: bits of the words of the coflow's link set.
    #[inline]
    pub fn links(&self) -> &[u64] {
        &self.links
    }

    /// Counts `by` more flows (1 or -1) of one path: the local links at its ends, and those
    /// between.
    #[inline]
    pub fn change(&mut self, by: i32, ends: [usize; 2], inner: &[u32], links: &LocalLinks) {
        self.total = self.total.wrapping_add_signed(by);
        ends.into_iter().for_each(|l| self.change_at(l, by, links));
        inner.iter().for_each(|&l| self.change_at(l as usize, by, links));
    }

    #[inline]
    fn change_at(&mut self, l: usize, by: i32, links: &LocalLinks) {
        self.at[l] = self.at[l].wrapping_add_signed(by);
        let link = links.all()[l].index();
        let word = &mut self.links[links.set().word_of(link)];
        *word = *word & !(1 << (link % 64)) | u64::from(self.at[l] > 0) << (link % 64);
    }
}
