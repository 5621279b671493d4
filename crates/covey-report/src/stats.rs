//! Means and percentiles.

use serde::{Deserialize, Serialize};

use crate::json::or_nan;

/// Mean, percentiles and maximum of a set of numbers, in the unit of the numbers.
///
/// All are NaN for the empty set; JSON then has `null`.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Distribution {
    /// Arithmetic mean.
    #[serde(deserialize_with = "or_nan")]
    pub mean: f64,
    /// Median.
    #[serde(deserialize_with = "or_nan")]
    pub p50: f64,
    /// 90th percentile.
    #[serde(deserialize_with = "or_nan")]
    pub p90: f64,
    /// 95th percentile.
    #[serde(deserialize_with = "or_nan")]
    pub p95: f64,
    /// 99th percentile.
    #[serde(deserialize_with = "or_nan")]
    pub p99: f64,
    /// Greatest value.
    #[serde(deserialize_with = "or_nan")]
    pub max: f64,
}

impl Distribution {
    /// The distribution of `values`, in any order.
    pub fn of(values: impl IntoIterator<Item = f64>) -> Self {
        let values = sorted(values);
        let at = |p| percentile(&values, p);
        Self {
            mean: mean(&values),
            p50: at(50.0),
            p90: at(90.0),
            p95: at(95.0),
            p99: at(99.0),
            max: at(100.0),
        }
    }
}

/// The `p`-th percentile (`p` from 0 to 100) of values in ascending order.
///
/// Interpolates linearly between ranks: of `n` values, percentile `p` has the rank
/// `p * (n - 1) / 100`, the first value having rank 0. NaN if there are no values.
pub fn percentile(ascending: &[f64], p: f64) -> f64 {
    let Some(last) = ascending.len().checked_sub(1) else { return f64::NAN };
    let rank = p.clamp(0.0, 100.0) * last as f64 / 100.0;
    let below = ascending[rank.floor() as usize];
    let above = ascending[rank.ceil() as usize];
    if below == above {
        return below; // also when both are infinite
    }
    (below + (above - below) * rank.fract()).min(above)
}

/// The arithmetic mean; NaN if there are no values.
pub(crate) fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// The values in ascending order.
pub(crate) fn sorted(values: impl IntoIterator<Item = f64>) -> Vec<f64> {
    let mut values: Vec<f64> = values.into_iter().collect();
    values.sort_unstable_by(f64::total_cmp);
    values
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn of_known_numbers() {
        let d = Distribution::of([4.0, 1.0, 3.0, 2.0]);
        assert_eq!((d.mean, d.p50, d.max), (2.5, 2.5, 4.0));
        assert!((d.p90 - 3.7).abs() < 1e-12);
        assert!((d.p95 - 3.85).abs() < 1e-12);
        assert!((d.p99 - 3.97).abs() < 1e-12);
    }

    #[test]
    fn of_one_number_all_are_that_number() {
        let d = Distribution::of([7.0]);
        assert_eq!([d.mean, d.p50, d.p90, d.p95, d.p99, d.max], [7.0; 6]);
    }

    #[test]
    fn of_nothing_all_are_nan() {
        let d = Distribution::of([]);
        assert!([d.mean, d.p50, d.p90, d.p95, d.p99, d.max].iter().all(|x| x.is_nan()));
    }

    #[test]
    fn infinities_do_not_become_nan() {
        assert_eq!(percentile(&[1.0, f64::INFINITY, f64::INFINITY], 75.0), f64::INFINITY);
        assert_eq!(percentile(&[1.0, 2.0, f64::INFINITY], 50.0), 2.0);
    }

    proptest! {
        #[test]
        fn percentiles_stay_in_range_and_never_fall(
            values in prop::collection::vec(0.0f64..1e9, 1..50),
            p in 0.0f64..100.0,
            more in 0.0f64..100.0,
        ) {
            let v = sorted(values);
            let low = percentile(&v, p);
            let high = percentile(&v, p + more);
            prop_assert!(v[0] <= low && low <= high * (1.0 + 1e-15) && high <= v[v.len() - 1]);
        }

        #[test]
        fn percentiles_at_whole_ranks_are_the_values(
            values in prop::collection::vec(0.0f64..1e9, 5),
        ) {
            let v = sorted(values);
            for (rank, p) in [0.0, 25.0, 50.0, 75.0, 100.0].into_iter().enumerate() {
                prop_assert_eq!(percentile(&v, p), v[rank]);
            }
        }

        #[test]
        fn order_does_not_matter(values in prop::collection::vec(0.0f64..1e9, 1..50)) {
            let mut reversed = values.clone();
            reversed.reverse();
            prop_assert_eq!(Distribution::of(values), Distribution::of(reversed));
        }
    }
}
