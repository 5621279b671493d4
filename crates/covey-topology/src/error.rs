//! Errors of networks, each in one line.

use covey_trace::TraceError;

/// Why a text names no network.
#[derive(Debug, thiserror::Error)]
pub enum TopologyError {
    /// The text is invalid. The message says what was expected and found, but not in which
    /// argument.
    #[error("{0}")]
    Spec(String),
    /// The topology file cannot be read or is invalid. The message names file, line and field.
    #[error(transparent)]
    File(#[from] TraceError),
}

impl TopologyError {
    /// The error for `found` in place of `expected`.
    pub(crate) fn expected(
        field: &str,
        expected: impl std::fmt::Display,
        found: impl std::fmt::Display,
    ) -> TopologyError {
        TopologyError::Spec(format!("{field}: expected {expected}, found {found}"))
    }
}
