//! How many coflows have unfinished flows at each link, and how many others a coflow meets.

use covey_core::{CoflowId, Knowledge, LinkId, View};

/// Coflows at each link. To be told of arrivals, later flows, and drained ports.
#[derive(Debug, Default)]
pub struct Contention {
    at: Vec<u32>,
    /// Whether a coflow is counted at a link: bit sets by coflow.
    counted: Vec<Vec<u64>>,
    /// Of [`Contention::meetings`]: who of the group is at which link, as bit sets by link, empty in
    /// between; and whom a coflow meets.
    group: Vec<u64>,
    met: Vec<u64>,
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

    /// Sets for each coflow of a group how many others of the group it meets. As [`Contention::of`] for
    /// each, without looking at every pair.
    pub fn meetings(&mut self, group: &mut [(u32, CoflowId)]) {
        let words = group.len().div_ceil(64);
        let links = self.at.len();
        self.group.resize(self.group.len().max(links * words), 0);
        for (k, (_, coflow)) in group.iter().enumerate() {
            for l in ones(&self.counted[coflow.index()]) {
                self.group[l * words + k / 64] |= 1 << (k % 64);
            }
        }
        for (count, coflow) in group.iter_mut() {
            self.met.clear();
            self.met.resize(words, 0);
            for l in ones(&self.counted[coflow.index()]) {
                let there = &self.group[l * words..][..words];
                self.met.iter_mut().zip(there).for_each(|(met, there)| *met |= there);
            }
            let met: u32 = self.met.iter().map(|word| word.count_ones()).sum();
            // It is where it is itself; unless it is nowhere.
            *count = met.saturating_sub(1);
        }
        for (_, coflow) in group.iter() {
            for l in ones(&self.counted[coflow.index()]) {
                self.group[l * words..][..words].fill(0);
            }
        }
    }
}

/// The numbers of the bits that are set.
fn ones(words: &[u64]) -> impl Iterator<Item = usize> {
    words.iter().enumerate().flat_map(|(w, &word)| {
        let rest = |left: &u64| Some(left & (left - 1)).filter(|left| *left != 0);
        let first = Some(word).filter(|word| *word != 0);
        std::iter::successors(first, rest).map(move |left| 64 * w + left.trailing_zeros() as usize)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Coflows at pseudo-random links, some nowhere.
    fn crowd(coflows: u32, links: usize) -> Contention {
        let mut contention = Contention { at: vec![0; links], ..Contention::default() };
        let mut state = u64::from(coflows);
        for _ in 0..coflows {
            let mut counted = vec![0; links.div_ceil(64)];
            for _ in 0..state % 5 {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                let l = (state >> 33) as usize % links;
                counted[l / 64] |= 1 << (l % 64);
            }
            contention.counted.push(counted);
            state = state.wrapping_add(1);
        }
        contention
    }

    #[test]
    fn meetings_are_those_of_all_pairs() {
        for (coflows, links) in [(0, 4), (1, 4), (3, 4), (63, 20), (64, 70), (65, 300), (200, 130)]
        {
            let mut contention = crowd(coflows, links);
            // Twice, and for a part: nothing stays behind.
            for step in [1, 2, 1] {
                let mut group: Vec<(u32, CoflowId)> =
                    (0..coflows).step_by(step).map(|k| (7, CoflowId(k))).collect();
                contention.meetings(&mut group);
                let others = || group.iter().map(|(_, other)| *other);
                for &(count, coflow) in &group {
                    assert_eq!(count, contention.of(coflow, others()), "{coflow:?} of {coflows}");
                }
            }
        }
    }
}
