//! What scheduling, another codec or a faster network would have saved, by replaying event logs of
//! applications.
//!
//! ```no_run
//! use covey_experiment::Silent;
//! use covey_whatif::Question;
//! let logs = covey_spark::read("spark-events".as_ref())?;
//! let whatif = Question::default().answer(&logs, &Silent)?;
//! println!("{}", whatif.answer);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod answer;
mod codec;
mod links;
mod model;
mod offsets;
mod replay;
mod schedule;
mod sentence;
mod sums;

pub use answer::Question;
pub use codec::codecs;
pub use model::{After, Fetch, Fetches, Job, Model, Stage, Task};
pub use offsets::Offsets;
pub use replay::{MAX_FLOWS, Overlap, Placed, Replayed, TOLERANCE_S, replay};
pub use schedule::Schedule;
