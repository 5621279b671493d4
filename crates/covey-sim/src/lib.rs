//! An exact, event-driven fluid simulator of coflows.

pub mod bound;
mod calendar;
mod crowd;
mod dags;
mod engine;
mod error;
mod fluid;
mod levels;
mod line;
mod meters;
mod outcome;
mod processors;
mod timeline;

pub use engine::{Observer, Simulator, simulate};
pub use error::SimError;
pub use outcome::{CoflowOutcome, CompressionOutcome, Outcome};
pub use timeline::{Span, Timeline};
