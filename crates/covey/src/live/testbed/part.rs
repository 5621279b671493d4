//! `covey testbed-part`: the processes of a testbed.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::Subcommand;
use covey_testbed::{Host, Scheduling};

use crate::failure::Failure;
use crate::live::process;
use crate::live::watcher::Watcher;

/// A process of the testbed.
#[derive(Debug, Subcommand)]
pub enum Process {
    /// One host
    Host {
        /// Its port in the trace
        #[arg(long)]
        host: u32,
        /// Address at which it accepts flows
        #[arg(long)]
        listen: SocketAddr,
        /// The folded trace
        #[arg(long)]
        trace: PathBuf,
        /// Compressed size of the flows' bytes as a share of their size
        #[arg(long, default_value_t = 1.0)]
        ratio: f64,
        /// The agent's socket
        #[arg(long, requires_all = ["coordinator", "credentials"])]
        agent: Option<PathBuf>,
        /// Address of the coordinator for clients
        #[arg(long)]
        coordinator: Option<SocketAddr>,
        /// The coordinator's credentials
        #[arg(long)]
        credentials: Option<PathBuf>,
        /// Settings of the policy `stream`, if receivers decide
        #[arg(long, conflicts_with = "agent")]
        stream: Option<String>,
    },
    /// The process that watches which coflows a coordinator finds
    Watch(Watcher),
    /// The process that removes the testbed when standard input ends
    Warden,
}

impl Process {
    /// Runs the command.
    pub fn run(self) -> Result<(), Failure> {
        match self {
            Process::Warden => Ok(covey_testbed::warden()?),
            Process::Watch(watcher) => watcher.run(),
            Process::Host {
                host,
                listen,
                trace,
                ratio,
                agent,
                coordinator,
                credentials,
                stream,
            } => {
                let scheduling = match (agent, coordinator, credentials, stream) {
                    (Some(agent), Some(coordinator), Some(credentials), _) => {
                        Some(Scheduling::Coordinator { agent, coordinator, credentials })
                    }
                    (.., Some(settings)) => {
                        let setup = covey_sched::stream::settings(&settings)?;
                        Some(Scheduling::Receivers(setup))
                    }
                    _ => None,
                };
                let host = Host { trace, host, listen, ratio, scheduling };
                // Many hosts share a machine: one thread each.
                Ok(process::runtime_here()?.block_on(covey_testbed::host(host))?)
            }
        }
    }
}
