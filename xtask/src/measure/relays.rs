//! What many agents behind relays cost, each relay in a process of its own. Agents say something
//! every 4 s: with 1 s, two cores are busy with heartbeats alone.

use clap::Args;

use crate::Result;
use crate::measure::coordinator::{AGENTS, Load, PUSH};
use crate::table::Table;

/// Load a coordinator with many agents behind relays
#[derive(Args)]
pub struct Arguments {
    /// Their number. A process needs a file for each of its agents: a relay's number of agents must
    /// be below `ulimit -n`
    #[arg(long, default_value_t = 40_000)]
    agents: u32,
    /// The number of relays
    #[arg(long, default_value_t = 3)]
    relays: u32,
}

impl Arguments {
    /// Makes the measurement.
    pub fn run(self) -> Result {
        let load = Load::new()?;
        let Self { agents, relays } = self;
        let crowd = format!("--agents {agents} --relays {relays}");
        let of_relays = ["relays", "memory there", "CPU there, %"];
        print!("{}", Table::new(0, AGENTS.into_iter().chain(of_relays)));
        load.run(&format!("agents {crowd} --heartbeat-s 4"))?;
        load.run(&format!("agents {crowd} --heartbeat-s 4 --tls"))?;
        let changed = agents / 20;
        print!("\n{}", Table::new(0, PUSH));
        load.run(&format!("push {crowd} --changed {changed}"))?;
        load.run(&format!("push {crowd} --changed {changed} --tls"))
    }
}
