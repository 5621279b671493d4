//! `covey drain`: takes a host out of service without stopping a flow.

use std::time::Duration;

use clap::Args;
use covey_api::DrainStatus;

use crate::failure::Failure;
use crate::live::overview::Source;
use crate::live::process::{self, CLIENTS, Shown};
use crate::output;

/// Give a host no new flows, and wait until its last one has ended
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  covey drain 3
  covey drain 3 --no-wait
  covey drain 3 --undo
The coordinator refuses registrations and changes with flows from or to the port, also after it was started again.
The token must have the right operate.")]
pub struct Drain {
    /// The host's port
    port: u32,
    /// Give it new flows again
    #[arg(long, conflicts_with = "no_wait")]
    undo: bool,
    /// Do not wait
    #[arg(long)]
    no_wait: bool,
    /// Address of the coordinator for clients
    #[arg(long, value_name = "ADDRESS", default_value = CLIENTS)]
    coordinator: String,
    #[command(flatten)]
    shown: Shown,
}

/// Time between two looks.
const LOOK_EVERY: Duration = Duration::from_millis(500);

impl Drain {
    /// Runs the command.
    pub fn run(self) -> Result<(), Failure> {
        let Drain { port, undo, no_wait, coordinator, shown } = self;
        let source = Source::of(&coordinator, shown)?;
        let path = format!("/v1/admin/ports/{port}/drain");
        process::runtime_here()?.block_on(async {
            let mut status: DrainStatus =
                source.change(if undo { "DELETE" } else { "PUT" }, &path).await?;
            if undo {
                return output::print(|out| writeln!(out, "port {port} may get new flows"));
            }
            let mut told = None;
            loop {
                let left = (status.flows, status.coflows);
                if told.replace(left) != Some(left) {
                    output::print(|out| {
                        writeln!(out, "{}", tell(&status))?;
                        out.flush()
                    })?;
                }
                if no_wait || status.flows == 0 {
                    return Ok(());
                }
                tokio::time::sleep(LOOK_EVERY).await;
                status = source.change("GET", &path).await?;
                if !status.draining {
                    let text = format!("port {port} gets new flows again: somebody has undone it");
                    return Err(Failure::Other(text));
                }
            }
        })
    }
}

fn tell(status: &DrainStatus) -> String {
    let DrainStatus { port, coflows, flows, .. } = status;
    match flows {
        0 => format!("port {port} has no flows: its host can be stopped"),
        _ => format!("port {port} gets no new flows; {flows} of {coflows} coflows have not ended"),
    }
}
