//! `covey status`: the state of a coordinator.

use std::path::PathBuf;

use clap::Args;

use crate::failure::Failure;
use crate::live::overview::{Amount, Order, Source, lines};
use crate::live::process::{self, CLIENTS, Shown};
use crate::live::recording::{recording, write};
use crate::live::settings::ONCE;
use crate::output;
use crate::quantity;

/// Show the coflows, agents and relays of a coordinator
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  covey status
  covey status --coordinator 10.0.0.1:7420 --credentials covey-client --json
  covey status --trace-out run.pftrace")]
pub struct Status {
    /// Address of the coordinator for clients
    #[arg(long, value_name = "ADDRESS", default_value = CLIENTS)]
    coordinator: String,
    #[command(flatten)]
    shown: Shown,
    /// Maximum number of coflows, of agents and of relays to list
    #[arg(long, value_name = "N", default_value_t = 20)]
    limit: usize,
    /// Also write what happened in the last five minutes as a trace for Perfetto's viewer,
    /// ui.perfetto.dev
    #[arg(long, value_name = "FILE.pftrace", help_heading = ONCE)]
    trace_out: Option<PathBuf>,
    /// Print one JSON object instead of text
    #[arg(long, help_heading = ONCE)]
    json: bool,
}

impl Status {
    /// Runs the command.
    pub fn run(self) -> Result<(), Failure> {
        let limit = quantity::within("--limit", self.limit, 1..=1000)?;
        if let Some(file) = &self.trace_out {
            output::check_format("--trace-out", file, &["pftrace", "perfetto-trace", "pb"])?;
        }
        let source = Source::of(&self.coordinator, self.shown)?;
        let runtime = process::runtime_here()?;
        let facts = runtime.block_on(source.ask(limit)).map_err(Failure::Other)?;
        if let Some(file) = &self.trace_out {
            let about = runtime.block_on(source.change("GET", "/v1/coordinator"))?;
            let found = runtime.block_on(recording(&source))?;
            if found.left_out > 0 {
                let left_out = found.left_out;
                output::note(&format!(
                    "--trace-out: {left_out} senders were too many to be recorded"
                ));
            }
            output::write(file, |out| write(&about, &found, out))?;
        }
        output::print(|out| {
            if self.json {
                return writeln!(out, "{}", facts.json());
            }
            let amount = Amount { coflows: limit, agents: limit, troubled_agents: false };
            lines(&facts, Order::Number, amount).iter().try_for_each(|line| writeln!(out, "{line}"))
        })
    }
}
