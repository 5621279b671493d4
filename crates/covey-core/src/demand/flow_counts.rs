//! How many flows of one coflow are active.

use super::local_links::LocalLinks;

/// How many flows of one coflow are active, in all and at each local link.
#[derive(Debug, Clone, Default)]
pub(super) struct FlowCounts {
    total: u32,
    at: Vec<u32>,
    /// The links with active flows: bits of the words of the coflow's link set.
    links: Vec<u64>,
}

impl FlowCounts {
    /// None is active.
    pub fn reset(&mut self, links: &LocalLinks) {
        self.total = 0;
        self.at.clear();
        self.at.resize(links.all().len(), 0);
        self.links.clear();
        self.links.resize(links.set().words().len(), 0);
    }

    /// Becomes the same as `other`, in the memory that it has.
    pub fn copy(&mut self, other: &FlowCounts) {
        // All fields by name, so that a new one cannot be forgotten.
        let FlowCounts { total, at, links } = other;
        self.total = *total;
        self.at.clone_from(at);
        self.links.clone_from(links);
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

    /// Counts a flow that has become active, with the local links of its path.
    pub fn add(&mut self, path: impl Iterator<Item = usize>, links: &LocalLinks) {
        self.total += 1;
        self.change(path, links, |count| count + 1);
    }

    /// Stops counting a flow, with the local links of its path.
    pub fn remove(&mut self, path: impl Iterator<Item = usize>, links: &LocalLinks) {
        self.total -= 1;
        self.change(path, links, |count| count - 1);
    }

    #[inline]
    fn change(
        &mut self,
        path: impl Iterator<Item = usize>,
        links: &LocalLinks,
        change: impl Fn(u32) -> u32,
    ) {
        for l in path {
            self.at[l] = change(self.at[l]);
            let link = links.all()[l].index();
            let word = &mut self.links[links.set().word_of(link)];
            *word = *word & !(1 << (link % 64)) | u64::from(self.at[l] > 0) << (link % 64);
        }
    }
}
