//! `covey agent`: carries the coordinator's schedules out on one host.

use std::fs::File;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueEnum};
use covey_agent::{Enforcer, Joining, Nothing, Recorded};

use crate::failure::Failure;
use crate::live::{self, AGENTS, Logs, Shown};

/// Carry a coordinator's schedules out on this host
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  covey agent --port 3
  covey agent --port 3 --enforcer recorded --record schedules.jsonl
The credentials are the agent's certificate (agent.pem, agent.key, ca.pem) if the folder has them, or
else the token.")]
pub struct Agent {
    /// The port of the fabric that this host is, from 0
    #[arg(long, value_name = "N")]
    port: u32,
    /// Where the coordinator listens for agents
    #[arg(long, value_name = "ADDRESS", default_value = AGENTS)]
    coordinator: String,
    #[command(flatten)]
    shown: Shown,
    /// What carries schedules out
    #[arg(long, value_enum, default_value_t = By::None)]
    enforcer: By,
    /// With --enforcer recorded: the file to which schedules are added, a line of JSON each
    #[arg(long, value_name = "FILE", required_if_eq("enforcer", "recorded"))]
    record: Option<PathBuf>,
    #[command(flatten)]
    logs: Logs,
}

/// What carries schedules out.
#[derive(Debug, Clone, Copy, ValueEnum)]
enum By {
    /// Nothing does
    None,
    /// Nothing does, but they are written down
    Recorded,
}

/// How often the enforcer is asked what has happened.
const ASK_EVERY: Duration = Duration::from_millis(10);

impl Agent {
    /// Does it.
    pub fn run(self) -> Result<(), Failure> {
        self.logs.start();
        let credentials = self.shown.credentials();
        let tls = credentials.has_certificates().then(|| credentials.agent()).transpose()?;
        let token = match tls {
            Some(_) => Vec::new(),
            None => self.shown.token()?.ok_or_else(|| self.shown.none())?,
        };
        let joining = Joining {
            coordinator: live::address("--coordinator", &self.coordinator)?,
            port: self.port,
            token,
            tls,
            ask_every: ASK_EVERY,
        };
        let mut enforcer: Box<dyn Enforcer> = match (self.enforcer, &self.record) {
            (By::Recorded, Some(path)) => {
                let file = File::options().create(true).append(true).open(path);
                let error = |error| Failure::Input(format!("{}: {error}", path.display()));
                Box::new(Recorded::new(file.map_err(error)?))
            }
            _ => Box::new(Nothing),
        };
        live::runtime(1)?.block_on(async {
            tokio::select! {
                joined = covey_agent::run(&joining, enforcer.as_mut()) => {
                    joined.map_err(|error| Failure::Input(error.to_string()))
                }
                () = live::asked_to_end() => Ok(()),
            }
        })
    }
}
