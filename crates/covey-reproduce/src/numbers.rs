//! Method and percentiles of what was measured.

/// The mean; NaN of nothing.
pub fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// The largest; negative infinity of nothing.
pub fn maximum(values: &[f64]) -> f64 {
    values.iter().copied().fold(f64::NEG_INFINITY, f64::max)
}

/// The `p`-th percentile of values in any order; NaN of nothing.
pub fn percentile(values: &[f64], p: f64) -> f64 {
    let mut ascending = values.to_vec();
    ascending.sort_unstable_by(f64::total_cmp);
    covey_report::percentile(&ascending, p)
}

/// The share of values for which `test` holds, in percent; NaN of nothing.
pub fn percent(values: &[f64], test: impl Fn(f64) -> bool) -> f64 {
    100.0 * values.iter().filter(|value| test(**value)).count() as f64 / values.len() as f64
}

/// At most `most` of the values, evenly from the sorted ones, so that they are distributed alike.
pub fn thinned(values: &[f64], most: usize) -> Vec<f64> {
    if values.len() <= most {
        return values.to_vec();
    }
    let mut ascending = values.to_vec();
    ascending.sort_unstable_by(f64::total_cmp);
    let p = |k: usize| 100.0 * k as f64 / (most - 1) as f64;
    (0..most).map(|k| covey_report::percentile(&ascending, p(k))).collect()
}
