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
