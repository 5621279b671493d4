//! MADD: minimum allocation for desired duration (Varys, SIGCOMM 2014, §5.2).
//!
//! All flows of a coflow need end no earlier than the slowest. With Γ the largest, over links, of
//! bytes left over free capacity, rates of (bytes left) / Γ let all flows end together at Γ and
//! take the least that this needs.

/// 1 / Γ, for bytes `left` and capacity `free` at each link; 0 when a needed link has nothing free,
/// or nothing is left.
pub(super) fn inverse_gamma(left: &[f64], free: &[f64]) -> f64 {
    let least = left
        .iter()
        .zip(free)
        .filter(|(left, _)| **left > 0.0)
        .map(|(left, free)| free / left)
        .fold(f64::INFINITY, f64::min);
    if least.is_finite() { least } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_slowest_link_decides() {
        assert_eq!(inverse_gamma(&[3.0, 2.0, 0.0], &[1.0, 1.0, 0.0]), 1.0 / 3.0);
        assert_eq!(inverse_gamma(&[3.0, 2.0], &[1.0, 0.0]), 0.0);
        assert_eq!(inverse_gamma(&[0.0], &[1.0]), 0.0);
    }
}
