//! Sets of small numbers.

/// A set of numbers below its length.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Bits(Vec<u64>);

impl Bits {
    /// The empty set, for numbers below `len`.
    pub fn none(len: usize) -> Self {
        Self(vec![0; len.div_ceil(64)])
    }

    /// All numbers below `len`.
    pub fn all(len: usize) -> Self {
        let mut bits = Self::none(len);
        (0..len).for_each(|i| bits.insert(i));
        bits
    }

    pub fn insert(&mut self, i: usize) {
        self.0[i / 64] |= 1 << (i % 64);
    }

    pub fn remove(&mut self, i: usize) {
        self.0[i / 64] &= !(1 << (i % 64));
    }

    pub fn contains(&self, i: usize) -> bool {
        self.0[i / 64] >> (i % 64) & 1 == 1
    }

    pub fn is_empty(&self) -> bool {
        self.0.iter().all(|word| *word == 0)
    }

    pub fn clear(&mut self) {
        self.0.fill(0);
    }

    /// The first number that both sets have.
    pub fn first_common(&self, other: &Bits) -> Option<usize> {
        let both = self.0.iter().zip(&other.0).map(|(a, b)| a & b);
        let (word, bits) = both.enumerate().find(|(_, bits)| *bits != 0)?;
        Some(word * 64 + bits.trailing_zeros() as usize)
    }

    /// The numbers that both sets have, in order.
    pub fn common<'a>(&'a self, other: &'a Bits) -> impl Iterator<Item = usize> + 'a {
        let both = self.0.iter().zip(&other.0).map(|(a, b)| a & b);
        both.enumerate().flat_map(|(word, mut bits)| {
            std::iter::from_fn(move || {
                let first = (bits != 0).then(|| word * 64 + bits.trailing_zeros() as usize);
                bits &= bits.wrapping_sub(1);
                first
            })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn common_numbers_of_two_sets() {
        let mut odd = Bits::none(150);
        (0..75).for_each(|i| odd.insert(2 * i + 1));
        let mut some = Bits::none(150);
        [2, 63, 64, 65, 149].into_iter().for_each(|i| some.insert(i));
        assert_eq!(odd.common(&some).collect::<Vec<_>>(), [63, 65, 149]);
        assert_eq!(odd.first_common(&some), Some(63));
        odd.remove(63);
        assert_eq!(odd.first_common(&some), Some(65));
        assert_eq!((odd.contains(63), odd.contains(65)), (false, true));
        assert_eq!(Bits::all(150).common(&some).count(), 5);
        odd.clear();
        assert!(odd.is_empty() && odd.first_common(&some).is_none());
    }
}
