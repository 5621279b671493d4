//! What FVDF amounts to in the public code that the paper's CCTs come from.
//!
//! It is CoflowSim with SEBF's order, where in a share p of the quanta, drawn at random, a flow
//! drains m times as fast. With ports of B, a compressor of R = 625 MB/s and ξ = 0.48 (not those of
//! the paper's LZ4), and a "processor is idle" that is true for 171 of 200 numbers,
//!
//! ```text
//! gain = p m + 1 - p      α = R / B      m = α / (1 + α ξ), or 1 where B ≥ R (1 - ξ)
//! ```
//!
//! So all gains in CCT are one constant multiplier of the rate; the order of coflows is SEBF's.

/// The share of quanta in which the processor is idle.
const IDLE: f64 = 1.0 - 29.0 / 200.0;
/// Bytes a second that are compressed.
const SPEED: f64 = 625e6;
/// Their ratio.
const RATIO: f64 = 0.48;

/// The gain over SEBF with ports of so many bytes a second.
pub(super) fn gain(bandwidth: f64) -> f64 {
    if bandwidth >= SPEED * (1.0 - RATIO) {
        return 1.0;
    }
    let alpha = SPEED / bandwidth;
    let faster = alpha / (1.0 + alpha * RATIO);
    IDLE * faster + 1.0 - IDLE
}

#[cfg(test)]
mod tests {
    use super::gain;

    #[test]
    fn the_published_gains() {
        let gains = [12.5e6, 62.5e6, 125e6, 1250e6].map(|b| (gain(b) * 1e3).round() / 1e3);
        assert_eq!(gains, [1.855, 1.619, 1.402, 1.0]);
    }
}
