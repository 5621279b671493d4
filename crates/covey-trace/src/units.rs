//! The unit of traces and papers.

/// Bytes of a "MB" in traces and papers.
pub const MB: f64 = 1_048_576.0;
