//! Pseudo-random numbers from a seed.

/// SplitMix (Steele, Lea and Flood, OOPSLA 2014): the same seed gives the same numbers on every
/// machine and in every release. Policies that sample use it, and tests.
#[derive(Debug, Clone)]
pub struct SplitMix(u64);

impl SplitMix {
    /// The numbers of `seed`, from the first.
    pub fn new(seed: u64) -> SplitMix {
        SplitMix(seed)
    }

    /// The next number, of all numbers of 64 bits.
    pub fn next_u64(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// The next number from 0 to `end - 1`. All of them are equally likely if `end` is far below
    /// 2^64.
    pub fn below(&mut self, end: u64) -> u64 {
        ((u128::from(self.next_u64()) * u128::from(end)) >> 64) as u64
    }

    /// The next number from 0, inclusive, to 1, exclusive.
    pub fn unit(&mut self) -> f64 {
        (self.next_u64() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// Whether an event of probability `p` happens.
    pub fn chance(&mut self, p: f64) -> bool {
        self.unit() < p
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_depend_on_the_seed_alone_and_reach_everything() {
        let numbers = |seed| {
            let mut random = SplitMix::new(seed);
            (0..64).map(|_| random.below(8)).collect::<Vec<_>>()
        };
        assert_eq!(numbers(1), numbers(1));
        assert_ne!(numbers(1), numbers(2));
        assert!((0..8).all(|n| numbers(1).contains(&n)));
    }
}
