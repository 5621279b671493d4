//! Links of a fabric with local numbers.

use crate::sets::bits::{BitSet, bits};
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
    /// Some or all words of which all 64 links are in the set, with local numbers that follow each other; ascending.
    whole: Vec<WholeWord>,
    /// Local numbers of all links of the other words.
    others: BitSet,
}

clone_in_place!(LinkSet { words, before, local, is_dense, whole, others });

/// 64 neighbouring links, all of which are in a set, with local numbers that follow each other: what is known of
/// them stands in a row, in order of the fabric as in local order.
///
/// A wide coflow crosses nearly all links of a FatTree, and a third of them change from pass to pass. Worked out 64 at
/// a time, they take `aalo` from 12.2 to 10.5 s of CPU on four fifths of the public Facebook trace, `fat-tree:k=8` (the
/// least of three runs each).
#[derive(Debug, Clone, Copy)]
pub struct WholeWord {
    /// Index in [`LinkSet::words`].
    pub word: usize,
    /// The first link.
    pub link: usize,
    /// Its local number.
    pub local: usize,
}

impl WholeWord {
    /// The first of some whole words that is the one with index `word`, if it is among them. Those before it are taken
    /// away: words are asked for in ascending order.
    #[inline]
    pub fn next(whole: &mut &[WholeWord], word: usize) -> Option<WholeWord> {
        while let [first, rest @ ..] = whole
            && first.word < word
        {
            *whole = rest;
        }
        whole.first().filter(|first| first.word == word).copied()
    }
}

impl LinkSet {
    /// Removes all links.
    pub fn clear(&mut self) {
        self.words.clear();
        self.before.clear();
        self.local.clear();
        self.is_dense = true;
        self.whole.clear();
        self.others.clear();
    }

    /// Replaces the set by these links. Their local numbers are their positions.
    pub(crate) fn rebuild(&mut self, links: &[LinkId]) {
        self.clear();
        links.iter().for_each(|link| _ = self.insert(link.index()));
        self.find_whole();
    }

    /// Tells the whole words from the others.
    fn find_whole(&mut self) {
        self.others.restart(self.count());
        for (word, it) in self.words.iter().enumerate() {
            let first = self.before[word] as usize;
            let numbers = &self.local[first..first + it.bits.count_ones() as usize];
            let follow = numbers.iter().zip(numbers[0]..).all(|(local, follows)| *local == follows);
            if it.bits == u64::MAX && follow {
                let (link, local) = (64 * it.at as usize, numbers[0] as usize);
                self.whole.push(WholeWord { word, link, local });
            } else {
                numbers.iter().for_each(|&local| self.others.insert(local as usize));
            }
        }
    }

    /// The words of which all 64 links are in the set, with local numbers that follow each other; ascending.
    #[inline]
    pub fn whole_words(&self) -> &[WholeWord] {
        &self.whole
    }

    /// Local numbers of the links that are in no [whole word](LinkSet::whole_words).
    #[inline]
    pub fn others(&self) -> &BitSet {
        &self.others
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
            self.others.make_room(local + 1);
            self.others.insert(local);
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

    /// Whether the words follow each other from the fabric's first on.
    #[inline]
    pub fn is_dense(&self) -> bool {
        self.is_dense
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
    fn whole_words_are_those_with_all_links_in_order() {
        // The first word has all links in order, the second has one missing, and the third is in another order.
        let mut links: Vec<u32> = (0..64).chain(64..127).chain(128..192).collect();
        links.swap(130, 131);
        let mut mixed = set(&links);
        let whole = |set: &LinkSet| {
            set.whole_words().iter().map(|it| (it.word, it.link, it.local)).collect::<Vec<_>>()
        };
        assert_eq!(whole(&mixed), [(0, 0, 0)]);
        assert_eq!(mixed.others().iter().collect::<Vec<_>>(), (64..191).collect::<Vec<_>>());
        assert_eq!(mixed.insert(127), 191);
        assert_eq!((whole(&mixed).len(), mixed.others().contains(191)), (1, true));
        let later = set(&(0..3).chain(64..192).collect::<Vec<_>>());
        assert_eq!(whole(&later), [(1, 64, 3), (2, 128, 67)]);
        assert_eq!(later.others().iter().collect::<Vec<_>>(), [0, 1, 2]);
    }

    #[test]
    fn a_set_with_links_everywhere_is_the_same() {
        let dense = set(&[0, 64, 128, 1, 65]);
        assert!(dense.is_dense);
        assert_eq!([0, 64, 128, 1, 65].map(|link| dense.local(link)), [0, 1, 2, 3, 4]);
        assert!(!dense.contains(2) && !dense.contains(129));
    }
}
