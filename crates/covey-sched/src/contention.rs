//! How many coflows have unfinished flows at each link, and how many others a coflow meets.

use covey_core::{CoflowId, Knowledge, LinkId, View};

/// Coflows at each link. To be told of arrivals, later flows, and drained ports.
#[derive(Debug, Default)]
pub struct Contention {
    at: Vec<u32>,
    /// Whether a coflow is counted at a link: bit sets by coflow.
    counted: Vec<Vec<u64>>,
}

impl Contention {
    /// Counts a coflow at the links where it has unfinished flows; call again when more flows have
    /// started.
    pub fn add<K: Knowledge>(&mut self, coflow: CoflowId, view: &View<'_, K>) {
        let links = view.fabric().links();
        self.at.resize(links, 0);
        if self.counted.len() <= coflow.index() {
            self.counted.resize_with(coflow.index() + 1, Vec::new);
        }
        let counted = &mut self.counted[coflow.index()];
        counted.resize(links.div_ceil(64), 0);
        for load in view.loads(coflow).filter(|load| load.unfinished > 0) {
            let l = load.link.index();
            let bit = 1 << (l % 64);
            if counted[l / 64] & bit == 0 {
                counted[l / 64] |= bit;
                self.at[l] += 1;
            }
        }
    }

    /// The coflow has no unfinished flows at a link any more.
    pub fn drained(&mut self, coflow: CoflowId, link: LinkId) {
        let l = link.index();
        let (word, bit) = (&mut self.counted[coflow.index()][l / 64], 1 << (l % 64));
        if *word & bit != 0 {
            *word &= !bit;
            self.at[l] -= 1;
        }
    }

    /// The coflow is nowhere any more.
    pub fn remove(&mut self, coflow: CoflowId) {
        for (w, word) in self.counted[coflow.index()].iter_mut().enumerate() {
            for l in (0..64).filter(|bit| *word >> bit & 1 == 1) {
                self.at[w * 64 + l] -= 1;
            }
            *word = 0;
        }
    }

    /// Coflows with unfinished flows at a link.
    pub fn at(&self, link: LinkId) -> u32 {
        self.at[link.index()]
    }

    /// Whether two coflows have unfinished flows at the same link.
    pub fn meet(&self, a: CoflowId, b: CoflowId) -> bool {
        let (a, b) = (&self.counted[a.index()], &self.counted[b.index()]);
        a.iter().zip(b).any(|(a, b)| a & b != 0)
    }

    /// Number of `others` that a coflow meets, itself not counted.
    pub fn of(&self, coflow: CoflowId, others: impl Iterator<Item = CoflowId>) -> u32 {
        others.filter(|&other| other != coflow && self.meet(coflow, other)).count() as u32
    }
}
