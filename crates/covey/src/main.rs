//! The command line: parses arguments, calls the crates, prints.
//!
//! Each command is a module. Only results go to standard output. An error is one line on standard
//! error and an exit status: 2 if the user's input or arguments are wrong, 1 for any other error.

mod agent;
mod attach;
mod bound;
mod certs;
mod cli;
mod compare;
mod comparison;
mod config;
mod doors;
mod experiment;
mod failure;
mod identify;
mod journal;
mod live;
mod output;
mod overview;
mod policies;
mod progress;
mod quantity;
mod relay;
mod reproduce;
mod screen;
mod serve;
mod settings;
mod simulate;
mod status;
mod testbed;
mod token;
mod top;
mod trace;
mod transform;
mod usage;
mod watcher;

use std::process::ExitCode;

fn main() -> ExitCode {
    failure::report_panics();
    match cli::run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => failure.report(),
    }
}
