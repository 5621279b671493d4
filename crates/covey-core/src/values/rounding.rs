//! Bytes without what rounding leaves.
//!
//! Bytes are rounded whenever they are written down because a rate changes: to a multiple of a
//! power of two that the flow sends in less than 8e-12 s. Whole bytes stay whole at any rate below
//! 137 GB/s.
//!
//! The reason: what a flow has sent between two events is the product of two rounded numbers. Where
//! flows take turns, such errors double from turn to turn. A flow that began 1e-13 s early and was
//! stopped in time has sent a little too much, ends twice as early, and so on. In the end, flows
//! that should end together are more than [`Time::RESOLUTION_S`](crate::Time::RESOLUTION_S) apart,
//! and other flows take what they leave.

/// The unit to which bytes are rounded, as a part of what is sent in a second: 2^-37.
const UNIT: f64 = 1.0 / (1_u64 << 37) as f64;

/// Rounds `bytes` to the nearest multiple of the unit for `rate` bytes per second.
pub fn rounded_bytes(bytes: f64, rate: f64) -> f64 {
    // No link is as fast as this: a level above it limits no flow.
    const MAX_RATE: f64 = 1e18;
    let is_rate = rate > 0.0 && rate < MAX_RATE;
    if !is_rate {
        return bytes;
    }
    // The rate without its fraction: the power of two below it.
    let power = f64::from_bits(rate.to_bits() & 0x7ff0_0000_0000_0000);
    let unit = power * UNIT;
    (bytes / unit).round_ties_even() * unit
}

#[cfg(test)]
mod tests {
    use super::rounded_bytes;

    #[test]
    fn whole_bytes_stay_whole() {
        for rate in [1.0, 125e6, 125e6 / 3.0, 100e9] {
            for bytes in [0.0, 1.0, 1_048_576.0, 3e12] {
                assert_eq!(rounded_bytes(bytes * (1.0 + 1e-16) + 1e-16, rate), bytes);
            }
        }
    }

    #[test]
    fn errors_below_the_unit_go() {
        assert_eq!(rounded_bytes(1_048_576.000_01, 125e6), 1_048_576.0);
        assert_ne!(rounded_bytes(1_048_576.001, 125e6), 1_048_576.0);
        for none in [0.0, 1e300, f64::INFINITY, f64::NAN] {
            assert_eq!(rounded_bytes(0.3, none), 0.3);
        }
    }
}
