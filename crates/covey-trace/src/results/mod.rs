//! What became of a workload: what a simulation or a replay found, as reports read it.

mod bounds;
mod explanation;
mod outcome;
mod over_time;

pub use bounds::Bounds;
pub use explanation::{Explanation, Kind, Part, Reason};
pub use outcome::{CoflowOutcome, CompressionOutcome, Outcome};
pub use over_time::{QueueLengths, Span};
