//! Sets of small numbers as bits of 64-bit words, lowest bit first.

/// The numbers of the set bits of a sequence of words, ascending.
pub fn bits<W: Iterator<Item = u64>>(words: W) -> Bits<W> {
    Bits { words, next: 0, rest: 0 }
}

/// The iterator that [`bits`] returns.
#[derive(Clone)]
pub struct Bits<W> {
    words: W,
    /// The number of the next word's first bit.
    next: usize,
    /// What remains of the previous word.
    rest: u64,
}

impl<W: Iterator<Item = u64>> Iterator for Bits<W> {
    type Item = usize;

    #[inline]
    fn next(&mut self) -> Option<usize> {
        while self.rest == 0 {
            self.rest = self.words.next()?;
            self.next += 64;
        }
        let bit = self.next - 64 + self.rest.trailing_zeros() as usize;
        self.rest &= self.rest - 1;
        Some(bit)
    }
}

/// Whether a set contains the number `k`.
#[inline]
pub fn has_bit(set: &[u64], k: usize) -> bool {
    set[k / 64] >> (k % 64) & 1 == 1
}

/// Adds the number `k` to a set, or removes it.
#[inline]
pub fn set_bit(set: &mut [u64], k: usize, is_in: bool) {
    set[k / 64] &= !(1 << (k % 64));
    set[k / 64] |= u64::from(is_in) << (k % 64);
}

/// A set of numbers below its length, a bit for each.
#[derive(Debug, Default, PartialEq)]
pub struct BitSet(Vec<u64>);

impl Clone for BitSet {
    fn clone(&self) -> BitSet {
        BitSet(self.0.clone())
    }

    fn clone_from(&mut self, other: &BitSet) {
        self.0.clone_from(&other.0);
    }
}

impl BitSet {
    /// The empty set, for numbers below `len`.
    pub fn none(len: usize) -> BitSet {
        BitSet(vec![0; len.div_ceil(64)])
    }

    /// All numbers below `len`.
    pub fn all(len: usize) -> BitSet {
        let mut set = BitSet::none(len);
        (0..len).for_each(|k| set.insert(k));
        set
    }

    /// Adds a number.
    #[inline]
    pub fn insert(&mut self, k: usize) {
        set_bit(&mut self.0, k, true);
    }

    /// Removes a number.
    #[inline]
    pub fn remove(&mut self, k: usize) {
        set_bit(&mut self.0, k, false);
    }

    /// Whether it contains a number.
    #[inline]
    pub fn contains(&self, k: usize) -> bool {
        has_bit(&self.0, k)
    }

    /// Whether it contains no number.
    pub fn is_empty(&self) -> bool {
        self.0.iter().all(|word| *word == 0)
    }

    /// Removes all numbers.
    pub fn clear(&mut self) {
        self.0.fill(0);
    }

    /// The numbers, ascending.
    pub fn iter(&self) -> impl Iterator<Item = usize> + '_ {
        bits(self.0.iter().copied())
    }

    /// The first number that both sets have.
    pub fn first_common(&self, other: &BitSet) -> Option<usize> {
        self.common(other).next()
    }

    /// The numbers that both sets have, ascending.
    pub fn common<'a>(&'a self, other: &'a BitSet) -> impl Iterator<Item = usize> + 'a {
        bits(self.0.iter().zip(&other.0).map(|(a, b)| a & b))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_two_sets_have_in_common() {
        let mut odd = BitSet::none(150);
        (0..75).for_each(|k| odd.insert(2 * k + 1));
        let mut some = BitSet::none(150);
        [2, 63, 64, 65, 149].into_iter().for_each(|k| some.insert(k));
        assert_eq!(odd.common(&some).collect::<Vec<_>>(), [63, 65, 149]);
        odd.remove(63);
        assert_eq!(odd.first_common(&some), Some(65));
        assert_eq!((odd.contains(63), odd.contains(65)), (false, true));
        assert_eq!(BitSet::all(150).common(&some).count(), 5);
        odd.clear();
        assert!(odd.is_empty() && odd.first_common(&some).is_none());
    }
}
