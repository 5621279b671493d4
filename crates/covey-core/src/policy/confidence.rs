//! How far a policy trusts the groups that it has made.

/// How far a policy that finds coflows by itself can tell them apart.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Confidence {
    /// From 0 to 1.
    pub value: f64,
    /// With less, the policy takes all flows for one coflow.
    pub least: f64,
}

impl Confidence {
    /// Whether the policy schedules by what it has found.
    pub fn is_enough(&self) -> bool {
        self.value >= self.least
    }
}
