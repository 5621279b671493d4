//! How certain it is that policies differ: 95 % intervals of speed-ups of the mean CCT.
//!
//! Both policies have the same coflows, so each coflow gives a *pair* of completion times, and what
//! the pairs have in common cancels out. What an interval is over depends on what was repeated.
//!
//! - Over the coflows of one trace, it is that of Fieller ("Some problems in interval estimation",
//!   Journal of the Royal Statistical Society B 16, 1954, p. 175) for the ratio `r` of two paired
//!   means: all `r` for which Student's t does not refute that the differences `base - r · own`
//!   have the mean 0. Another trace of the same kind would give another speed-up; this says how far
//!   from this one. A few coflows decide a mean here, and the bootstrap covers too seldom on such
//!   times, whether by percentiles, with BCa or studentised.
//! - Over seeds, each of which gives one speed-up, it is that of Student's t for the mean of their
//!   logarithms.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::json::or_infinite;

/// The probability that an interval covers the speed-up.
pub const LEVEL: f64 = 0.95;

/// The interval in which the speed-up of a policy is, with a probability of 95 %.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Interval {
    /// Its lower end.
    pub low: f64,
    /// Its upper end; infinite if nothing bounds it.
    #[serde(deserialize_with = "or_infinite")]
    pub high: f64,
}

impl Interval {
    /// The interval of the ratio of the means of `base` and `own`, whose values are pairs. None if
    /// there are fewer than two.
    pub fn of_pairs(base: &[f64], own: &[f64]) -> Option<Interval> {
        let n = base.len().min(own.len());
        if n < 2 {
            return None;
        }
        let count = n as f64;
        let mean = |values: &[f64]| values.iter().sum::<f64>() / count;
        let (mean_base, mean_own) = (mean(base), mean(own));
        // Variances and covariance of the means.
        let (mut of_base, mut of_own, mut of_both) = (0.0, 0.0, 0.0);
        for (b, o) in base.iter().zip(own).map(|(b, o)| (b - mean_base, o - mean_own)) {
            of_base += b * b;
            of_own += o * o;
            of_both += b * o;
        }
        let t = t_quantile(n - 1);
        let factor = t * t / (count * (count - 1.0));
        // The ends are the roots of (mean_base - r · mean_own)² = t² · (of_base - 2 r · of_both +
        // r² · of_own).
        let square = mean_own * mean_own - factor * of_own;
        let linear = mean_base * mean_own - factor * of_both;
        let constant = mean_base * mean_base - factor * of_base;
        if base == own {
            return Some(Interval { low: 1.0, high: 1.0 });
        }
        let root = (linear * linear - square * constant).max(0.0).sqrt();
        if square.is_nan() || square <= 0.0 {
            return Some(Interval { low: 0.0, high: f64::INFINITY });
        }
        Some(Interval { low: ((linear - root) / square).max(0.0), high: (linear + root) / square })
    }

    /// The interval of the geometric mean of speed-ups. None if there are fewer than two.
    pub fn of_speedups(speedups: &[f64]) -> Option<Interval> {
        let n = speedups.len();
        if n < 2 {
            return None;
        }
        let logs: Vec<f64> = speedups.iter().map(|speedup| speedup.ln()).collect();
        let mean = logs.iter().sum::<f64>() / n as f64;
        let squares: f64 = logs.iter().map(|log| (log - mean) * (log - mean)).sum();
        let width = t_quantile(n - 1) * (squares / (n * (n - 1)) as f64).sqrt();
        Some(Interval { low: (mean - width).exp(), high: (mean + width).exp() })
    }

    /// Whether it says that the policy is faster (`Some(true)`), that it is slower, or neither.
    pub fn is_faster(self) -> Option<bool> {
        if self.low > 1.0 {
            Some(true)
        } else if self.high < 1.0 {
            Some(false)
        } else {
            None
        }
    }
}

impl fmt::Display for Interval {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let end =
            |value: f64| if value.is_finite() { format!("{value:.2}") } else { "∞".to_owned() };
        write!(out, "{}–{}", end(self.low), end(self.high))
    }
}

/// The geometric mean.
pub(crate) fn geometric_mean(values: &[f64]) -> f64 {
    (values.iter().map(|value| value.ln()).sum::<f64>() / values.len() as f64).exp()
}

/// What was repeated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Over {
    /// Coflows of one trace.
    Coflows,
    /// Seeds, each with a trace.
    Seeds,
}

/// Policies in order of their mean CCT, and which of the differences are certain.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Certainty {
    /// What intervals are over.
    pub over: Over,
    /// How many of these there are.
    pub n: usize,
    /// The probability that an interval covers the speed-up.
    pub level: f64,
    /// The policies as the user typed them, the fastest first.
    pub order: Vec<String>,
    /// For each of them but the last: whether it is certain that it is faster than the next.
    pub certain: Vec<bool>,
}

impl Certainty {
    /// The order of policies with these labels and means. `interval` gives that of the speed-up of
    /// a policy over another: their places, the other first.
    pub(crate) fn of(
        (over, n): (Over, usize),
        labels: &[&str],
        means_s: &[f64],
        interval: impl Fn(usize, usize) -> Option<Interval>,
    ) -> Certainty {
        let mut places: Vec<usize> = (0..labels.len()).collect();
        places.sort_by(|&a, &b| means_s[a].total_cmp(&means_s[b]));
        let is_faster = |pair: &[usize]| interval(pair[1], pair[0]).and_then(Interval::is_faster);
        Certainty {
            over,
            n,
            level: LEVEL,
            certain: places.windows(2).map(|pair| is_faster(pair) == Some(true)).collect(),
            order: places.iter().map(|&place| labels[place].to_owned()).collect(),
        }
    }

    /// What was repeated, in words.
    pub fn basis(&self) -> String {
        match self.over {
            Over::Coflows => format!("the {} coflows of one trace", self.n),
            Over::Seeds => format!("{} seeds", self.n),
        }
    }

    /// The order as text: `a < b ~ c`. Each is compared with the next.
    pub fn ranking(&self) -> String {
        let signs = self.certain.iter().map(|&certain| if certain { " < " } else { " ~ " });
        let signs = signs.chain([""]);
        self.order.iter().zip(signs).map(|(label, sign)| format!("{label}{sign}")).collect()
    }
}

impl fmt::Display for Certainty {
    /// The order and how to read it.
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            out,
            "Order by mean CCT: {}. Over {}, < is certain at 95 %, and ~ is not.",
            self.ranking(),
            self.basis()
        )
    }
}

/// The 97.5th percentile of Student's t with so many degrees of freedom.
///
/// Tabulated below 10; from there by the expansion in Abramowitz and Stegun, Handbook of
/// Mathematical Functions, 26.7.5.
fn t_quantile(freedom: usize) -> f64 {
    const FEW: [f64; 9] = [
        12.706_205, 4.302_653, 3.182_446, 2.776_445, 2.570_582, 2.446_912, 2.364_624, 2.306_004,
        2.262_157,
    ];
    if let Some(&few) = FEW.get(freedom.wrapping_sub(1)) {
        return few;
    }
    let (x, v) = (1.959_964_f64, freedom as f64);
    let power = |n: i32| x.powi(n);
    let terms = [
        (power(3) + x) / 4.0,
        (5.0 * power(5) + 16.0 * power(3) + 3.0 * x) / 96.0,
        (3.0 * power(7) + 19.0 * power(5) + 17.0 * power(3) - 15.0 * x) / 384.0,
    ];
    (1..).zip(terms).fold(x, |sum, (n, term)| sum + term / v.powi(n))
}

#[cfg(test)]
mod tests {
    use super::*;
    use covey_core::SplitMix;

    #[test]
    fn quantiles_are_those_of_the_tables() {
        let table = [(1, 12.706), (9, 2.262), (10, 2.228), (19, 2.093), (30, 2.042), (120, 1.980)];
        for (freedom, expected) in table {
            let found = t_quantile(freedom);
            assert!((found - expected).abs() < 6e-4, "{freedom}: {found}");
        }
        assert!((t_quantile(1_000_000) - 1.96).abs() < 1e-4);
    }

    #[test]
    fn intervals_of_known_numbers() {
        // Logs 0 and 2: mean 1, deviation √2, so 1 ± 12.706.
        let found = Interval::of_speedups(&[1.0, 2.0_f64.exp()]).unwrap();
        assert!((found.low.ln() - (1.0 - 12.706)).abs() < 1e-3, "{found:?}");
        assert!((found.high.ln() - (1.0 + 12.706)).abs() < 1e-3, "{found:?}");
        assert_eq!(Interval::of_speedups(&[2.0]), None);
        // One constant: the interval of a mean, 2 ± 4.303 · 1 / √3.
        let found = Interval::of_pairs(&[1.0, 2.0, 3.0], &[1.0; 3]).unwrap();
        assert_eq!(found.low, 0.0);
        assert!((found.high - (2.0 + 4.3027 / 3.0_f64.sqrt())).abs() < 1e-3, "{found:?}");
        // All twice as fast.
        let found = Interval::of_pairs(&[2.0, 4.0, 60.0], &[1.0, 2.0, 30.0]).unwrap();
        assert!(found.low <= 2.0 && found.high >= 2.0 || found.high == f64::INFINITY, "{found:?}");
        let same = Interval::of_pairs(&[1.0, 2.0], &[1.0, 2.0]).unwrap();
        assert_eq!((same, same.is_faster()), (Interval { low: 1.0, high: 1.0 }, None));
        // The denominator may be nothing.
        let found = Interval::of_pairs(&[1.0, 1.0], &[0.0, 1.0]).unwrap();
        assert_eq!((found.low, found.high), (0.0, f64::INFINITY));
    }

    #[test]
    fn the_order_says_what_is_certain() {
        let interval = |base: usize, own: usize| {
            let low = if (base, own) == (0, 2) { 1.5 } else { 0.9 };
            Some(Interval { low, high: 2.0 })
        };
        let basis = (Over::Coflows, 5);
        let found = Certainty::of(basis, &["a", "b", "c"], &[2.0, 3.0, 1.0], interval);
        assert_eq!(found.ranking(), "c < a ~ b");
        let text = "Order by mean CCT: c < a ~ b. Over the 5 coflows of one trace, < is certain at 95 %, and ~ is not.";
        assert_eq!(found.to_string(), text);
    }

    /// Standard normal numbers.
    struct Normal(SplitMix);

    impl Normal {
        fn next(&mut self) -> f64 {
            let (a, b) = (self.0.unit(), self.0.unit());
            (-2.0 * (1.0 - a).ln()).sqrt() * (std::f64::consts::TAU * b).cos()
        }
    }

    /// The share of studies whose interval covers the truth.
    fn covered(studies: usize, mut covers: impl FnMut() -> bool) -> f64 {
        (0..studies).filter(|_| covers()).count() as f64 / studies as f64
    }

    const TRUTH: f64 = 1.3;

    /// Completion times of 526 coflows under two policies: lognormal ones, of which few decide the
    /// mean, and shares of them that differ by coflow.
    #[test]
    fn intervals_over_coflows_cover_a_known_difference() {
        let mut normal = Normal(SplitMix::new(1));
        for (tail, spread) in [(0.5, 0.3), (1.0, 0.3), (1.5, 0.3), (1.5, 0.5), (2.0, 0.3)] {
            let share = covered(2000, || {
                let pairs = (0..526).map(|_| {
                    let base = (tail * normal.next()).exp();
                    // Its mean is 1.
                    let noise = (spread * normal.next() - spread * spread / 2.0).exp();
                    (base, base * noise / TRUTH)
                });
                let (base, own): (Vec<f64>, Vec<f64>) = pairs.unzip();
                let found = Interval::of_pairs(&base, &own).unwrap();
                (found.low..=found.high).contains(&TRUTH)
            });
            println!("tail {tail}, spread {spread}: {:.1} %", 100.0 * share);
            assert!((0.93..=0.97).contains(&share), "tail {tail}, spread {spread}: {share}");
        }
    }

    #[test]
    fn intervals_over_seeds_cover_a_known_difference() {
        let mut normal = Normal(SplitMix::new(2));
        for seeds in [2, 3, 5, 20] {
            let share = covered(2000, || {
                let speedups: Vec<f64> =
                    (0..seeds).map(|_| TRUTH * (0.2 * normal.next()).exp()).collect();
                let found = Interval::of_speedups(&speedups).unwrap();
                (found.low..=found.high).contains(&TRUTH)
            });
            println!("{seeds} seeds: {:.1} %", 100.0 * share);
            assert!((0.93..=0.97).contains(&share), "{seeds} seeds: {share}");
        }
    }
}
