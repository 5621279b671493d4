//! A sketch of a set, of constant size, from which the overlap of two sets can be estimated.
//!
//! One permutation hashing (Li, Owen and Zhang, NIPS 2012): a member's hash selects one of 64 bins,
//! and a bin keeps the least of the remaining hashes of its members. The overlap of two sets is
//! estimated by the share of equal bins among those that are not empty in both. Equal sets have
//! overlap 1 exactly; otherwise the standard deviation is at most 0.0625 (half of 1/√64), and less
//! for small sets.

const BINS: usize = 64;
/// The content of an empty bin.
const EMPTY: u16 = u16::MAX;

/// The sketch; members can only be added.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Sketch {
    bins: [u16; BINS],
    /// Bins that are not empty.
    filled: u16,
}

impl Sketch {
    pub fn new() -> Sketch {
        Sketch { bins: [EMPTY; BINS], filled: 0 }
    }

    /// Adds a member by its hash. Returns whether the sketch has changed.
    pub fn insert(&mut self, hash: u64) -> bool {
        let bin = &mut self.bins[(hash >> 58) as usize];
        let value = (hash & 0xffff).min(u64::from(EMPTY) - 1) as u16;
        let less = value < *bin;
        self.filled += u16::from(*bin == EMPTY);
        *bin = (*bin).min(value);
        less
    }

    /// The number of bins that are not empty.
    pub fn filled(&self) -> u16 {
        self.filled
    }

    /// |A ∩ B| / |A ∪ B| of the two sets, estimated, from 0 to 1. Vectorises: there is no branch.
    pub fn overlap(&self, other: &Sketch) -> f64 {
        let (mut equal, mut empty) = (0_u16, 0_u16);
        for (&a, &b) in self.bins.iter().zip(&other.bins) {
            equal += u16::from(a == b);
            empty += u16::from(a & b == EMPTY);
        }
        f64::from(equal - empty) / f64::from((BINS as u16 - empty).max(1))
    }
}

#[cfg(test)]
mod tests {
    use covey_core::SplitMix;

    use super::*;

    #[test]
    fn the_overlap_is_exact_for_equal_and_for_disjoint_sets_and_near_between() {
        let sketch = |members: std::ops::Range<u64>| {
            let mut sketch = Sketch::new();
            members.for_each(|k| _ = sketch.insert(SplitMix::new(k).next_u64()));
            sketch
        };
        let all = sketch(0..120);
        assert_eq!(all.overlap(&sketch(0..120)), 1.0);
        assert!(all.overlap(&sketch(500..600)) < 0.05);
        let half = all.overlap(&sketch(40..160));
        assert!((half - 0.5).abs() < 0.15, "{half}");
    }
}
