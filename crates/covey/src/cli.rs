//! The commands.

use clap::error::ErrorKind;
use clap::{CommandFactory, Parser, Subcommand};

use crate::agent::Agent;
use crate::attach::{Attach, Detach};
use crate::bound::Bound;
use crate::certs::Certs;
use crate::compare::Compare;
use crate::failure::Failure;
use crate::identify::Identify;
use crate::journal::Journal;
use crate::output;
use crate::policies::Policies;
use crate::relay::Relay;
use crate::reproduce::Reproduce;
use crate::serve::Serve;
use crate::simulate::Simulate;
use crate::status::Status;
use crate::testbed::{Process, Testbed};
use crate::token::Token;
use crate::trace::Trace;
use crate::usage;

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
  covey identify flows.csv --report groups.html
  covey serve --data covey-data --ports 16
  covey testbed builtin:fb-like --every 10
`covey COMMAND --help` says more.

Exit status: 0 success; 2 wrong input or arguments; 1 any other error."
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
    Identify(Identify),
    Serve(Box<Serve>),
    Agent(Agent),
    Attach(Attach),
    Detach(Detach),
    Relay(Relay),
    Status(Status),
    Certs(Certs),
    Token(Token),
    #[command(subcommand)]
    Journal(Journal),
    Testbed(Testbed),
    /// A process that the testbed starts
    #[command(hide = true, subcommand)]
    TestbedPart(Process),
}

/// Runs the command that the arguments of the process name.
pub fn run() -> Result<(), Failure> {
    match Cli::try_parse() {
        Ok(Cli { command }) => match command {
            Command::Compare(compare) => compare.run(),
            Command::Simulate(simulate) => simulate.run(),
            Command::Bound(bound) => bound.run(),
            Command::Policies(policies) => policies.run(),
            Command::Reproduce(reproduce) => reproduce.run(),
            Command::Trace(trace) => trace.run(),
            Command::Identify(identify) => identify.run(),
            Command::Serve(serve) => serve.run(),
            Command::Agent(agent) => agent.run(),
            Command::Attach(attach) => attach.run(),
            Command::Detach(detach) => detach.run(),
            Command::Relay(relay) => relay.run(),
            Command::Status(status) => status.run(),
            Command::Certs(certs) => certs.run(),
            Command::Token(token) => token.run(),
            Command::Journal(journal) => journal.run(),
            Command::Testbed(testbed) => testbed.run(),
            Command::TestbedPart(process) => process.run(),
        },
        Err(help) if help.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
            Err(Failure::Usage(help.render().to_string()))
        }
        Err(help) if !help.use_stderr() => output::print(|out| write!(out, "{}", help.render())),
        Err(error) => {
            let arguments = std::env::args_os().skip(1);
            let arguments: Vec<_> = arguments.map(|it| it.to_string_lossy().into_owned()).collect();
            Err(Failure::Input(usage::in_one_line(&error, &Cli::command(), &arguments)))
        }
    }
}
