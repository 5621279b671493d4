//! `covey agent`: enforces the coordinator's schedules on one host.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use clap::{Args, ValueEnum};
use covey_agent::{Enforcer, Htb, Joining, Local, Nothing, Processors, Recorded, Tree};
use covey_core::units;
use covey_proto::Means;
use tokio::sync::Notify;

use crate::failure::Failure;
use crate::live::{self, AGENTS, Logs, Shown};

/// Enforce a coordinator's schedules on this host
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  covey agent --port 3
  covey agent --port 3 --enforcer both --socket /run/covey/agent.sock
  covey agent --port 3 --enforcer htb --device eth0 --link-rate 10gbps
  covey agent --port 3 --enforcer recorded --record schedules.jsonl
Applications that use the client library find the agent at its socket.
The credentials are the agent's certificate (agent.pem, agent.key, ca.pem) if the folder has them, or
else the token.")]
pub struct Agent {
    /// The number of this host's port in the fabric, from 0
    #[arg(long, value_name = "N")]
    port: u32,
    /// Where the coordinator listens for agents
    #[arg(long, value_name = "ADDRESS", default_value = AGENTS)]
    coordinator: String,
    #[command(flatten)]
    shown: Shown,
    /// What carries schedules out
    #[arg(long, value_enum, default_value_t = By::Pacing)]
    enforcer: By,
    /// The socket for applications; not with --enforcer none or recorded [default: agent.sock in
    /// the folder of --credentials, or agent-PORT.sock if another agent has that]
    #[arg(long, value_name = "FILE")]
    socket: Option<PathBuf>,
    /// With --enforcer htb: the network device through which flows leave
    #[arg(long, value_name = "NAME", required_if_eq("enforcer", "htb"))]
    device: Option<String>,
    /// With --enforcer htb: the speed of its link [default: what the device says]
    #[arg(long, value_name = "RATE")]
    link_rate: Option<String>,
    /// With --enforcer recorded: the file to which schedules are added, a line of JSON each
    #[arg(long, value_name = "FILE", required_if_eq("enforcer", "recorded"))]
    record: Option<PathBuf>,
    /// The share of a processor available for compressing flows, if the policy compresses: idle
    /// (the idle share by /proc/stat), a number from 0 to 1, or none
    #[arg(long, value_name = "SHARE", default_value = "idle")]
    cpu: String,
    #[command(flatten)]
    logs: Logs,
}

/// What carries schedules out.
#[derive(Debug, Clone, Copy, ValueEnum)]
enum By {
    /// Applications: the kernel paces their sockets, flows that are to wait write nothing
    Pacing,
    /// Applications: packets are marked with the class of their flow (DSCP), nothing is paced
    Marks,
    /// Applications: both
    Both,
    /// The kernel shapes flows at a device (HTB), applications hold those that are to wait; needs root
    Htb,
    /// Nothing does
    None,
    /// Nothing does, but they are written down
    Recorded,
}

/// How often applications report what they have sent, and the agent asks the enforcer for what it
/// has measured.
const REPORT_EVERY: Duration = Duration::from_millis(20);

impl Agent {
    /// Runs the command.
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
            ask_every: REPORT_EVERY,
            processors: self.processors()?,
        };
        let runtime = live::runtime_here()?;
        let (mut enforcer, woken) = runtime.block_on(self.enforcer())?;
        runtime.block_on(async {
            tokio::select! {
                joined = covey_agent::run_woken(&joining, enforcer.as_mut(), &woken) => {
                    joined.map_err(|error| Failure::Input(error.to_string()))
                }
                () = live::asked_to_end() => Ok(()),
            }
        })
    }

    fn processors(&self) -> Result<Processors, Failure> {
        let share = self.cpu.parse().ok().filter(|share| (0.0..=1.0).contains(share));
        match (self.cpu.as_str(), share) {
            ("idle", _) => Ok(Processors::Idle),
            ("none", _) => Ok(Processors::None),
            (_, Some(share)) => Ok(Processors::Share(share)),
            (found, None) => {
                let expected = "idle, none, or a number from 0 to 1";
                Err(Failure::argument("--cpu", expected, format!("'{found}'")))
            }
        }
    }

    /// The tree of `--enforcer htb`.
    fn tree(&self) -> Result<Tree, Failure> {
        let device = self.device.as_deref().unwrap_or_default();
        let link = match &self.link_rate {
            Some(text) => units::parse_rate(text).ok(),
            None => {
                // In Mbit/s; negative if the device does not know.
                let said = std::fs::read_to_string(format!("/sys/class/net/{device}/speed"));
                let mbps = said.ok().and_then(|text| text.trim().parse::<f64>().ok());
                mbps.map(|mbps| mbps * 1e6 / 8.0)
            }
        };
        let link = link.filter(|link| *link > 0.0).ok_or_else(|| {
            let found = match &self.link_rate {
                Some(text) => format!("'{text}'"),
                None => format!("none, and {device} says none"),
            };
            Failure::argument("--link-rate", "a rate like 10gbps", found)
        })?;
        Tree::make(device, link)
            .map_err(|error| Failure::Input(format!("--device: {device} cannot be used: {error}")))
    }

    async fn listen(&self, path: &Path, means: Means) -> Result<Local, Failure> {
        let local = Local::listen(path, self.port, means, REPORT_EVERY).await;
        local.map_err(|error| {
            let path = path.display();
            Failure::Input(format!("--socket: {path} cannot be used: {error}"))
        })
    }

    /// The enforcer, and the notifier that it uses.
    async fn enforcer(&self) -> Result<(Box<dyn Enforcer>, Arc<Notify>), Failure> {
        let means = match (self.enforcer, &self.record) {
            (By::Recorded, Some(path)) => {
                let file = File::options().create(true).append(true).open(path);
                let error = |error| Failure::Input(format!("{}: {error}", path.display()));
                return Ok((Box::new(Recorded::new(file.map_err(error)?)), Arc::default()));
            }
            (By::None | By::Recorded, _) => return Ok((Box::new(Nothing), Arc::default())),
            (By::Pacing, _) => Means::Pacing,
            (By::Marks, _) => Means::Marks,
            (By::Both, _) => Means::PacingAndMarks,
            (By::Htb, _) => Means::Shaping,
        };
        // Before applications may connect: what an earlier agent left behind would delay them.
        let tree = if means.shapes() { Some(self.tree()?) } else { None };
        let local = match &self.socket {
            Some(path) => self.listen(path, means).await?,
            // Another agent on this machine may use the usual socket.
            None => match self.listen(&self.shown.path("agent.sock"), means).await {
                Ok(local) => local,
                Err(_) => {
                    let path = self.shown.path(&format!("agent-{}.sock", self.port));
                    let local = self.listen(&path, means).await?;
                    let socket = path.display();
                    tracing::warn!(%socket, "agent.sock is taken: applications find this agent here");
                    local
                }
            },
        };
        let woken = local.ended();
        match tree {
            Some(tree) => Ok((Box::new(Htb::new(local, tree)), woken)),
            None => Ok((Box::new(local), woken)),
        }
    }
}
