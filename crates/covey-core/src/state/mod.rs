//! The facts about the coflows that are present, kept by whatever drives a policy.
//!
//! A driver registers coflows, starts and finishes their flows, and writes down what has been sent.
//! Policies never see [`State`]: they get a [`View`](crate::View) of it, which grants what they may
//! know.

mod attempts;
mod coflow;
mod coflows;
mod dirty;
mod domains;
pub mod lineage;
mod observed;
mod part;
mod remaining;

pub use attempts::Attempts;
pub use coflow::{CoflowState, FlowSpec, Newcomer, Progress, Registration};
pub use coflows::State;
pub use observed::{Address, Observed};
pub use part::Part;
pub use remaining::Remaining;
