//! The four bins of Aalo's Table 3: coflows by the length of their longest flow and their width.

use crate::Coflows;
use covey_trace::Coflow;

/// A coflow is long if its longest flow has at least this many bytes: 5 MB of 1,048,576 bytes.
const LONG_BYTES: f64 = 5.0 * 1_048_576.0;
/// A coflow is narrow if it has at most this many flows, otherwise wide.
const MAX_NARROW_FLOWS: usize = 50;

/// A class of coflows by length and width.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Bin {
    /// Longest flow under 5 MB, at most 50 flows.
    ShortNarrow,
    /// Longest flow of 5 MB or more, at most 50 flows.
    LongNarrow,
    /// Longest flow under 5 MB, more than 50 flows.
    ShortWide,
    /// Longest flow of 5 MB or more, more than 50 flows.
    LongWide,
}

impl Bin {
    /// All bins, in the order of the table.
    pub const ALL: [Self; 4] =
        [Self::ShortNarrow, Self::LongNarrow, Self::ShortWide, Self::LongWide];

    /// The bin of a coflow.
    pub fn of(coflow: &Coflow) -> Self {
        Self::by(coflow.length_bytes(), coflow.width())
    }

    /// The bin of a coflow whose longest flow has so many bytes, and which has so many flows.
    pub fn by(length_bytes: f64, width: usize) -> Self {
        match (length_bytes >= LONG_BYTES, width > MAX_NARROW_FLOWS) {
            (false, false) => Self::ShortNarrow,
            (true, false) => Self::LongNarrow,
            (false, true) => Self::ShortWide,
            (true, true) => Self::LongWide,
        }
    }

    /// The bin's name, such as "short, narrow".
    pub fn name(self) -> &'static str {
        match self {
            Self::ShortNarrow => "short, narrow",
            Self::LongNarrow => "long, narrow",
            Self::ShortWide => "short, wide",
            Self::LongWide => "long, wide",
        }
    }
}

/// The coflows of one bin under one policy.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BinMean {
    /// Number of coflows in the bin.
    pub coflows: usize,
    /// Their mean CCT in seconds; NaN without coflows.
    pub mean_cct_s: f64,
}

/// The mean CCT in each bin under a policy, by its place, in the order of [`Bin::ALL`].
pub fn mean_cct_by_bin(coflows: &Coflows, policy: usize) -> [BinMean; 4] {
    let mut sums = [(0, 0.0); 4];
    let sizes = coflows.length_bytes.iter().zip(&coflows.width);
    for ((&length_bytes, &width), cct_s) in sizes.zip(&coflows.cct_s[policy]) {
        let (count, sum_s) = &mut sums[Bin::by(length_bytes, width) as usize];
        *count += 1;
        *sum_s += cct_s;
    }
    sums.map(|(coflows, sum_s)| BinMean { coflows, mean_cct_s: sum_s / coflows as f64 })
}

#[cfg(test)]
mod tests {
    use super::*;
    use covey_trace::Flow;

    fn coflow(width: usize, bytes: f64) -> Coflow {
        let flow = Flow { src: 0, dst: 1, bytes, start_s: 0.0 };
        Coflow::new(String::new(), 0.0, vec![flow; width])
    }

    #[test]
    fn borders_are_five_mb_and_fifty_flows() {
        assert_eq!(Bin::of(&coflow(50, 5_242_879.0)), Bin::ShortNarrow);
        assert_eq!(Bin::of(&coflow(50, 5_242_880.0)), Bin::LongNarrow);
        assert_eq!(Bin::of(&coflow(51, 5_242_879.0)), Bin::ShortWide);
        assert_eq!(Bin::of(&coflow(51, 5_242_880.0)), Bin::LongWide);
    }
}
