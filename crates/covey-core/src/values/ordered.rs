//! Numbers as keys.

use std::cmp::Ordering;

/// A number in the total order of floating-point numbers, so that types with such fields can derive
/// their order.
#[derive(Debug, Clone, Copy)]
pub struct Ordered(pub f64);

impl Ord for Ordered {
    #[inline]
    fn cmp(&self, other: &Ordered) -> Ordering {
        self.0.total_cmp(&other.0)
    }
}

impl PartialOrd for Ordered {
    #[inline]
    fn partial_cmp(&self, other: &Ordered) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Ordered {
    fn eq(&self, other: &Ordered) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Ordered {}

/// A whole number that grows with the float. Both zeros have the same number.
pub fn in_order(key: f64) -> u64 {
    const SIGN: u64 = 1 << 63;
    // Both zeros become the same number.
    let bits = (key + 0.0).to_bits();
    if bits & SIGN == 0 { bits | SIGN } else { !bits }
}
