//! The measurements of the pages in docs: runs the program `covey`, and prints Markdown.
//!
//! ```text
//! cargo xtask measure                                           lists the measurements
//! cargo xtask measure policies FB2010-1Hr-150-0.txt --update    writes one into its page
//! ```
//!
//! The environment variable COVEY names the program to measure; without it that is a release build.

mod input;
mod measure;
mod namespace;
mod page;
mod program;
mod results;
mod scratch;
mod table;
mod traffic;

use std::error::Error;
use std::process::ExitCode;

use clap::{CommandFactory, Parser, Subcommand};

use crate::measure::Measurement;
use crate::traffic::Traffic;

/// What can fail here: files, programs, and what they print.
type Result<T = (), E = Box<dyn Error>> = std::result::Result<T, E>;

/// Tasks of those who develop Covey
#[derive(Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask")]
struct Tasks {
    #[command(subcommand)]
    task: Task,
}

#[derive(Subcommand)]
enum Task {
    /// Measure what a page in docs shows; without a name, list the measurements
    #[command(
        disable_help_subcommand = true,
        subcommand_value_name = "NAME",
        subcommand_help_heading = "Measurements",
        after_help = "COVEY names the program to measure; without it that is a release build.\n\
                      `cargo xtask measure NAME --help` has the options of a measurement."
    )]
    Measure {
        #[command(subcommand)]
        what: Option<Measurement>,
    },
    /// Send or receive: a process that `measure attach` starts
    #[command(hide = true)]
    Traffic {
        #[command(subcommand)]
        what: Traffic,
    },
}

fn main() -> ExitCode {
    let done = match Tasks::parse().task {
        Task::Measure { what: None } => list(),
        Task::Measure { what: Some(what) } => {
            program::outlive_interrupts();
            what.run()
        }
        Task::Traffic { what } => what.run(),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Prints the names of the measurements.
fn list() -> Result {
    let mut tasks = Tasks::command();
    tasks.build();
    let measure = tasks.find_subcommand_mut("measure").ok_or("there is no measurement")?;
    Ok(measure.print_help()?)
}

#[cfg(test)]
mod tests {
    use clap::error::ErrorKind;

    use super::*;

    #[test]
    fn the_arguments_are_consistent() {
        Tasks::command().debug_assert();
    }

    #[test]
    fn a_wrong_name_is_refused_with_a_suggestion() {
        let wrong = Tasks::try_parse_from(["cargo xtask", "measure", "polices"]);
        let error = wrong.err().expect("an error");
        assert_eq!((error.kind(), error.exit_code()), (ErrorKind::InvalidSubcommand, 2));
        assert!(error.to_string().contains("'policies'"), "{error}");
    }
}
