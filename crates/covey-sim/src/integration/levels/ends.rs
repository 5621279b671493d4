//! The next end of a flow at each link of a coflow, and the first of all.

use covey_core::{Time, minimum};

/// The number of links of which the first end is kept. On a FatTree with 27,648 hosts, to go through all links for
/// flows that end was 11 % of the CPU time of `aalo`.
const BLOCK: usize = 64;

/// Times by local link.
#[derive(Debug, Default)]
pub(super) struct Ends {
    at: Vec<Time>,
    /// The first time in each block of links.
    first: Vec<Time>,
    /// Blocks of which `first` may be wrong, and whether each is among them.
    stale: Vec<u32>,
    is_stale: Vec<bool>,
}

impl Ends {
    /// No flow ends at any of so many links.
    pub(super) fn start(&mut self, links: usize) {
        self.at.clear();
        self.at.resize(links, Time::NEVER);
        self.first.clear();
        self.first.resize(links.div_ceil(BLOCK), Time::NEVER);
        self.stale.clear();
        self.is_stale.clear();
        self.is_stale.resize(self.first.len(), false);
    }

    /// No flow ends at any link.
    pub(super) fn forget(&mut self) {
        self.start(self.at.len());
    }

    /// Sets the next end at a link. [`Ends::settle`] is to be called before anything is asked.
    pub(super) fn set(&mut self, link: usize, end: Time) {
        self.at[link] = end;
        let block = link / BLOCK;
        if !std::mem::replace(&mut self.is_stale[block], true) {
            self.stale.push(block as u32);
        }
    }

    /// Brings the first ends up to date.
    pub(super) fn settle(&mut self) {
        for block in self.stale.drain(..).map(|block| block as usize) {
            let here = BLOCK * block..self.at.len().min(BLOCK * (block + 1));
            self.is_stale[block] = false;
            self.first[block] = minimum(Time::NEVER, &self.at[here]);
        }
    }

    /// The first of all ends.
    pub(super) fn first(&self) -> Time {
        minimum(Time::NEVER, &self.first)
    }

    /// The first link from `from` on at which a flow ends at `now` or earlier.
    pub(super) fn due(&self, from: usize, now: Time) -> Option<usize> {
        (from / BLOCK..self.first.len()).filter(|&block| self.first[block].due(now)).find_map(
            |block| {
                let here = BLOCK * block..self.at.len().min(BLOCK * (block + 1));
                here.skip(from.saturating_sub(BLOCK * block)).find(|&link| self.at[link].due(now))
            },
        )
    }
}
