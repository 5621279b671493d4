//! `covey status`: the state of a coordinator.

use clap::Args;

use crate::failure::Failure;
use crate::live::overview::{Amount, Order, Source, lines};
use crate::live::process::{self, CLIENTS, Shown};
use crate::live::settings::ONCE;
use crate::output;
use crate::quantity;

/// Show the coflows, agents and relays of a coordinator
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  covey status
  covey status --coordinator 10.0.0.1:7420 --credentials covey-client --json")]
pub struct Status {
    /// Address of the coordinator for clients
    #[arg(long, value_name = "ADDRESS", default_value = CLIENTS)]
    coordinator: String,
    #[command(flatten)]
    shown: Shown,
    /// Maximum number of coflows, of agents and of relays to list
    #[arg(long, value_name = "N", default_value_t = 20)]
    limit: usize,
    /// Print one JSON object instead of text
    #[arg(long, help_heading = ONCE)]
    json: bool,
}

impl Status {
    /// Runs the command.
    pub fn run(self) -> Result<(), Failure> {
        let limit = quantity::within("--limit", self.limit, 1..=1000)?;
        let source = Source::of(&self.coordinator, self.shown)?;
        let facts = process::runtime_here()?.block_on(source.ask(limit)).map_err(Failure::Other)?;
        output::print(|out| {
            if self.json {
                return writeln!(out, "{}", facts.json());
            }
            let amount = Amount { coflows: limit, agents: limit, troubled_agents: false };
            lines(&facts, Order::Number, amount).iter().try_for_each(|line| writeln!(out, "{line}"))
        })
    }
}
