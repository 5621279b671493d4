//! Which command is meant.

use clap::error::ErrorKind;
use clap::{Parser, Subcommand};

use crate::agent::Agent;
use crate::bound::Bound;
use crate::compare::Compare;
use crate::failure::Failure;
use crate::output;
use crate::policies::Policies;
use crate::reproduce::Reproduce;
use crate::serve::Serve;
use crate::simulate::Simulate;
use crate::status::Status;
use crate::testbed::{Part, Testbed};
use crate::trace::Trace;

/// Coflow scheduling: published policies in one exact simulator, and for real hosts
#[derive(Debug, Parser)]
#[command(
    name = "covey",
    version,
    after_help = "\
Examples:
  covey compare builtin:fb-like --report report.html
  covey simulate trace.txt --policy sebf --bound
  covey bound trace.txt
  covey reproduce swallow --figure 4
  covey trace info trace.txt
  covey serve --data covey-data --ports 16
  covey testbed builtin:fb-like --every 10
`covey COMMAND --help` tells more.

Exit status: 0 done; 2 the input or the arguments are wrong; 1 anything else."
)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Compare(Compare),
    Simulate(Simulate),
    Bound(Bound),
    Policies(Policies),
    Reproduce(Reproduce),
    Trace(Trace),
    Serve(Serve),
    Agent(Agent),
    Status(Status),
    Testbed(Testbed),
    /// A process of the testbed, which it starts itself
    #[command(hide = true, subcommand)]
    TestbedPart(Part),
}

/// Does what the arguments of the process say.
pub fn run() -> Result<(), Failure> {
    match Cli::try_parse() {
        Ok(Cli { command }) => match command {
            Command::Compare(compare) => compare.run(),
            Command::Simulate(simulate) => simulate.run(),
            Command::Bound(bound) => bound.run(),
            Command::Policies(policies) => policies.run(),
            Command::Reproduce(reproduce) => reproduce.run(),
            Command::Trace(trace) => trace.run(),
            Command::Serve(serve) => serve.run(),
            Command::Agent(agent) => agent.run(),
            Command::Status(status) => status.run(),
            Command::Testbed(testbed) => testbed.run(),
            Command::TestbedPart(part) => part.run(),
        },
        Err(help) if help.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
            Err(Failure::Usage(help.render().to_string()))
        }
        Err(help) if !help.use_stderr() => output::print(|out| write!(out, "{}", help.render())),
        Err(error) => Err(Failure::Input(in_one_line(&error))),
    }
}

/// What is wrong with the arguments. Of what clap says over many lines, the usage is left out.
fn in_one_line(error: &clap::Error) -> String {
    let text = error.render().to_string();
    let text = text.strip_prefix("error: ").unwrap_or(&text);
    let lines = text.lines().map(str::trim);
    let told = lines.filter(|line| !line.is_empty() && !line.starts_with("Usage:"));
    let told = told.collect::<Vec<_>>().join(" ");
    let told = told.replace(" tip: ", "; ").replace(" For more information, try ", "; try ");
    told.trim_end_matches('.').to_owned()
}
