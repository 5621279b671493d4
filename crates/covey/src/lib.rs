//! The command line: parses arguments, calls the crates, prints.
//!
//! Each command is a module. Only results go to standard output. An error is one line on standard
//! error and an exit status: 2 if the user's input or arguments are wrong, 1 for any other error.
//!
//! The feature `live` has all but simulations: coordinator, agents, `attach` and the testbed. The
//! feature `pdf` has figures as PDF.

// The whole program uses it.
#![cfg_attr(not(feature = "live"), allow(dead_code, unused_imports))]

#[cfg(any(test, not(feature = "live")))]
mod absent;
mod bound;
mod cli;
mod compare;
mod comparison;
mod experiment;
mod explain;
mod failure;
mod identify;
mod input;
mod invocation;
#[cfg(feature = "live")]
mod live;
mod output;
#[cfg(feature = "pdf")]
mod pdf;
mod policies;
#[cfg_attr(target_family = "wasm", path = "progress_lines.rs")]
mod progress;
mod quantity;
mod report;
mod reproduce;
mod settings;
mod shell;
mod simulate;
mod study;
mod trace;
mod transform;
mod usage;
mod whatif;

use std::ffi::OsString;
use std::path::PathBuf;

/// Runs a command line in a process that does nothing else; returns the exit status. The first of
/// the arguments is the name of the program. `program` is the file that starts the command once
/// more: the testbed does so for each host.
#[must_use]
pub fn main(arguments: Vec<OsString>, program: PathBuf) -> u8 {
    failure::report_panics();
    invocation::remember(arguments.clone(), program);
    match cli::run(arguments) {
        Ok(()) => 0,
        Err(failure) => failure.report(),
    }
}
