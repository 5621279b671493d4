//! Other simulators, as they behave.
//!
//! Published numbers come from simulators with habits of their own. Two of them are emulated here,
//! quirks included, so that a difference can be traced to the policy or to the simulator. The exact
//! simulator knows nothing of them.
//!
//! Both work in steps of 8 ms, admit coflows in bins of about ten seconds, and know only shuffles:
//! every mapper sends to every reducer, and the flows to a reducer are equal. [`EmulationError`]
//! names the first coflow of a workload that is anything else.

pub mod coflowsim;
mod emulation;
mod error;
pub mod philae_authors;
mod shuffle;

pub use emulation::{Emulation, EmulationSpecError, Simulator};
pub use error::EmulationError;
