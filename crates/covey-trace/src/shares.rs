//! The share of a job's time that it communicates.

use crate::random::Random;

/// The smallest and the largest share of each class of jobs, and the percentage of jobs in it
/// (Aalo, SIGCOMM 2015, Table 2; Philae, ATC 2019, §9.2).
const CLASSES: [(f64, f64, f64); 4] =
    [(MIN_SHARE, 0.25, 61.0), (0.25, 0.50, 13.0), (0.50, 0.75, 14.0), (0.75, 1.0, 12.0)];

/// The smallest share. The papers say "less than 25 %"; with shares near zero a few jobs that
/// hardly communicate would dominate the mean.
const MIN_SHARE: f64 = 0.01;

/// Draws for each of `count` jobs the share of its time in shuffle, from 0.01 to 1. The classes
/// have their published shares; inside a class the distribution is uniform.
pub fn shuffle_shares(count: usize, seed: u64) -> Vec<f64> {
    let mut random = Random::new("covey shuffle shares", seed);
    let draw = |_| {
        let mut percent = 100.0 * random.unit();
        let quantile = random.unit();
        let class = CLASSES.iter().find(|class| {
            percent -= class.2;
            percent < 0.0
        });
        let (min, max, _) = class.unwrap_or(&CLASSES[3]);
        min + (max - min) * quantile
    };
    (0..count).map(draw).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_have_their_published_shares() {
        let shares = shuffle_shares(100_000, 5);
        let part = |min: f64, max: f64| {
            let inside = shares.iter().filter(|s| (min..max).contains(*s)).count();
            100.0 * inside as f64 / shares.len() as f64
        };
        for (min, max, percent) in CLASSES {
            assert!((part(min, max) - percent).abs() < 0.5, "{min} {}", part(min, max));
        }
        assert_eq!(shares, shuffle_shares(100_000, 5));
        assert_ne!(shares[..10], shuffle_shares(10, 6)[..]);
    }
}
