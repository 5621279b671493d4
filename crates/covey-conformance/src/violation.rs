//! How policies break rules.

/// A rule that a policy breaks, and how that shows.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Violation(pub String);
