//! The time that separates one burst of flows from the next, estimated from the flows alone.
//!
//! The flows of one coflow that share a service start in a burst; the next burst of that service comes
//! much later. So the logarithms of the gaps between a service's successive flows have two modes. The
//! threshold between them is that of the minimum error of two normal distributions (Kittler and
//! Illingworth, Pattern Recognition 1986), which holds although far more gaps lie within bursts than
//! between. If all times are multiplied by a factor, so is the threshold.

/// Bins of an octave.
const FINENESS: f64 = 2.0;
/// Bins: from 1 ns, the time within which starts coincide, to 2^34 ns × 2^26, thirty years.
const BINS: usize = 120;
/// Gaps that must be known before the threshold is an estimate.
const MIN_GAPS: u64 = 64;

/// A histogram of the gaps, in logarithmic bins.
#[derive(Debug, Clone)]
pub(crate) struct GapScale {
    counts: [u64; BINS],
}

impl GapScale {
    pub fn new() -> GapScale {
        GapScale { counts: [0; BINS] }
    }

    /// Adds a gap, in seconds.
    pub fn add(&mut self, gap_s: f64) {
        let bin = libm::log2((gap_s * 1e9).max(1.0)) * FINENESS;
        self.counts[(bin as usize).min(BINS - 1)] += 1;
    }

    /// Halves the weight of all gaps so far.
    pub fn halve(&mut self) {
        self.counts.iter_mut().for_each(|count| *count /= 2);
    }

    /// The gap that separates bursts, in seconds; nothing if there are too few gaps, or one mode only.
    pub fn threshold_s(&self) -> Option<f64> {
        let total: u64 = self.counts.iter().sum();
        if total < MIN_GAPS {
            return None;
        }
        let bins = || self.counts.iter().zip(0..).map(|(&n, bin)| (n as f64, f64::from(bin)));
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
            let middle = 0.5 * (last_below(&self.counts, x) + first_above(&self.counts, x));
            if best.is_none_or(|(least, _)| error < least) {
                best = Some((error, middle));
            }
        }
        best.map(|(_, bin)| libm::exp2((bin + 0.5) / FINENESS) * 1e-9)
    }
}

/// The part that a class of the sums of 1, x and x² has in the error of Kittler and Illingworth. A
/// variance is at least that of the uniform distribution in one bin.
fn class_error([n, x, xx]: [f64; 3], total: f64) -> f64 {
    let (share, mean) = (n / total, x / n);
    let variance = (xx / n - mean * mean).max(1.0 / 12.0);
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
