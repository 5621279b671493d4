//! An exact, event-driven fluid simulator of coflows.

pub mod bound;
mod outcome;

pub use outcome::{CoflowOutcome, Outcome};
