//! The spread of a quantity over coflows.

use serde::Serialize;

/// Percentiles, interpolated linearly between ranks, and the mean.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Quantiles {
    /// The smallest value.
    pub min: f64,
    /// The 10th percentile.
    pub p10: f64,
    /// The 25th percentile.
    pub p25: f64,
    /// The median.
    pub p50: f64,
    /// The 75th percentile.
    pub p75: f64,
    /// The 90th percentile.
    pub p90: f64,
    /// The 95th percentile.
    pub p95: f64,
    /// The 99th percentile.
    pub p99: f64,
    /// The largest value.
    pub max: f64,
    /// The mean.
    pub mean: f64,
}

impl Quantiles {
    /// The spread of `values`; `None` if there are none.
    pub fn of(mut values: Vec<f64>) -> Option<Self> {
        if values.is_empty() {
            return None;
        }
        values.sort_unstable_by(f64::total_cmp);
        let at = |percent: f64| {
            let rank = percent / 100.0 * (values.len() - 1) as f64;
            let (low, above) = (rank as usize, rank.fract());
            let high = (low + 1).min(values.len() - 1);
            values[low] + (values[high] - values[low]) * above
        };
        Some(Self {
            min: at(0.0),
            p10: at(10.0),
            p25: at(25.0),
            p50: at(50.0),
            p75: at(75.0),
            p90: at(90.0),
            p95: at(95.0),
            p99: at(99.0),
            max: at(100.0),
            mean: values.iter().sum::<f64>() / values.len() as f64,
        })
    }
}
