//! What a flow counts for where links are shared among all flows.

/// What a flow counts for at its links.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Measure {
    /// Every flow counts the same: max-min fairness.
    #[default]
    Number,
    /// A flow counts for its size: each link is divided in proportion, and what a flow cannot use
    /// is left idle.
    Size,
}

impl Measure {
    /// What a flow of `size` bytes counts for, and so what its rate is at a level of 1.
    pub fn of(self, size: f64) -> f64 {
        match self {
            Measure::Number => 1.0,
            Measure::Size => size,
        }
    }
}
