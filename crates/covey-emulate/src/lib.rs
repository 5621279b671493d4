//! Emulations of other simulators.
//!
//! Published numbers come from simulators with quirks of their own. This crate emulates two of
//! them, with their quirks. So a difference can be traced to the policy or to the simulator. The
//! exact simulator does not depend on this crate.
//!
//! Both work in steps of 8 ms, admit coflows in bins of about ten seconds, and know only shuffles:
//! every mapper sends to every reducer, and the flows to a reducer are equal. [`EmulationError`]
//! names the first coflow of a workload that is not such a shuffle.

pub mod coflowsim;
mod emulation;
mod error;
pub mod philae_authors;
mod shuffle;

pub use emulation::{Emulation, EmulationSpecError, Simulator};
pub use error::EmulationError;
