//! Workloads: flows of coflows, with bytes, start times and ports.
//!
//! A [`Workload`] is plain data. Readers make one from a trace file, generators from a seed;
//! the simulator and the statistics read it. What became of one is in [`results`].

mod anonymise;
mod availability;
mod builtin;
mod cluster;
mod error;
pub mod java_random;
mod json;
pub mod limits;
mod merge;
mod moment;
pub mod observe;
mod open;
mod random;
mod read;
pub mod records;
pub mod results;
mod shares;
pub mod stats;
pub mod text;
mod texts;
pub mod transform;
mod units;
mod workload;

pub use availability::{Availability, Change};
pub use builtin::builtin;
pub use cluster::{ClusterEvent, FlowOf, Happening, Part};
pub use error::{TraceError, is_printable};
pub use moment::{Moment, OnClock};
pub use open::{
    Source, flows_in, open, open_noting, read, read_noting, read_path, read_path_noting,
};
pub use read::json_lines::write;
pub use shares::shuffle_shares;
pub use stats::Stats;
pub use units::MB;
pub use workload::{Attempt, Coflow, Compressible, Flow, Restart, Workload};
