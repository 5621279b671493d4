//! Job completion times (JCTs) of jobs that shuffle and compute.

use covey_trace::shuffle_shares;

/// Number of seeds with which the shares of time in shuffle are drawn.
pub const SEEDS: u64 = 20;

/// Speed-ups of jobs. Each coflow is the shuffle of a job that spends the share φ of its time in
/// shuffle when the CCT is that of `base`, CCT₀: JCT = CCT₀/φ − CCT₀ + CCT. The shares are drawn
/// from the published classes (Philae, ATC 2019, §9.2).
pub fn speedups(base: &[f64], ccts: &[f64], seed: u64) -> Vec<f64> {
    let shares = shuffle_shares(base.len(), seed);
    let jobs = base.iter().zip(ccts).zip(shares);
    jobs.map(|((base, cct), share)| (base / share) / (base / share - base + cct)).collect()
}
