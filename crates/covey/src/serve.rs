//! `covey serve`: the coordinator.

use std::ops::RangeInclusive;
use std::path::PathBuf;

use clap::{Args, ValueEnum};
use covey_coordinator::{Authority, Config, ServeError, Server, ServerConfig};

use crate::failure::Failure;
use crate::live::{self, AGENTS, CLIENTS, Logs};
use crate::output;
use crate::quantity;

/// Schedule the coflows of real hosts: the coordinator
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  covey serve --data covey-data --ports 16
  covey serve --data covey-data --init --name coordinator.example --agent 0-15
  covey serve --data covey-data --ports 150 --policy aalo --clients 0.0.0.0:7420 --agents 0.0.0.0:7421
  covey serve --policy sebf:compress=lz4
The folder holds the journal, the token that clients show (token, mode 0600), and certificates
once --init has made them; without those only loopback addresses are served.")]
pub struct Serve {
    /// Folder with the journal and the credentials
    #[arg(long, value_name = "FOLDER", default_value = "covey-data")]
    data: PathBuf,
    /// Make a private CA, certificates for coordinator and agents, and the token; then end
    #[arg(long)]
    init: bool,
    /// With --init: a name or address under which the coordinator is reached, beside localhost
    #[arg(long, value_name = "NAME", requires = "init")]
    name: Vec<String>,
    /// With --init: a port, or ports such as 0-15, whose agents get credentials of their own, in folders
    /// agents/PORT
    #[arg(long, value_name = "PORTS", requires = "init")]
    agent: Vec<String>,
    /// The policy, with parameters that differ from their defaults
    #[arg(long, value_name = "NAME[:key=value,…]", default_value = "covey")]
    policy: String,
    /// Number of hosts
    #[arg(long, value_name = "N", default_value_t = 16)]
    ports: u32,
    /// Speed of each host's port, in and out
    #[arg(long, value_name = "RATE", default_value = "1gbps")]
    port_rate: String,
    /// Address for clients (REST)
    #[arg(long, value_name = "ADDRESS", default_value = CLIENTS)]
    clients: String,
    /// Address for agents
    #[arg(long, value_name = "ADDRESS", default_value = AGENTS)]
    agents: String,
    /// How often agents report bytes sent, where the policy needs that
    #[arg(long, value_name = "TIME", default_value = "8ms")]
    report_every: String,
    /// When agents report bytes sent so often
    #[arg(long, value_enum, ignore_case = true, default_value_t = Reports::Needed)]
    reports: Reports,
    /// How often an agent says something
    #[arg(long, value_name = "TIME", default_value = "1s")]
    heartbeat: String,
    /// Silence after which a host is taken for lost
    #[arg(long, value_name = "TIME", default_value = "5s")]
    lost_after: String,
    /// Time without a byte after which a flow that has a rate gives it up
    #[arg(long, value_name = "TIME", default_value = "1s")]
    idle_after: String,
    /// For how long a coflow is kept whose client does not say for how long
    #[arg(long, value_name = "TIME", default_value = "10min")]
    lease: String,
    /// How much later a coflow is forgotten that nobody keeps, and how long after its end one that has ended
    #[arg(long, value_name = "TIME", default_value = "1440min")]
    forget_after: String,
    /// The most coflows that nobody keeps; those that were left first are forgotten earlier
    #[arg(long, value_name = "N", default_value_t = 1000)]
    max_expired: usize,
    /// The most coflows that are remembered when they have gone
    #[arg(long, value_name = "N", default_value_t = 10_000)]
    max_gone: usize,
    /// The most coflows at a time
    #[arg(long, value_name = "N", default_value_t = 100_000)]
    max_coflows: usize,
    /// The most flows of a coflow; each takes about 130 bytes of memory
    #[arg(long, value_name = "N", default_value_t = 1_000_000)]
    max_flows: usize,
    /// The most connections of clients
    #[arg(long, value_name = "N", default_value_t = 1024)]
    max_clients: usize,
    /// The most connections of agents
    #[arg(long, value_name = "N", default_value_t = 16_384)]
    max_agents: usize,
    /// The most requests a second
    #[arg(long, value_name = "N", default_value_t = 20_000)]
    max_requests: u32,
    /// Length of the journal above which it is compacted, in bytes
    #[arg(long, value_name = "BYTES", default_value_t = 64 << 20)]
    compact_above: u64,
    /// Length of the intervals by which /metrics tells CPU
    #[arg(long, value_name = "TIME", default_value = "8ms")]
    interval: String,
    /// Threads for connections
    #[arg(long, value_name = "N", default_value_t = 2)]
    threads: usize,
    #[command(flatten)]
    logs: Logs,
}

/// The value of `--reports`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Reports {
    /// Where the policy needs it
    Needed,
    /// Under every policy, as Aalo's agents do, and for those who watch
    Always,
}

impl Serve {
    /// Does it.
    pub fn run(self) -> Result<(), Failure> {
        if self.init {
            let ports = self.agent.iter().map(|text| ports(text)).collect::<Result<Vec<_>, _>>()?;
            let authority = Authority::of(&self.data);
            authority.init(&self.name)?;
            ports.into_iter().flatten().try_for_each(|port| authority.admit(port))?;
            let folder = self.data.display().to_string();
            return output::print(|out| writeln!(out, "made credentials in {folder}"));
        }
        let threads = self.threads.max(1);
        self.logs.start();
        let config = self.config()?;
        live::runtime(threads)?.block_on(async {
            let server = Server::start(config).await?;
            let (clients, agents) =
                server.addresses().map_err(|error| Failure::Other(error.to_string()))?;
            // For whoever has started this with port 0, or waits for it.
            output::print(|out| {
                writeln!(out, "clients {clients}")?;
                writeln!(out, "agents {agents}")?;
                out.flush()
            })?;
            Ok(server.run(live::asked_to_end()).await?)
        })
    }

    fn config(self) -> Result<ServerConfig, Failure> {
        let port_rate = quantity::rate("--port-rate", &self.port_rate)?;
        let heartbeat_s = quantity::time("--heartbeat", &self.heartbeat)?;
        let lost_after_s = quantity::time("--lost-after", &self.lost_after)?;
        if lost_after_s <= heartbeat_s {
            let expected = format!("more than --heartbeat, which is {}", self.heartbeat);
            return Err(Failure::argument("--lost-after", expected, self.lost_after));
        }
        if self.ports == 0 || self.ports > 1_000_000 {
            return Err(Failure::argument("--ports", "from 1 to 1000000", self.ports));
        }
        Ok(ServerConfig {
            folder: self.data,
            policy: self.policy,
            ports: self.ports,
            port_rate,
            clients: live::address("--clients", &self.clients)?,
            agents: live::address("--agents", &self.agents)?,
            core: Config {
                heartbeat_s,
                lost_after_s,
                idle_after_s: quantity::time("--idle-after", &self.idle_after)?,
                lease_s: quantity::time("--lease", &self.lease)?,
                forget_after_s: quantity::time("--forget-after", &self.forget_after)?,
                report_every_s: quantity::time("--report-every", &self.report_every)?,
                reports_always: self.reports == Reports::Always,
                max_coflows: self.max_coflows,
                max_flows: self.max_flows,
                max_expired: self.max_expired,
                max_gone: self.max_gone,
                ..Config::default()
            },
            max_clients: self.max_clients,
            max_agents: self.max_agents,
            max_requests_per_s: self.max_requests.into(),
            compact_above: self.compact_above,
            interval_s: quantity::time("--interval", &self.interval)?,
        })
    }
}

/// The most folders that are made at once.
const MAX_ADMITTED: u32 = 100_000;

/// Ports from an argument: one, or the first and the last.
fn ports(text: &str) -> Result<RangeInclusive<u32>, Failure> {
    let (first, last) = text.split_once('-').unwrap_or((text, text));
    let range = first.parse().ok().zip(last.parse().ok()).map(|(first, last)| first..=last);
    range
        .filter(|range| !range.is_empty() && range.end() - range.start() < MAX_ADMITTED)
        .ok_or_else(|| {
            Failure::argument("--agent", "a port, or ports like 0-15", format!("'{text}'"))
        })
}

impl From<ServeError> for Failure {
    fn from(error: ServeError) -> Self {
        if error.is_input() {
            Failure::Input(error.to_string())
        } else {
            Failure::Other(error.to_string())
        }
    }
}
