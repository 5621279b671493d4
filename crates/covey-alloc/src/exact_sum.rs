//! Sums of terms that come and go.

/// A sum, with what rounding loses beside it (Knuth's two-sum), so that a byte is still exact
/// after terabytes have been added and taken away.
#[derive(Debug, Clone, Copy, Default)]
pub struct ExactSum {
    rounded: f64,
    lost: f64,
}

impl ExactSum {
    /// Adds a term, which may be negative.
    pub fn add(&mut self, term: f64) {
        let before = self.rounded;
        self.rounded += term;
        let added = self.rounded - before;
        self.lost += (before - (self.rounded - added)) + (term - added);
    }

    /// The sum.
    pub fn value(&self) -> f64 {
        self.rounded + self.lost
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_terabytes_leave_behind_is_exact() {
        let mut sum = ExactSum::default();
        let large = [1e12 / 3.0, 7e13 / 11.0, 1e15 / 7.0];
        large.iter().for_each(|&size| sum.add(size));
        sum.add(0.1);
        large.iter().for_each(|&size| sum.add(-size));
        assert!((sum.value() / 0.1 - 1.0).abs() < 1e-12, "{}", sum.value());
    }
}
