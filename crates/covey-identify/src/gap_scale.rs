//! The time that separates one burst of flows from the next, estimated from the flows alone.
//!
//! The flows of one coflow that share a service start in a burst; the next burst of that service
//! comes much later. So the gaps between a service's successive flows are of two classes. The
//! threshold between them is that of the minimum error (Kittler and Illingworth, Pattern
//! Recognition 1986), which holds although far more gaps lie within bursts than between. There are
//! two ways to describe a class, and both are needed:
//! - as exponentially distributed, as the gaps of independent events are, with their long tail
//!   towards zero. This finds the two classes, but draws their border too near to the lower one,
//!   because the gaps between bursts have no such tail;
//! - as a normal distribution of the logarithms. This draws the border well, but where the lower
//!   class has a long tail, as with live flows, it has the least error for a class of a few tiny
//!   gaps.
//!
//! So the border is that of the first way, moved up as long as the error of the second one falls,
//! to the geometric mean of the border and the gaps above it at most: few gaps make a class of a
//! few large ones. If all times are multiplied by a factor, so is the threshold.
//!
//! A gap of 0 is shorter than the clock can tell: it counts as a tenth of the smallest other gap.
//! If it counted as far shorter, the two classes would be the gaps that a coarse clock tells and
//! those that it does not.

use std::ops::Range;

/// Bins of an octave.
const FINENESS: f64 = 2.0;
/// Bins: from 1 ns to 2^34 ns × 2^26, thirty years.
const BINS: usize = 120;
/// So many bins with gaps are looked at for a smaller error, because few gaps make a ragged
/// histogram.
const NEAR: usize = 2;
/// The gaps within bursts are at least this share of all. Where gaps of all lengths occur, a few of
/// the shortest have the least error otherwise.
const LEAST: f64 = 0.1;
/// Gaps that must be known before the threshold is an estimate.
pub(crate) const MIN_GAPS: u32 = 64;

/// A histogram of the gaps, in logarithmic bins.
#[derive(Debug, Clone)]
pub(crate) struct GapScale {
    /// Gaps above 0.
    counts: [u64; BINS],
    /// Gaps of 0.
    zeros: u64,
    /// The smallest gap above 0, in seconds.
    least_s: f64,
}

impl GapScale {
    pub fn new() -> GapScale {
        GapScale { counts: [0; BINS], zeros: 0, least_s: f64::INFINITY }
    }

    /// Adds a gap, in seconds.
    pub fn add(&mut self, gap_s: f64) {
        if gap_s > 0.0 {
            self.counts[bin(gap_s)] += 1;
            self.least_s = self.least_s.min(gap_s);
        } else {
            self.zeros += 1;
        }
    }

    /// Halves the weight of all gaps so far.
    pub fn halve(&mut self) {
        self.counts.iter_mut().chain([&mut self.zeros]).for_each(|count| *count /= 2);
    }

    /// How clearly `border_s`, in seconds, separates bursts from each other. Gaps from half of it
    /// to twice as long are in doubt. On each side of them: the share of the gaps there among these
    /// and those in doubt. The lesser of the two counts, from 0 to 1; 1 if no gap is in doubt.
    /// Rounded to bins.
    pub fn clearness(&self, border_s: f64) -> f64 {
        let [from, to] = [0.5, 2.0].map(|factor| bin(factor * border_s));
        let sum = |counts: &[u64]| counts.iter().sum::<u64>();
        let doubtful = sum(&self.counts[from..=to]);
        let clear = sum(&self.counts[to + 1..]).min(self.zeros + sum(&self.counts[..from]));
        if doubtful > 0 { clear as f64 / (doubtful + clear) as f64 } else { 1.0 }
    }

    /// The gap that separates bursts, in seconds; nothing if there are too few gaps, or one mode
    /// only.
    pub fn threshold_s(&self) -> Option<f64> {
        let mut counts = self.counts;
        counts[bin(0.1 * self.least_s)] += self.zeros;
        if counts.iter().sum::<u64>() < MIN_GAPS.into() {
            return None;
        }
        let (splits, count) = splits(&counts);
        let error = |k: usize, of: fn(&Class, f64) -> f64| {
            let (_, below, above) = &splits[k];
            let all = below.gaps + above.gaps;
            of(below, all) + of(above, all)
        };
        let least =
            |among: Range<usize>, of| among.min_by(|a, b| error(*a, of).total_cmp(&error(*b, of)));
        let is_class =
            |below: &Class, above: &Class| below.gaps >= LEAST * (below.gaps + above.gaps);
        let first = splits[..count].partition_point(|(_, below, above)| !is_class(below, above));
        let mut border = least(first..count, Class::exponential_error)?;
        let (bin, _, above) = &splits[border];
        let highest = 0.5 * (*bin as f64 + above.sum / above.gaps);
        let end = splits[..count].partition_point(|(bin, ..)| *bin as f64 <= highest);
        loop {
            let higher = least(border..(border + NEAR + 1).min(end), Class::normal_error)?;
            if higher == border {
                break;
            }
            border = higher;
        }
        // Within an empty valley the middle between the two classes is the best place.
        let (last_below, ..) = splits[border];
        let above = counts[last_below + 1..].iter().position(|&n| n > 0)?;
        Some(middle_s(last_below as f64 + 0.5 * (above as f64 + 1.0)))
    }
}

/// Gaps of a class: their number and sum in seconds, and the sums of their bins and of the squares
/// of these.
#[derive(Debug, Clone, Copy, Default)]
struct Class {
    gaps: f64,
    sum_s: f64,
    sum: f64,
    squares: f64,
}

impl Class {
    fn add(&mut self, gaps: u64, bin: usize) {
        let (n, x) = (gaps as f64, bin as f64);
        self.gaps += n;
        self.sum_s += n * middle_s(x);
        self.sum += n * x;
        self.squares += n * x * x;
    }

    fn without(&self, other: &Class) -> Class {
        Class {
            gaps: self.gaps - other.gaps,
            sum_s: self.sum_s - other.sum_s,
            sum: self.sum - other.sum,
            squares: self.squares - other.squares,
        }
    }

    /// The part of the class in the error, if its gaps are exponentially distributed. `all` is the
    /// number of gaps of both classes.
    fn exponential_error(&self, all: f64) -> f64 {
        let share = self.gaps / all;
        share * (libm::log(self.sum_s / self.gaps) - libm::log(share))
    }

    /// The same, if their logarithms are normally distributed. To the variance of the bins comes
    /// that of the gaps within a bin, as if they were uniform there.
    fn normal_error(&self, all: f64) -> f64 {
        let (share, mean) = (self.gaps / all, self.sum / self.gaps);
        let variance = (self.squares / self.gaps - mean * mean).max(0.0) + 1.0 / 12.0;
        share * (0.5 * libm::log(variance) - libm::log(share))
    }
}

/// A way to split the gaps into two classes: the last bin of the lower class, and both.
type Split = (usize, Class, Class);

/// All ways to split the gaps, and their number.
fn splits(counts: &[u64; BINS]) -> ([Split; BINS], usize) {
    let bins = || counts.iter().enumerate().filter(|(_, gaps)| **gaps > 0);
    let mut all = Class::default();
    bins().for_each(|(bin, gaps)| all.add(*gaps, bin));
    let (mut below, mut splits) = (Class::default(), [Split::default(); BINS]);
    for ((bin, gaps), split) in bins().zip(&mut splits) {
        below.add(*gaps, bin);
        *split = (bin, below, all.without(&below));
    }
    // Nothing is above the last bin.
    (splits, bins().count() - 1)
}

/// The bin of a gap above 0.
fn bin(gap_s: f64) -> usize {
    let bin = libm::log2((gap_s * 1e9).max(1.0)) * FINENESS;
    (bin as usize).min(BINS - 1)
}

/// The middle of a bin, in seconds.
fn middle_s(bin: f64) -> f64 {
    libm::exp2((bin + 0.5) / FINENESS) * 1e-9
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Gaps of up to 20 ms within bursts and from 5 s between them, rounded to `tick_s`.
    fn threshold_s(tick_s: f64) -> f64 {
        let mut scale = GapScale::new();
        let rounded = |gap_s: f64| (gap_s / tick_s).round() * tick_s;
        for k in 0..1000 {
            scale.add(rounded(f64::from(k * 7919 % 1000) * 2e-5));
        }
        for k in 0..20 {
            scale.add(rounded(5.0 + f64::from(k)));
        }
        scale.threshold_s().expect("two modes")
    }

    #[test]
    fn a_coarse_clock_does_not_hide_the_two_modes() {
        for tick_s in [1e-6, 1e-3, 1e-2, 0.1, 1.0] {
            let threshold_s = threshold_s(tick_s);
            assert!((0.02..5.0).contains(&threshold_s), "{tick_s}: {threshold_s}");
        }
    }

    /// The gaps of independent events have a long tail towards zero. Here nine of ten are of 5 ms
    /// in the mean, and the others of half a second.
    #[test]
    fn a_few_tiny_gaps_are_no_class_of_their_own() {
        let mut scale = GapScale::new();
        for k in 0..2000 {
            let share = (f64::from(k * 7919 % 2000) + 0.5) / 2000.0;
            scale.add(-libm::log(share) * if k % 10 == 0 { 0.5 } else { 0.005 });
        }
        let threshold_s = scale.threshold_s().expect("two classes");
        assert!((0.02..0.2).contains(&threshold_s), "{threshold_s}");
    }

    #[test]
    fn gaps_near_the_border_make_it_unclear() {
        let mut scale = GapScale::new();
        assert_eq!(scale.clearness(0.1), 1.0, "nothing is in doubt");
        (0..100).for_each(|_| scale.add(0.001));
        scale.add(0.0);
        assert_eq!(scale.clearness(0.1), 1.0, "one burst");
        // From half of the border to twice as long.
        [0.051, 0.1, 0.199].into_iter().for_each(|gap_s| scale.add(gap_s));
        assert_eq!(scale.clearness(0.1), 0.0);
        (0..9).for_each(|k| scale.add(0.5 + f64::from(k)));
        assert_eq!(scale.clearness(0.1), 0.75);
        assert_eq!(scale.clearness(1e9), 1.0, "no gap is that long");
    }

    /// Gaps between bursts that begin at random, once in `mean_s`, are exponentially distributed.
    #[test]
    fn where_bursts_begin_at_random_their_density_decides() {
        for mean_s in [0.2, 0.5, 2.0] {
            let mut scale = GapScale::new();
            for k in 0..10_000 {
                scale.add(-mean_s * libm::log((f64::from(k) + 0.5) / 10_000.0));
            }
            // Gaps within bursts are far more.
            (0..100_000).for_each(|_| scale.add(1e-6));
            let found = scale.clearness(0.1);
            // Gaps from 0.05 to 0.2 s are in doubt, and by the width of bins up to 0.1 s more.
            let [least, most] = [2.5, 1.5].map(|times| libm::exp(-times * 0.1 / mean_s));
            assert!((least..=most).contains(&found), "{mean_s}: {found}, {least} {most}");
        }
    }

    /// Where gaps of all lengths occur, the border may be drawn among the shortest, and nearly all
    /// are above it.
    #[test]
    fn a_border_among_the_shortest_gaps_of_many_is_not_clear() {
        let mut scale = GapScale::new();
        for k in 0..1_000 {
            scale.add(-0.06 * libm::log((f64::from(k) + 0.5) / 1_000.0));
        }
        assert!(scale.clearness(1e-3) < 0.4, "{}", scale.clearness(1e-3));
    }

    /// A busy machine opens a few connections at once, and most at random.
    #[test]
    fn a_few_gaps_of_zero_among_many_are_no_class() {
        let mut scale = GapScale::new();
        (0..4).for_each(|_| scale.add(0.0));
        for k in 0..200 {
            scale.add(-0.06 * libm::log((f64::from(k) + 0.5) / 200.0));
        }
        let threshold_s = scale.threshold_s().expect("two classes");
        assert!(threshold_s > 0.003, "{threshold_s}");
        assert!(scale.clearness(threshold_s) < 0.5, "{}", scale.clearness(threshold_s));
    }

    #[test]
    fn bursts_at_equal_times_are_told_from_the_next() {
        let mut scale = GapScale::new();
        (0..1000).for_each(|_| scale.add(0.0));
        (0..50).for_each(|_| scale.add(1.0));
        let threshold_s = scale.threshold_s().expect("two modes");
        assert!((0.1..1.0).contains(&threshold_s), "{threshold_s}");
    }
}
