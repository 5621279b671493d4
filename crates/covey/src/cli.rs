//! The commands.

use std::ffi::OsString;

use clap::error::ErrorKind;
use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};

use crate::bound::Bound;
use crate::compare::Compare;
use crate::explain::Explain;
use crate::failure::Failure;
use crate::identify::Identify;
use crate::output;
use crate::policies::Policies;
use crate::report::Report;
use crate::reproduce::Reproduce;
use crate::shell::{Completions, Man};
use crate::simulate::Simulate;
use crate::study::Study;
use crate::trace::Trace;
use crate::usage;
use crate::whatif::WhatIf;

/// Coflow scheduling: published policies in one exact simulator, and for real hosts
#[derive(Debug, Parser)]
#[command(
    name = "covey",
    version = env!("COVEY_VERSION"),
    after_help = after_help()
)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Compare(Compare),
    Study(Study),
    Report(Report),
    Simulate(Simulate),
    Explain(Explain),
    Bound(Bound),
    Policies(Policies),
    Reproduce(Reproduce),
    Trace(Trace),
    Identify(Identify),
    #[command(name = "whatif")]
    WhatIf(WhatIf),
    Completions(Completions),
    Man(Man),
    #[cfg(feature = "live")]
    #[command(flatten)]
    Live(crate::live::Command),
}

/// The end of the help.
fn after_help() -> String {
    let (live, only) = if cfg!(feature = "live") {
        (
            "\n  covey serve --data covey-data --ports 16\n  covey testbed builtin:fb-like --every 10",
            "",
        )
    } else {
        (
            "",
            "\n\nThis build only simulates. The whole program: cargo build --release --package covey",
        )
    };
    format!(
        "\
Examples:
  covey compare builtin:fb-like --report report.html
  covey study experiment.toml
  covey simulate trace.txt --policy sebf --bound
  covey explain trace.txt --policy aalo --slowest 5
  covey bound trace.txt
  covey reproduce swallow --figure 4
  covey trace info trace.txt
  covey identify flows.csv --report groups.html
  covey whatif spark-events --offsets random:20{live}
`covey COMMAND --help` says more.

Exit status: 0 success; 2 wrong input or arguments; 1 any other error.{only}"
    )
}

/// Runs the command that the arguments name. The first one is the name of the program.
pub fn run(arguments: Vec<OsString>) -> Result<(), Failure> {
    let program = Cli::command();
    #[cfg(feature = "live")]
    let program = program.mut_subcommand("explain", |explain| {
        explain.mut_arg("trace", |trace| trace.required(false).required_unless_present("live"))
    });
    #[cfg(feature = "live")]
    return crate::live::with_settings(program, arguments, parse_and_run);
    #[cfg(not(feature = "live"))]
    parse_and_run(&program, &arguments)
}

fn parse_and_run(program: &clap::Command, arguments: &[OsString]) -> Result<(), Failure> {
    let parsed = program.clone().try_get_matches_from(arguments);
    match parsed.and_then(|matches| Cli::from_arg_matches(&matches)) {
        Ok(Cli { command }) => command.run(program),
        Err(help) if help.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
            Err(Failure::Usage(help.render().to_string()))
        }
        Err(help) if !help.use_stderr() => output::print(|out| write!(out, "{}", help.render())),
        Err(error) => Err(Failure::Input(usage::of(&error, program, arguments))),
    }
}

impl Command {
    /// Runs the command, which is one of `program`.
    fn run(self, program: &clap::Command) -> Result<(), Failure> {
        match self {
            Command::Compare(compare) => compare.run(),
            Command::Study(study) => study.run(program),
            Command::Report(report) => report.run(),
            Command::Simulate(simulate) => simulate.run(),
            Command::Explain(explain) => explain.run(),
            Command::Bound(bound) => bound.run(),
            Command::Policies(policies) => policies.run(),
            Command::Reproduce(reproduce) => reproduce.run(),
            Command::Trace(trace) => trace.run(),
            Command::Identify(identify) => identify.run(),
            Command::WhatIf(whatif) => whatif.run(),
            Command::Completions(completions) => completions.run(program),
            Command::Man(man) => man.run(program),
            #[cfg(feature = "live")]
            Command::Live(live) => live.run(program),
        }
    }
}
