//! Other simulators, as they behave.
//!
//! Both work in steps of 8 ms, admit coflows in bins of about ten seconds, and know only shuffles:
//! every mapper sends to every reducer, and the flows to a reducer are equal. What they know of
//! nothing else, a workload must not have; [`EmulationError`] names the coflow that does.

pub mod coflowsim;
mod emulation;
mod error;
pub mod philae_authors;
mod shuffle;

pub use emulation::{Emulation, EmulationSpecError, Simulator};
pub use error::EmulationError;
