//! Verdicts on the papers, and the simulators that are emulated.
//!
//! One program, since each takes seconds to compile and link.

mod coflowsim;
mod common;
mod naive;
mod philae_authors;
mod verdicts;
