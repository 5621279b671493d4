//! The commands of the live system and of the testbed: the feature `live`.

mod agent;
mod attach;
mod certs;
mod config;
mod doors;
mod drain;
mod explain;
mod journal;
mod log_limit;
mod measured;
mod overview;
mod process;
mod recording;
mod relay;
mod screen;
mod serve;
mod settings;
mod status;
mod testbed;
mod token;
mod top;
mod watcher;

use clap::Subcommand;

use self::agent::Agent;
use self::attach::{Attach, Detach};
use self::certs::Certs;
use self::config::Config;
use self::drain::Drain;
pub use self::explain::Live;
use self::journal::Journal;
use self::relay::Relay;
use self::serve::Serve;
pub use self::settings::with_settings;
use self::status::Status;
use self::testbed::{Process, Testbed};
use self::token::Token;
use self::top::Top;
use crate::failure::Failure;

/// A command of the live system.
#[derive(Debug, Subcommand)]
pub enum Command {
    Serve(Box<Serve>),
    Agent(Agent),
    Attach(Attach),
    Detach(Detach),
    Relay(Relay),
    Status(Status),
    Top(Top),
    Drain(Drain),
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

impl Command {
    /// Runs the command, which is one of `program`.
    pub fn run(self, program: &clap::Command) -> Result<(), Failure> {
        match self {
            Command::Serve(serve) => serve.run(program),
            Command::Agent(agent) => agent.run(),
            Command::Attach(attach) => attach.run(),
            Command::Detach(detach) => detach.run(),
            Command::Relay(relay) => relay.run(),
            Command::Status(status) => status.run(),
            Command::Top(top) => top.run(),
            Command::Drain(drain) => drain.run(),
            Command::Config(config) => config.run(program),
            Command::Certs(certs) => certs.run(),
            Command::Token(token) => token.run(),
            Command::Journal(journal) => journal.run(),
            Command::Testbed(testbed) => testbed.run(),
            Command::TestbedPart(process) => process.run(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Command;
    use crate::absent::COMMANDS;

    #[test]
    fn a_build_without_these_commands_knows_their_names() {
        let all = <Command as clap::Subcommand>::augment_subcommands(clap::Command::new("covey"));
        let shown = all.get_subcommands().filter(|it| !it.is_hide_set());
        assert!(shown.map(clap::Command::get_name).eq(COMMANDS));
    }
}
