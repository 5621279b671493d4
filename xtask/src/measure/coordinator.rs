//! What clients, agents and the replay of a trace cost a coordinator in a process of its own. An
//! example of covey-load makes the load and prints the rows.

use std::path::PathBuf;
use std::process::Command;

use clap::Args;

use crate::Result;
use crate::input::Trace;
use crate::program::{Covey, example, open_many_files, run, top};
use crate::table::Table;

/// The columns of agents that join, stay and are told of schedules.
pub const AGENTS: [&str; 9] = [
    "agents",
    "transport",
    "memory each, joined",
    "after the load",
    "lost",
    "decision p99, ms",
    "push p99, ms",
    "CPU, %",
    "time",
];
/// The columns of schedules that are sent to many agents at a time.
pub const PUSH: [&str; 8] = [
    "agents",
    "transport",
    "changed",
    "pushes",
    "decision thread median, ms",
    "most, ms",
    "whole process median, ms",
    "most, ms",
];

/// Load a coordinator with clients and agents; with a trace from a file, replay that, too
#[derive(Args)]
pub struct Arguments {
    #[command(flatten)]
    trace: Trace,
    /// The length of the replayed part in seconds, which takes three times as long
    #[arg(long, env = "LIVE_SECONDS", default_value_t = 600)]
    seconds: u32,
}

impl Arguments {
    /// Makes the measurement.
    pub fn run(self) -> Result {
        let load = Load::new()?;
        print!(
            "{}",
            Table::new(0, ["clients", "durable registrations", "steady", "median", "p99"])
        );
        load.run("register")?;
        let columns = [
            "policy",
            "present",
            "ports",
            "resident",
            "registrations",
            "DELETE median",
            "p99",
            "decision p99",
            "answer median",
            "p99",
        ];
        print!("\n{}", Table::new(1, columns));
        for policy in ["fifo", "sebf", "aalo", "covey", "philae"] {
            load.run(&format!("many --policy {policy}"))?;
        }
        print!("\n{}", Table::new(0, AGENTS));
        load.run("agents")?;
        load.run("agents --tls")?;
        println!(
            "\nThe same with 10,000 coflows that are present, without and with ten who look at the page:\n"
        );
        print!("{}", Table::new(0, AGENTS));
        load.run("agents --agents 1000 --present 10000")?;
        load.run("agents --agents 1000 --present 10000 --viewers 10")?;
        print!("\n{}", Table::new(0, PUSH));
        load.run("push")?;
        load.run("push --tls")?;
        if self.trace.is_generated() {
            return Ok(());
        }
        println!();
        let seconds = self.seconds.to_string();
        let words = ["reproduce", "philae", "--live", "--table", "6", "--seconds", &seconds];
        run(load.covey.command(words).args(["--trace", &self.trace.path]))
    }
}

/// The example that loads a coordinator.
pub struct Load {
    program: PathBuf,
    covey: Covey,
}

impl Load {
    /// Builds both programs, and lets them have many connections.
    pub fn new() -> Result<Self> {
        let program = example("covey-load", "live_load")?;
        open_many_files()?;
        Ok(Self { program, covey: Covey::find()? })
    }

    /// Prints the rows of a kind of load, with its options. The coordinator's journal is on the
    /// disk of the checkout.
    pub fn run(&self, words: &str) -> Result {
        let mut command = Command::new(&self.program);
        command.arg("--covey").arg(&self.covey.path).args(words.split(' '));
        run(command.current_dir(top()))
    }
}
