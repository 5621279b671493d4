//! Links that may be off, in the order in which they are balanced.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use covey_core::Ordered;
use covey_core::sets::bits::bits;

/// Links that may be off, lowest level first.
#[derive(Debug, Default)]
pub struct Queue {
    heap: BinaryHeap<Reverse<(Ordered, u32)>>,
    /// A bit for each link.
    is_in: Vec<u64>,
}

impl Queue {
    /// No links, of so many.
    pub fn clear(&mut self, links: usize) {
        self.heap.clear();
        self.is_in.clear();
        self.is_in.resize(links.div_ceil(64), 0);
    }

    /// Adds a link, if it is not in.
    ///
    /// In line, as most links that are off are in: with a call each, `fair` on `fat-tree:k=8` takes
    /// 15 % more instructions on every fifth coflow of the Facebook trace. Left to the compiler,
    /// that varies with other code.
    #[inline(always)]
    pub fn push(&mut self, link: usize, precedence: impl FnOnce() -> f64) {
        let bit = 1 << (link % 64);
        if self.is_in[link / 64] & bit == 0 {
            self.is_in[link / 64] |= bit;
            self.insert(link, precedence());
        }
    }

    /// Adds those of up to 64 links, from `64 * word` on, that are not in. Most links that are off
    /// are in, so the word is looked at before any link is.
    #[inline(always)]
    pub fn push_all(&mut self, word: usize, links: u64, precedence: impl Fn(usize) -> f64) {
        let new = links & !self.is_in[word];
        self.is_in[word] |= new;
        for link in bits([new].into_iter()) {
            self.insert(64 * word + link, precedence(64 * word + link));
        }
    }

    #[inline(never)]
    fn insert(&mut self, link: usize, precedence: f64) {
        self.heap.push(Reverse((Ordered(precedence), link as u32)));
    }

    /// Takes the link with the lowest level.
    pub fn pop(&mut self) -> Option<usize> {
        let Reverse((_, link)) = self.heap.pop()?;
        self.is_in[link as usize / 64] &= !(1 << (link % 64));
        Some(link as usize)
    }
}
