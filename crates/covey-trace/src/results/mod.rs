//! What became of a workload: what a simulation or a replay found, as reports read it.

mod bounds;
mod explanation;
mod outcome;

pub use bounds::Bounds;
pub use explanation::{Explanation, Kind, Part, Reason};
pub use outcome::{CoflowOutcome, CompressionOutcome, Outcome};
