//! Means, percentiles and shares of measured values.

/// The mean; NaN without values.
pub fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// The largest value; negative infinity without values.
pub fn maximum(values: &[f64]) -> f64 {
    values.iter().copied().fold(f64::NEG_INFINITY, f64::max)
}

/// The `p`-th percentile of values in any order; NaN without values.
pub fn percentile(values: &[f64], p: f64) -> f64 {
    let mut ascending = values.to_vec();
    ascending.sort_unstable_by(f64::total_cmp);
    covey_report::percentile(&ascending, p)
}

/// The share of values for which `test` holds, in percent; NaN without values.
pub fn percent(values: &[f64], test: impl Fn(f64) -> bool) -> f64 {
    100.0 * values.iter().filter(|value| test(**value)).count() as f64 / values.len() as f64
}

/// The values, or `max` evenly spaced percentiles of them if there are more. The distribution is
/// the same.
pub fn thinned(values: &[f64], max: usize) -> Vec<f64> {
    if values.len() <= max {
        return values.to_vec();
    }
    let mut ascending = values.to_vec();
    ascending.sort_unstable_by(f64::total_cmp);
    let p = |k: usize| 100.0 * k as f64 / (max - 1) as f64;
    (0..max).map(|k| covey_report::percentile(&ascending, p(k))).collect()
}
