//! How sure a speed-up is: 95 % intervals from paired samples, and the ranking that follows.
//!
//! A sample is a pair of times, of the baseline and of a policy: the means on the trace of one seed. The speed-up is the ratio of their sums. Its interval is a bootstrap-t interval of the logarithm:
//! samples are drawn again with replacement, and for each draw the distance of its logarithm from that of all samples is
//! divided by the draw's own standard error. The draws come from a fixed seed.

use covey_core::SplitMix;
use serde::Serialize;

use crate::stats::{percentile, sorted};

/// The share of intervals that hold the true value.
pub const LEVEL: f64 = 0.95;
/// The least number of samples for an interval.
const LEAST: usize = 5;
/// The most draws, and the most samples drawn in all.
const DRAWS: usize = 2000;
const DRAWN: usize = 20_000_000;
/// Seed of the draws.
const SEED: u64 = 1;

/// A speed-up, and the interval in which it lies with a probability of [`LEVEL`].
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Interval {
    /// The ratio of all samples.
    pub speedup: f64,
    /// The lower end.
    pub low: f64,
    /// The upper end.
    pub high: f64,
}

impl Interval {
    /// The interval of the sum of `base` over the sum of `other`, which are pairs; none if these are fewer than
    /// [`LEAST`], or sums are not positive numbers.
    pub fn of(base: &[f64], other: &[f64]) -> Option<Interval> {
        let pairs: Vec<[f64; 2]> = base.iter().zip(other).map(|(&b, &o)| [b, o]).collect();
        let Ratio { log, error } = Ratio::of(pairs.iter().copied());
        if pairs.len() < LEAST || !log.is_finite() {
            return None;
        }
        let mut random = SplitMix::new(SEED);
        let draws = (DRAWN / pairs.len()).clamp(LEAST, DRAWS);
        let mut distances: Vec<f64> = Vec::with_capacity(draws);
        for _ in 0..draws {
            let drawn = (0..pairs.len()).map(|_| pairs[random.below(pairs.len() as u64) as usize]);
            let draw = Ratio::of(drawn);
            // A draw of equal pairs says nothing.
            let distance = (draw.log - log) / draw.error;
            if distance.is_finite() {
                distances.push(distance);
            }
        }
        let distances = sorted(distances);
        let at = |share: f64| percentile(&distances, 100.0 * share);
        let beside = (1.0 - LEVEL) / 2.0;
        let [low, high] = match distances.is_empty() {
            true => [log; 2],
            false => [log - at(1.0 - beside) * error, log - at(beside) * error],
        };
        Some(Interval { speedup: log.exp(), low: low.exp(), high: high.exp() })
    }

    /// Whether the interval says which is faster: it does not hold 1.
    pub fn is_certain(&self) -> bool {
        self.low > 1.0 || self.high < 1.0
    }
}

/// The logarithm of a ratio of sums, and its standard error.
struct Ratio {
    log: f64,
    error: f64,
}

impl Ratio {
    fn of(pairs: impl Iterator<Item = [f64; 2]>) -> Ratio {
        let (mut n, mut sums, mut squares) = (0.0, [0.0; 2], [0.0; 3]);
        for [b, o] in pairs {
            n += 1.0;
            sums = [sums[0] + b, sums[1] + o];
            squares = [squares[0] + b * b, squares[1] + b * o, squares[2] + o * o];
        }
        let ratio = sums[0] / sums[1];
        // Residuals b - ratio * o have the mean 0.
        let residuals = squares[0] - 2.0 * ratio * squares[1] + ratio * ratio * squares[2];
        let error = (residuals.max(0.0) * n / (n - 1.0)).sqrt() / sums[0];
        Ratio { log: ratio.ln(), error }
    }
}

/// Policies from the fastest to the slowest, and whether each is certainly faster than the next.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Ranked {
    /// The policy, as the user typed it.
    pub label: String,
    /// Whether the next one is certainly slower; `None` for the last, and where there are too few samples.
    pub certain: Option<bool>,
}

/// Ranks policies by the sums of their samples. Each list has the samples of a policy, in one order.
pub fn rank(labels: &[&str], samples: &[Vec<f64>]) -> Vec<Ranked> {
    let sum = |k: usize| samples[k].iter().sum::<f64>();
    let mut order: Vec<usize> = (0..labels.len()).collect();
    order.sort_by(|&a, &b| sum(a).total_cmp(&sum(b)));
    let certain = |k: usize| {
        let (&this, &next) = (order.get(k)?, order.get(k + 1)?);
        Some(Interval::of(&samples[next], &samples[this])?.is_certain())
    };
    let ranked = order.iter().enumerate();
    ranked.map(|(k, &at)| Ranked { label: labels[at].to_owned(), certain: certain(k) }).collect()
}

/// The ranking in a line: `<` where the order is certain, `~` where it is not.
pub fn ranking(ranked: &[Ranked]) -> String {
    let mut text = String::new();
    for one in ranked {
        text += &one.label;
        text += match one.certain {
            Some(true) => " < ",
            Some(false) => " ~ ",
            None => ", ",
        };
    }
    text.trim_end_matches(", ").to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A number from the normal distribution with mean 0 and deviation 1 (Box and Muller).
    fn normal(random: &mut SplitMix) -> f64 {
        let (u, v) = (1.0 - random.unit(), random.unit());
        (-2.0 * u.ln()).sqrt() * (2.0 * std::f64::consts::PI * v).cos()
    }

    /// The share of studies with a known speed-up whose interval holds it.
    fn coverage(studies: usize, samples: usize, deviation: f64, seed: u64) -> f64 {
        const SPEEDUP: f64 = 1.1;
        let mut random = SplitMix::new(seed);
        let mut held = 0;
        for _ in 0..studies {
            let base: Vec<f64> = (0..samples).map(|_| (0.5 * normal(&mut random)).exp()).collect();
            // The mean of the factor is 1 / SPEEDUP.
            let mut factor =
                || (deviation * normal(&mut random) - deviation * deviation / 2.0).exp() / SPEEDUP;
            let other: Vec<f64> = base.iter().map(|base| base * factor()).collect();
            let interval = Interval::of(&base, &other).unwrap();
            held += usize::from(interval.low <= SPEEDUP && SPEEDUP <= interval.high);
        }
        held as f64 / studies as f64
    }

    #[test]
    fn intervals_hold_the_true_speedup_as_often_as_they_say() {
        // With deviations of a half and twenty samples it is 0.927.
        for (samples, deviation) in [(20, 0.1), (20, 0.3), (50, 0.2)] {
            let share = coverage(1000, samples, deviation, 11);
            assert!((0.93..=0.97).contains(&share), "{samples}, {deviation}: {share}");
        }
    }

    #[test]
    fn equal_pairs_are_sure_and_few_are_not() {
        let exact = Interval::of(&[2.0; 6], &[1.0; 6]).unwrap();
        assert_eq!((exact.low, exact.speedup, exact.high), (2.0, 2.0, 2.0));
        assert_eq!(Interval::of(&[2.0; 4], &[1.0; 4]), None);
        assert_eq!(Interval::of(&[0.0; 6], &[0.0; 6]), None);
    }

    #[test]
    fn a_ranking_says_where_it_is_certain() {
        let slow: Vec<f64> = (1..20).map(f64::from).collect();
        let fast: Vec<f64> = slow.iter().map(|s| s / 2.0 + 0.01 * (s % 3.0)).collect();
        let same: Vec<f64> = slow.iter().rev().copied().collect();
        let ranked = rank(&["slow", "fast", "same"], &[slow, fast, same]);
        assert_eq!(ranking(&ranked), "fast < slow ~ same");
        assert_eq!(ranking(&rank(&["a", "b"], &[vec![2.0], vec![1.0]])), "b, a");
    }
}
