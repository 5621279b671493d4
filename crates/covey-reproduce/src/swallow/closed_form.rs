//! A closed form of FVDF's gain in the public code that produced the paper's CCTs.
//!
//! The code is CoflowSim with SEBF's order. In a share p of the quanta, drawn at random, a flow
//! drains m times as fast. Ports have bandwidth B. The compressor has R = 625 MB/s and ξ = 0.48,
//! which are not those of the paper's LZ4. The test "processor is idle" is true for 171 of 200
//! random numbers. The gain is
//!
//! ```text
//! gain = p m + 1 - p      α = R / B      m = α / (1 + α ξ), or 1 where B ≥ R (1 - ξ)
//! ```
//!
//! All gains in CCT are thus one constant factor on every rate; the order of coflows is SEBF's.

/// The share p of quanta in which the processor is idle.
const IDLE: f64 = 1.0 - 29.0 / 200.0;
/// The speed R of the compressor in bytes per second.
const SPEED: f64 = 625e6;
/// The compressor's ratio ξ.
const RATIO: f64 = 0.48;

/// The gain over SEBF with ports of `bandwidth` bytes per second.
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
