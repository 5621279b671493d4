//! The commands.

use clap::error::ErrorKind;
use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};

use crate::agent::Agent;
use crate::attach::{Attach, Detach};
use crate::bound::Bound;
use crate::certs::Certs;
use crate::compare::Compare;
use crate::config::Config;
use crate::failure::Failure;
use crate::identify::Identify;
use crate::journal::Journal;
use crate::output;
use crate::policies::Policies;
use crate::relay::Relay;
use crate::reproduce::Reproduce;
use crate::serve::Serve;
use crate::settings;
use crate::simulate::Simulate;
use crate::status::Status;
use crate::testbed::{Process, Testbed};
use crate::token::Token;
use crate::top::Top;
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
    Top(Top),
    Config(Config),
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
    let program = settings::with_config_option(Cli::command());
    let completed = settings::complete(&program, std::env::args_os().collect())?;
    let parsed = program.clone().try_get_matches_from(&completed.arguments);
    match parsed.and_then(|matches| Cli::from_arg_matches(&matches)) {
        Ok(Cli { command }) => command.run(&program).map_err(|failure| completed.locate(failure)),
        Err(help) if help.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
            Err(Failure::Usage(help.render().to_string()))
        }
        Err(help) if !help.use_stderr() => output::print(|out| write!(out, "{}", help.render())),
        Err(error) => {
            let arguments = completed.arguments.iter().skip(1);
            let arguments: Vec<_> = arguments.map(|it| it.to_string_lossy().into_owned()).collect();
            let message = usage::in_one_line(&error, &program, &arguments);
            Err(completed.locate(Failure::Input(message)))
        }
    }
}

impl Command {
    /// Runs the command, which is one of `program`.
    fn run(self, program: &clap::Command) -> Result<(), Failure> {
        match self {
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
            Command::Top(top) => top.run(),
            Command::Config(config) => config.run(program),
            Command::Certs(certs) => certs.run(),
            Command::Token(token) => token.run(),
            Command::Journal(journal) => journal.run(),
            Command::Testbed(testbed) => testbed.run(),
            Command::TestbedPart(process) => process.run(),
        }
    }
}
