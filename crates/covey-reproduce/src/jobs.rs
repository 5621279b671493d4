//! Jobs that compute as well.

use covey_trace::shuffle_shares;

/// Seeds with which shares of time in shuffle are drawn.
pub const SEEDS: u64 = 20;

/// Speed-ups of jobs of which each coflow is the shuffle, and takes the share φ of the job's time where its
/// CCT is that of `base`: JCT = CCT₀/φ − CCT₀ + CCT. Shares are drawn from the published classes (Philae,
/// ATC 2019, §9.2).
pub fn speedups(base: &[f64], ccts: &[f64], seed: u64) -> Vec<f64> {
    let shares = shuffle_shares(base.len(), seed);
    let jobs = base.iter().zip(ccts).zip(shares);
    jobs.map(|((base, cct), share)| (base / share) / (base / share - base + cct)).collect()
}
