//! Links of a fabric with local numbers.

use crate::sets::bits::bits;
use crate::sets::clone_in_place::clone_in_place;
use crate::sets::link_bits::{LinkWord, common_bits};
use crate::values::ids::LinkId;

/// Some links of a fabric, each with a local number. It is a set of bits without its empty words.
#[derive(Debug, Default)]
pub struct LinkSet {
    /// The words with links, ascending.
    words: Vec<LinkWord>,
    /// Number of links in the words before each.
    before: Vec<u32>,
    /// Local numbers of the links, ascending by link.
    local: Vec<u32>,
    /// Whether the words follow each other from the fabric's first on.
    is_dense: bool,
}

clone_in_place!(LinkSet { words, before, local, is_dense });

impl LinkSet {
    /// Removes all links.
    pub fn clear(&mut self) {
        self.words.clear();
        self.before.clear();
        self.local.clear();
        self.is_dense = true;
    }

    /// Replaces the set by these links. Their local numbers are their positions.
    pub(crate) fn rebuild(&mut self, links: &[LinkId]) {
        self.clear();
        links.iter().for_each(|link| _ = self.insert(link.index()));
    }

    /// Adds a link, if it is not in the set, and gives it the next local number. Returns its local
    /// number.
    pub fn insert(&mut self, link: usize) -> usize {
        let (at, bit) = ((link / 64) as u32, 1 << (link % 64));
        let k = self.words.partition_point(|word| word.at < at);
        if self.words.get(k).is_none_or(|word| word.at != at) {
            let before = self.before.get(k).copied().unwrap_or(self.count() as u32);
            self.words.insert(k, LinkWord { at, bits: 0 });
            self.before.insert(k, before);
            self.is_dense = self.words.iter().enumerate().all(|(k, word)| word.at as usize == k);
        }
        let rank = self.rank(k, link % 64);
        if self.words[k].bits & bit == 0 {
            self.words[k].bits |= bit;
            self.before[k + 1..].iter_mut().for_each(|before| *before += 1);
            let local = self.count();
            self.local.insert(rank, local as u32);
        }
        self.local[rank] as usize
    }

    /// Local number of a link, if it is in the set.
    #[inline]
    pub fn get(&self, link: usize) -> Option<usize> {
        self.contains(link).then(|| self.local(link))
    }

    /// Number of links.
    pub fn count(&self) -> usize {
        self.local.len()
    }

    /// The words with links, ascending.
    #[inline]
    pub fn words(&self) -> &[LinkWord] {
        &self.words
    }

    /// Index in [`LinkSet::words`] of the word of a link that is in the set.
    #[inline]
    pub fn word_of(&self, link: usize) -> usize {
        let at = link / 64;
        if self.is_dense { at } else { self.words.partition_point(|word| (word.at as usize) < at) }
    }

    /// Local number of a link that is in the set.
    #[inline]
    pub fn local(&self, link: usize) -> usize {
        self.local_in(self.word_of(link), link % 64)
    }

    /// Local number of a link that is in the set, by its bit in one of the words.
    #[inline]
    pub fn local_in(&self, word: usize, bit: usize) -> usize {
        self.local[self.rank(word, bit)] as usize
    }

    /// Index of a link among all links of the set, by its bit in one of the words.
    #[inline]
    fn rank(&self, word: usize, bit: usize) -> usize {
        let lower = self.words[word].bits & ((1 << bit) - 1);
        self.before[word] as usize + lower.count_ones() as usize
    }

    /// Whether a link is in the set.
    #[inline]
    pub fn contains(&self, link: usize) -> bool {
        let word = self.words.get(self.word_of(link));
        word.is_some_and(|word| word.at as usize == link / 64 && word.bits >> (link % 64) & 1 == 1)
    }

    /// Whether any link is also in `others`, which has a bit for each link of the fabric.
    #[inline]
    pub fn meets(&self, others: &[u64]) -> bool {
        self.words.iter().any(|word| word.bits & others[word.at as usize] != 0)
    }

    /// The links that are also in `others`, which has a bit for each link of the fabric; with their
    /// local numbers.
    #[inline]
    pub fn common<'a>(&'a self, others: &'a [u64]) -> impl Iterator<Item = (usize, usize)> + 'a {
        self.common_words(self.words.iter().map(|word| word.bits & others[word.at as usize]))
    }

    /// The links whose bits are set in `words`, one for each of [`LinkSet::words`]; with their
    /// local numbers.
    #[inline]
    pub fn common_words<'a>(
        &'a self,
        words: impl Iterator<Item = u64> + 'a,
    ) -> impl Iterator<Item = (usize, usize)> + 'a {
        bits(words).map(|bit| {
            let at = self.words[bit / 64].at as usize;
            (64 * at + bit % 64, self.local_in(bit / 64, bit % 64))
        })
    }

    /// The links that are also in another set, with their local numbers here.
    pub fn shared<'a>(&'a self, other: &'a LinkSet) -> impl Iterator<Item = (usize, usize)> + 'a {
        self.common_words(common_bits(&self.words, &other.words))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(links: &[u32]) -> LinkSet {
        let mut set = LinkSet::default();
        set.rebuild(&links.iter().copied().map(LinkId).collect::<Vec<_>>());
        set
    }

    #[test]
    fn a_set_tells_local_numbers_and_what_it_shares() {
        let a = set(&[700, 3, 64, 65]);
        assert_eq!([700, 3, 64, 65].map(|link| a.local(link)), [0, 1, 2, 3]);
        assert!(a.contains(700) && a.contains(64) && !a.contains(66) && !a.contains(999));
        let b = set(&[65, 700, 701, 130]);
        assert_eq!(a.shared(&b).collect::<Vec<_>>(), [(65, 3), (700, 0)]);
        let mut others = vec![0; 16];
        assert!(!a.meets(&others));
        others[1] = 1 << 1 | 1 << 2;
        assert!(a.meets(&others));
        assert_eq!(a.common(&others).collect::<Vec<_>>(), [(65, 3)]);
    }

    #[test]
    fn a_set_with_links_everywhere_is_the_same() {
        let dense = set(&[0, 64, 128, 1, 65]);
        assert!(dense.is_dense);
        assert_eq!([0, 64, 128, 1, 65].map(|link| dense.local(link)), [0, 1, 2, 3, 4]);
        assert!(!dense.contains(2) && !dense.contains(129));
    }
}
