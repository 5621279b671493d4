//! `covey relay`: one connection to the coordinator for many agents.

use std::path::PathBuf;

use clap::Args;
use covey_coordinator::{RelayConfig, RelayError};

use crate::failure::Failure;
use crate::live::doors::AgentDoor;
use crate::live::process::{self, AGENTS, Logs, RELAYED};
use crate::output;
use crate::quantity;

/// Carry the sessions of many agents over one connection to the coordinator
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  covey relay
  covey relay --coordinator 10.0.0.1:7421 --listen 10.0.0.2:7421 --credentials relays/10.0.0.2
  covey relay --listen 127.0.0.1:7423 --max-agents 18000
Agents join a relay as they join a coordinator: covey agent --coordinator ADDRESS, with the address of
the relay and the same credentials. If the relay ends, they keep their schedules and try to join again.
The folder has the relay's certificates (relay.pem, agent.pem, their keys, ca.pem; covey serve --init
--relay makes them), otherwise the token; without certificates the relay serves only loopback addresses.
The relay prints the address at which it listens.")]
pub struct Relay {
    /// Address of the coordinator for agents
    #[arg(long, value_name = "ADDRESS", default_value = AGENTS)]
    coordinator: String,
    /// Address for agents
    #[arg(long, value_name = "ADDRESS", default_value = RELAYED)]
    listen: String,
    /// Folder with the relay's credentials
    #[arg(long, value_name = "FOLDER", default_value = "covey-data")]
    credentials: PathBuf,
    /// Address for probes (/livez, /readyz, /metrics) [default: none]
    #[arg(long, value_name = "ADDRESS")]
    health: Option<String>,
    #[command(flatten)]
    door: AgentDoor,
    /// Threads for connections
    #[arg(long, value_name = "N", default_value_t = 1)]
    threads: usize,
    #[command(flatten)]
    logs: Logs,
}

/// The most sessions that a coordinator accepts from a relay.
const MAX_AGENTS: usize = 65_536;

impl Relay {
    /// Relays until the process is asked to end.
    pub fn run(self) -> Result<(), Failure> {
        self.logs.start();
        let coordinator = process::endpoint("--coordinator", &self.coordinator)?;
        let listen = process::address("--listen", &self.listen)?;
        if coordinator == listen.into() {
            return Err(Failure::argument(
                "--listen",
                "another address than --coordinator",
                listen,
            ));
        }
        let health = self.health.map(|text| process::address("--health", &text)).transpose()?;
        process::check_apart(&[("--listen", listen)], health)?;
        let threads = quantity::within("--threads", self.threads, 1..=process::MAX_THREADS)?;
        let limits = self.door.limits(MAX_AGENTS)?;
        process::check_files(limits.max);
        let config = RelayConfig { coordinator, listen, folder: self.credentials, limits, health };
        process::runtime(threads)?.block_on(async {
            // Before it starts: until then the signal would end the process.
            let reload = process::asked_to_reload();
            let relay = covey_coordinator::Relay::start(config).await?;
            let other = |error: std::io::Error| Failure::Other(error.to_string());
            let agents = relay.address().map_err(other)?;
            let health = relay.health_address().map_err(other)?;
            let end = process::asked_to_end();
            // Printed for a caller that used port 0 or that waits for the relay.
            output::print(|out| {
                writeln!(out, "agents {agents}")?;
                health.map_or(Ok(()), |health| writeln!(out, "health {health}"))?;
                out.flush()
            })?;
            Ok(relay.run(end, reload).await?)
        })
    }
}

impl From<RelayError> for Failure {
    fn from(error: RelayError) -> Self {
        if error.is_input() {
            Failure::Input(error.to_string())
        } else {
            Failure::Other(error.to_string())
        }
    }
}
