//! Violations of rules.

/// A rule that a policy breaks, with the evidence.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Violation(pub String);
