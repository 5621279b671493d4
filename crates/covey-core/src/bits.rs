//! Sets of small numbers as bits of 64-bit words, lowest bit first.

/// The numbers of the set bits of a sequence of words, ascending.
pub(crate) fn bits<W: Iterator<Item = u64>>(words: W) -> Bits<W> {
    Bits { words, next: 0, rest: 0 }
}

/// The iterator that [`bits`] returns.
#[derive(Clone)]
pub(crate) struct Bits<W> {
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
pub(crate) fn has_bit(set: &[u64], k: usize) -> bool {
    set[k / 64] >> (k % 64) & 1 == 1
}

/// Adds the number `k` to a set, or removes it.
#[inline]
pub(crate) fn set_bit(set: &mut [u64], k: usize, is_in: bool) {
    set[k / 64] &= !(1 << (k % 64));
    set[k / 64] |= u64::from(is_in) << (k % 64);
}
