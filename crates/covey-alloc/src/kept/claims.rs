//! On which links the entries of a layer have flows, in a plan that is kept.

use covey_core::sets::marked_links::MarkedLinks;

/// By link, how many entries of a layer have flows there.
#[derive(Debug, Default)]
pub struct Claims {
    counts: Vec<u32>,
    /// The links where the count is not zero.
    links: MarkedLinks,
}

impl Claims {
    /// No entry has flows anywhere.
    pub fn clear(&mut self) {
        self.counts.fill(0);
        self.links.clear();
    }

    /// Makes room for all links of a fabric.
    pub fn grow(&mut self, links: usize) {
        if self.counts.len() != links {
            self.counts.clear();
            self.counts.resize(links, 0);
            self.links.start(links);
        }
    }

    /// An entry has flows on a link from now on.
    pub fn add(&mut self, link: usize) {
        self.counts[link] += 1;
        self.links.insert(link);
    }

    /// An entry has no flows on a link any more.
    pub fn remove(&mut self, link: usize) {
        self.counts[link] -= 1;
        if self.counts[link] == 0 {
            self.links.set(link, false);
        }
    }

    /// The links on which entries have flows.
    pub fn links(&self) -> &MarkedLinks {
        &self.links
    }
}
