//! The time that separates one burst of flows from the next, estimated from the flows alone.
//!
//! The flows of one coflow that share a service start in a burst; the next burst of that service comes
//! much later. So the logarithms of the gaps between a service's successive flows have two modes. The
//! threshold between them is that of the minimum error of two normal distributions (Kittler and
//! Illingworth, Pattern Recognition 1986), which holds although far more gaps lie within bursts than
//! between. If all times are multiplied by a factor, so is the threshold.
//!
//! A gap of 0 is shorter than the clock can tell: it counts as half of the smallest other gap. If it counted
//! as far shorter, the two modes would be the gaps that a coarse clock tells and those that it does not.

/// Bins of an octave.
const FINENESS: f64 = 2.0;
/// Bins: from 1 ns to 2^34 ns × 2^26, thirty years.
const BINS: usize = 120;
/// Gaps that must be known before the threshold is an estimate.
const MIN_GAPS: u64 = 64;

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

    /// The gap that separates bursts, in seconds; nothing if there are too few gaps, or one mode only.
    pub fn threshold_s(&self) -> Option<f64> {
        let mut counts = self.counts;
        counts[bin(0.5 * self.least_s)] += self.zeros;
        if counts.iter().sum::<u64>() < MIN_GAPS {
            return None;
        }
        let bins = || counts.iter().zip(0..).map(|(&n, bin)| (n as f64, f64::from(bin)));
        // Sums of 1, x and x² up to each bin.
        let mut below = [0.0; 3];
        let mut all = [0.0; 3];
        for (n, x) in bins() {
            all = [all[0] + n, all[1] + n * x, all[2] + n * x * x];
        }
        let mut best: Option<(f64, f64)> = None;
        for (n, x) in bins() {
            below = [below[0] + n, below[1] + n * x, below[2] + n * x * x];
            let above = [all[0] - below[0], all[1] - below[1], all[2] - below[2]];
            if below[0] == 0.0 || above[0] <= 0.0 {
                continue;
            }
            let error = class_error(below, all[0]) + class_error(above, all[0]);
            // Within an empty valley the middle between the two classes is the best place.
            let middle = 0.5 * (last_below(&counts, x) + first_above(&counts, x));
            if best.is_none_or(|(least, _)| error < least) {
                best = Some((error, middle));
            }
        }
        best.map(|(_, bin)| libm::exp2((bin + 0.5) / FINENESS) * 1e-9)
    }
}

/// The bin of a gap above 0.
fn bin(gap_s: f64) -> usize {
    let bin = libm::log2((gap_s * 1e9).max(1.0)) * FINENESS;
    (bin as usize).min(BINS - 1)
}

/// The part that a class of the sums of 1, x and x² has in the error of Kittler and Illingworth. To
/// the variance of the bins comes that of the gaps within a bin, as if they were uniform there.
fn class_error([n, x, xx]: [f64; 3], total: f64) -> f64 {
    let (share, mean) = (n / total, x / n);
    let variance = (xx / n - mean * mean).max(0.0) + 1.0 / 12.0;
    share * (0.5 * libm::log(variance) - libm::log(share))
}

/// The last bin with gaps, up to bin `x`.
fn last_below(counts: &[u64], x: f64) -> f64 {
    let at = counts[..=x as usize].iter().rposition(|&n| n > 0);
    at.map_or(x, |bin| bin as f64)
}

/// The first bin with gaps, after bin `x`.
fn first_above(counts: &[u64], x: f64) -> f64 {
    let at = counts[x as usize + 1..].iter().position(|&n| n > 0);
    at.map_or(x, |ahead| x + 1.0 + ahead as f64)
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

    #[test]
    fn bursts_at_equal_times_are_told_from_the_next() {
        let mut scale = GapScale::new();
        (0..1000).for_each(|_| scale.add(0.0));
        (0..50).for_each(|_| scale.add(1.0));
        let threshold_s = scale.threshold_s().expect("two modes");
        assert!((0.5..1.0).contains(&threshold_s), "{threshold_s}");
    }
}
