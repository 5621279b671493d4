//! A set of links whose memory depends on the links in it, not on the size of the fabric.

use crate::sets::bits::bits;

/// 64 neighbouring links, at least one of which is in a set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LinkWord {
    /// Index of the word in a set of bits with one for each link of the fabric.
    pub at: u32,
    /// A bit for each link.
    pub bits: u64,
}

/// Some links of a fabric, as a set of bits without its empty words.
#[derive(Debug, Clone, Default)]
pub struct LinkBits {
    /// Ascending.
    words: Vec<LinkWord>,
}

impl LinkBits {
    /// Whether a link is in the set.
    pub fn contains(&self, link: usize) -> bool {
        let word = self.words.get(self.find(link));
        word.is_some_and(|word| word.at as usize == link / 64 && word.bits >> (link % 64) & 1 == 1)
    }

    /// Adds a link.
    pub fn insert(&mut self, link: usize) {
        let (k, at) = (self.find(link), (link / 64) as u32);
        if self.words.get(k).is_none_or(|word| word.at != at) {
            self.words.insert(k, LinkWord { at, bits: 0 });
        }
        self.words[k].bits |= 1 << (link % 64);
    }

    /// Removes a link. Returns whether it was in the set.
    pub fn remove(&mut self, link: usize) -> bool {
        if !self.contains(link) {
            return false;
        }
        let k = self.find(link);
        self.words[k].bits ^= 1 << (link % 64);
        if self.words[k].bits == 0 {
            self.words.remove(k);
        }
        true
    }

    /// Index of the first word that is not before that of a link.
    fn find(&self, link: usize) -> usize {
        self.words.partition_point(|word| (word.at as usize) < link / 64)
    }

    /// The links, ascending.
    pub fn iter(&self) -> impl Iterator<Item = usize> + '_ {
        let links = bits(self.words.iter().map(|word| word.bits));
        links.map(|bit| 64 * self.words[bit / 64].at as usize + bit % 64)
    }

    /// The link with the greatest number.
    pub fn last(&self) -> Option<usize> {
        let word = self.words.last()?;
        Some(64 * word.at as usize + word.bits.ilog2() as usize)
    }

    /// Whether any link is in both sets.
    pub fn meets(&self, other: &LinkBits) -> bool {
        common_bits(&self.words, &other.words).any(|common| common != 0)
    }
}

/// The bits that each word of one set has in common with another set; the words of both ascend.
pub(crate) fn common_bits<'a>(
    words: &'a [LinkWord],
    others: &'a [LinkWord],
) -> impl Iterator<Item = u64> + 'a {
    let mut others = others.iter().peekable();
    words.iter().map(move |word| {
        while others.next_if(|other| other.at < word.at).is_some() {}
        others
            .peek()
            .map_or(0, |other| if other.at == word.at { word.bits & other.bits } else { 0 })
    })
}
