//! The command line: parses arguments, calls the crates, prints.
//!
//! One module is one command. Nothing but results goes to standard output; what went wrong is one
//! line on standard error and the exit status: 2 where the user's input or arguments are wrong, 1
//! for anything else.

mod agent;
mod bound;
mod cli;
mod compare;
mod experiment;
mod failure;
mod journal;
mod live;
mod output;
mod policies;
mod progress;
mod quantity;
mod reproduce;
mod serve;
mod simulate;
mod status;
mod testbed;
mod trace;
mod transform;
mod usage;

use std::process::ExitCode;

fn main() -> ExitCode {
    failure::report_panics();
    match cli::run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => failure.report(),
    }
}
