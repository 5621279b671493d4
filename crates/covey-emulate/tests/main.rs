//! The emulated simulators: against the programs' own numbers, and against a slow version.
//!
//! One program, because each test program takes seconds to compile and link.

mod coflowsim;
mod common;
mod naive;
mod philae_authors;
