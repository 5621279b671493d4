//! MADD: minimum allocation for desired duration (Varys, SIGCOMM 2014, §5.2).
//!
//! All flows of a coflow need end no earlier than the slowest. With Γ the largest, over links, of
//! bytes left over free capacity, rates of (bytes left) / Γ let all flows end together at Γ and
//! take the least that this needs.

/// Least of `free / left` over the links where something is left; 0 when one of them has nothing
/// free, or nothing is left anywhere. With `left` in bytes this is 1 / Γ.
pub(super) fn least_ratio(free: &[f64], left: &[f64]) -> f64 {
    const LANES: usize = 8;
    let lesser = |a: f64, b: f64| if a < b { a } else { b };
    let ratio = |free: f64, left: f64| if left > 0.0 { free / left } else { f64::INFINITY };
    // A form that compiles to vector instructions.
    let mut least = [f64::INFINITY; LANES];
    let (frees, lefts) = (free.chunks_exact(LANES), left.chunks_exact(LANES));
    for (k, (free, left)) in frees.remainder().iter().zip(lefts.remainder()).enumerate() {
        least[k] = ratio(*free, *left);
    }
    for (free, left) in frees.zip(lefts) {
        for k in 0..LANES {
            least[k] = lesser(ratio(free[k], left[k]), least[k]);
        }
    }
    let least = least.into_iter().fold(f64::INFINITY, lesser);
    if least.is_finite() { least } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_slowest_link_decides() {
        assert_eq!(least_ratio(&[1.0, 1.0, 0.0], &[3.0, 2.0, 0.0]), 1.0 / 3.0);
        assert_eq!(least_ratio(&[1.0, 0.0], &[3.0, 2.0]), 0.0);
        assert_eq!(least_ratio(&[1.0], &[0.0]), 0.0);
    }
}
