//! A set of links that is written and gone through many times a round, on a fabric with many links.
//!
//! To go through the set costs as much as there are marked links, not as there are links: bits of
//! a second level say which words are not empty.

use crate::sets::bits::{bits, has_bit};

/// Some links of a fabric, a bit for each.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct MarkedLinks {
    /// Number of links of the fabric.
    links: usize,
    words: Vec<u64>,
    /// A bit for each word: whether it has a link.
    used: Vec<u64>,
}

impl MarkedLinks {
    /// Removes all links, and makes room for those of a fabric with so many.
    pub fn start(&mut self, links: usize) {
        if self.links == links {
            return self.clear();
        }
        self.links = links;
        self.words.clear();
        self.words.resize(links.div_ceil(64), 0);
        self.used.clear();
        self.used.resize(self.words.len().div_ceil(64), 0);
    }

    /// Removes all links, and makes room for so many at least. Sets of local links of one coflow
    /// after the other need no new memory so.
    pub fn start_with_room(&mut self, links: usize) {
        self.start(links.max(self.links));
    }

    /// Removes all links.
    pub fn clear(&mut self) {
        for (k, used) in self.used.iter_mut().enumerate() {
            bits([std::mem::take(used)].into_iter()).for_each(|bit| self.words[64 * k + bit] = 0);
        }
    }

    /// Adds all links of the fabric.
    pub fn fill(&mut self) {
        for (set, count) in
            [(&mut self.words, self.links), (&mut self.used, self.links.div_ceil(64))]
        {
            set.fill(u64::MAX);
            if let Some(last) = set.last_mut() {
                *last >>= (64 - count % 64) % 64;
            }
        }
    }

    /// Adds a link.
    #[inline]
    pub fn insert(&mut self, link: usize) {
        self.words[link / 64] |= 1 << (link % 64);
        self.used[link / 4096] |= 1 << (link / 64 % 64);
    }

    /// Adds a link, or removes it.
    #[inline]
    pub fn set(&mut self, link: usize, is_in: bool) {
        if is_in {
            self.insert(link);
        } else {
            self.remove_all(link / 64, 1 << (link % 64));
        }
    }

    /// Adds the links with a bit in `bits`, which stands for the word `at`.
    #[inline]
    pub fn insert_all(&mut self, at: usize, bits: u64) {
        self.words[at] |= bits;
        self.used[at / 64] |= u64::from(bits != 0) << (at % 64);
    }

    /// Replaces the links of the word `at` by those with a bit in `bits`.
    #[inline]
    pub fn set_word(&mut self, at: usize, bits: u64) {
        self.words[at] = bits;
        self.used[at / 64] &= !(1 << (at % 64));
        self.used[at / 64] |= u64::from(bits != 0) << (at % 64);
    }

    /// Removes the links with a bit in `bits`, which stands for the word `at`.
    #[inline]
    pub fn remove_all(&mut self, at: usize, bits: u64) {
        self.words[at] &= !bits;
        self.used[at / 64] &= !(u64::from(self.words[at] == 0) << (at % 64));
    }

    /// Removes the links whose bit is not set in `keep`, which is called with the index of each
    /// word that is not empty.
    pub fn retain(&mut self, keep: impl Fn(usize) -> u64) {
        for k in 0..self.used.len() {
            bits([self.used[k]].into_iter())
                .for_each(|bit| self.remove_all(64 * k + bit, !keep(64 * k + bit)));
        }
    }

    /// Adds the links below `count`.
    pub fn insert_below(&mut self, count: usize) {
        (0..count / 64).for_each(|at| self.insert_all(at, u64::MAX));
        (count / 64 * 64..count).for_each(|link| self.insert(link));
    }

    /// Adds those of the 64 links from `first` on that have a bit in `run`.
    #[inline]
    pub fn insert_run(&mut self, first: usize, run: u64) {
        let (at, shift) = (first / 64, first % 64);
        self.insert_all(at, run << shift);
        let beyond = run >> 1 >> (63 - shift);
        if beyond != 0 {
            self.insert_all(at + 1, beyond);
        }
    }

    /// Whether it contains no link.
    pub fn is_empty(&self) -> bool {
        self.used.iter().all(|used| *used == 0)
    }

    /// Whether it contains a link.
    #[inline]
    pub fn contains(&self, link: usize) -> bool {
        has_bit(&self.words, link)
    }

    /// A bit for each link of the fabric.
    #[inline]
    pub fn words(&self) -> &[u64] {
        &self.words
    }

    /// Indices of the words that are not empty, ascending.
    #[inline]
    pub fn used_words(&self) -> impl Iterator<Item = usize> + '_ {
        bits(self.used.iter().copied())
    }

    /// The links, ascending.
    #[inline]
    pub fn iter(&self) -> impl Iterator<Item = usize> + '_ {
        let mut used = self.used_words();
        let (mut at, mut rest) = (0, 0_u64);
        std::iter::from_fn(move || {
            while rest == 0 {
                at = used.next()?;
                rest = self.words[at];
            }
            let bit = rest.trailing_zeros() as usize;
            rest &= rest - 1;
            Some(64 * at + bit)
        })
    }

    /// Adds the links of another set.
    pub fn extend(&mut self, other: &MarkedLinks) {
        other.used_words().for_each(|at| self.insert_all(at, other.words[at]));
    }

    /// Adds the links that are in one of two sets, but not in both.
    pub fn insert_differences(&mut self, one: &MarkedLinks, other: &MarkedLinks) {
        for at in bits(one.used.iter().zip(&other.used).map(|(one, other)| one | other)) {
            self.insert_all(at, one.words[at] ^ other.words[at]);
        }
    }

    /// Makes it the same as another set.
    pub fn copy(&mut self, other: &MarkedLinks) {
        self.start(other.links);
        other.used_words().for_each(|at| self.words[at] = other.words[at]);
        self.used.copy_from_slice(&other.used);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::values::split_mix::SplitMix;

    /// The links that a set contains, asked one by one.
    fn members(set: &MarkedLinks) -> Vec<usize> {
        (0..set.links).filter(|&link| set.contains(link)).collect()
    }

    #[test]
    fn runs_of_links_begin_anywhere() {
        let mut set = MarkedLinks::default();
        for first in 0..70 {
            set.start_with_room(140 - first);
            set.insert_run(first, 1 << 63 | 1 << 9 | 1);
            assert!(set.iter().eq([first, first + 9, first + 63]));
            assert!(!set.is_empty());
            set.start_with_room(130);
            assert!(set.is_empty());
            set.insert_below(first);
            assert!(set.iter().eq(0..first));
        }
    }

    #[test]
    fn it_goes_through_what_it_contains() {
        for links in [1, 64, 300, 4096, 9_000] {
            let mut random = SplitMix::new(links as u64);
            let mut set = MarkedLinks::default();
            set.start(links);
            let mut other = set.clone();
            for _ in 0..200 {
                let link = random.below(links as u64) as usize;
                match random.below(8) {
                    0 => set.remove_all(link / 64, random.next_u64()),
                    1 => other.copy(&set),
                    2 => set.set(link, false),
                    3 => set.set_word(link / 64, 1 << (link % 64)),
                    4 => set.retain(|at| if at % 2 == 0 { u64::MAX } else { 0xffff }),
                    _ => set.insert(link),
                }
                assert_eq!(set.iter().collect::<Vec<_>>(), members(&set));
                let mut differences = MarkedLinks::default();
                differences.start(links);
                differences.insert_differences(&set, &other);
                let differs = |&link: &usize| set.contains(link) != other.contains(link);
                assert!(differences.iter().eq((0..links).filter(differs)));
            }
            set.fill();
            assert!(set.iter().eq(0..links));
            set.clear();
            assert_eq!((set.iter().next(), members(&set)), (None, vec![]));
        }
    }
}
