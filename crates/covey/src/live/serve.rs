//! `covey serve`: the coordinator.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Command, FromArgMatches, ValueEnum};
use covey_coordinator::{Config, Control, ServeError, Server, ServerConfig};
use covey_core::TenantWeights;
use covey_credentials::Owner;
use covey_proto::FlowTokens;
use tokio::sync::mpsc;

use crate::failure::Failure;
use crate::live::certs;
use crate::live::doors::Doors;
use crate::live::process::{self, AGENTS, CLIENTS, Logs};
use crate::live::settings::{self, ONCE};
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
  covey serve --policy coda --idle 30s
The folder has the journal, the clients' token (token, mode 0600), and certificates after --init;
without certificates the coordinator serves only loopback addresses.")]
pub struct Serve {
    /// Folder with the journal and the credentials
    #[arg(long, value_name = "FOLDER", default_value = "covey-data")]
    data: PathBuf,
    /// Make a private CA, certificates for coordinator and agents, and the token, then exit
    #[arg(long, help_heading = ONCE)]
    init: bool,
    /// With --init: a name or address of the coordinator, beside localhost
    #[arg(long, value_name = "NAME", requires = "init", help_heading = ONCE)]
    name: Vec<String>,
    /// With --init: a port, or ports such as 0-15; their agents get credentials of their own, in
    /// folders agents/PORT
    #[arg(long, value_name = "PORTS", requires = "init", help_heading = ONCE)]
    agent: Vec<String>,
    /// With --init: days for which the certificates are valid, at most until the CA expires
    #[arg(long, value_name = "N", default_value_t = certs::DAYS, requires = "init", help_heading = ONCE)]
    days: u32,
    /// With --init: file with the key of the CA, best on a medium of its own [default: ca.key in
    /// the folder]
    #[arg(long, value_name = "FILE", requires = "init", help_heading = ONCE)]
    ca_key: Option<PathBuf>,
    /// With --init: a name or address of a relay, which gets credentials of its own, in a folder
    /// relays/NAME
    #[arg(long, value_name = "NAME", requires = "init", help_heading = ONCE)]
    relay: Vec<String>,
    /// The policy, with parameters that differ from their defaults
    #[arg(long, value_name = "NAME[:key=value,…]", default_value = "covey")]
    policy: String,
    /// Divide every link among the tenants of tokens by these weights; each has an instance of the
    /// policy [default: tenants count for nothing]
    #[arg(long, value_name = "NAME=WEIGHT,…")]
    tenants: Option<String>,
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
    /// Interval at which agents report bytes sent
    #[arg(long, value_name = "TIME", default_value = "8ms")]
    report_every: String,
    /// When agents report bytes sent
    #[arg(long, value_enum, ignore_case = true, default_value_t = Reports::Needed)]
    reports: Reports,
    /// Interval in which an agent sends at least one message
    #[arg(long, value_name = "TIME", default_value = "1s")]
    heartbeat: String,
    /// Silence after which a host counts as lost
    #[arg(long, value_name = "TIME", default_value = "5s")]
    lost_after: String,
    /// Time without a byte sent after which a flow loses its rate
    #[arg(long, value_name = "TIME", default_value = "1s")]
    idle_after: String,
    /// Time without a byte sent, though it may send, after which a flow that nobody ends is over;
    /// for policies that find coflows by themselves
    #[arg(long, value_name = "TIME", default_value = "60s")]
    idle: String,
    /// Lease of a coflow whose client does not set one
    #[arg(long, value_name = "TIME", default_value = "10min")]
    lease: String,
    /// Time for which a coflow is remembered after its lease has run out, or after its end
    #[arg(long, value_name = "TIME", default_value = "1440min")]
    forget_after: String,
    /// Maximum number of coflows remembered after their leases have run out; the oldest are
    /// forgotten first
    #[arg(long, value_name = "N", default_value_t = 1000)]
    max_expired: usize,
    /// Maximum number of coflows remembered after their ends or removals
    #[arg(long, value_name = "N", default_value_t = 10_000)]
    max_gone: usize,
    /// Maximum number of coflows at a time
    #[arg(long, value_name = "N", default_value_t = 100_000)]
    max_coflows: usize,
    /// Maximum number of flows of a coflow; each takes about 130 bytes of memory
    #[arg(long, value_name = "N", default_value_t = 1_000_000)]
    max_flows: usize,
    /// Address for probes alone (/livez, /readyz, /metrics) [default: none; clients' address
    /// answers them, too]
    #[arg(long, value_name = "ADDRESS")]
    health: Option<String>,
    #[command(flatten)]
    doors: Doors,
    /// Whether flows show tokens to the hosts that they begin with
    #[arg(long, value_enum, ignore_case = true, default_value_t = Tokens::On)]
    flow_tokens: Tokens,
    /// Time that the body of a request may take
    #[arg(long, value_name = "TIME", default_value = "30s")]
    body_timeout: String,
    /// Take no changes of clients; flows end as they do
    #[arg(long)]
    read_only: bool,
    /// Maximum number of requests a second
    #[arg(long, value_name = "N", default_value_t = 20_000)]
    max_requests: u32,
    /// Length above which the journal is compacted
    #[arg(long, value_name = "SIZE", default_value = "64MiB")]
    compact_above: String,
    /// File to which each change is added, with who asked for it, as a line of JSON
    #[arg(long, value_name = "FILE")]
    audit_log: Option<PathBuf>,
    /// Length of the intervals over which /metrics reports CPU time
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
    /// Only if the policy needs it
    Needed,
    /// Under every policy, as Aalo's agents do, for observation
    Always,
}

/// The value of `--flow-tokens`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Tokens {
    /// A connection without a valid token is refused
    On,
    /// A wrong token is refused; a connection without one is taken and counted
    Allow,
    /// Nobody shows or checks tokens
    Off,
}

impl From<Tokens> for FlowTokens {
    fn from(tokens: Tokens) -> FlowTokens {
        match tokens {
            Tokens::On => FlowTokens::On,
            Tokens::Allow => FlowTokens::Allow,
            Tokens::Off => FlowTokens::Off,
        }
    }
}

impl Serve {
    /// Runs the command.
    pub fn run(self, program: &Command) -> Result<(), Failure> {
        if self.init {
            return self.init();
        }
        let threads = quantity::within("--threads", self.threads, 1..=process::MAX_THREADS)?;
        self.logs.start();
        let config = self.config()?;
        process::check_files(config.client_limits.max + config.agent_limits.max);
        process::runtime(threads)?.block_on(async {
            // Before it starts: until then the signal would end the process.
            let asked = process::asked_to_reload();
            let first = config.clone();
            let server = Server::start(config).await?;
            let other = |error: std::io::Error| Failure::Other(error.to_string());
            let (clients, agents) = server.addresses().map_err(other)?;
            let health = server.health_address().map_err(other)?;
            let end = process::asked_to_end();
            // Printed for a caller that used port 0 or that waits for the coordinator.
            output::print(|out| {
                writeln!(out, "clients {clients}")?;
                writeln!(out, "agents {agents}")?;
                health.map_or(Ok(()), |health| writeln!(out, "health {health}"))?;
                out.flush()
            })?;
            process::tell_service_manager(server.busy());
            let (reload, credentials) = mpsc::channel(1);
            tokio::spawn(reload_when(asked, reload, server.control(), first, program.clone()));
            Ok(server.run(end, credentials).await?)
        })
    }

    /// What it is as the environment and the file are now.
    fn again(program: &Command) -> Result<ServerConfig, Failure> {
        settings::read_again(program, |said| {
            let serve = Serve::from_arg_matches(said);
            serve.map_err(|error| Failure::Input(error.to_string()))?.config()
        })
    }

    /// Makes what is missing, and says what it has left as it was.
    fn init(self) -> Result<(), Failure> {
        let ports = self.agent.iter().map(|text| ports(text)).collect::<Result<Vec<_>, _>>()?;
        certs::names("--name", &self.name)?;
        certs::names("--relay", &self.relay)?;
        let agents = ports.into_iter().flatten().map(Owner::Agent);
        let owners: Vec<Owner> = agents.chain(self.relay.into_iter().map(Owner::Relay)).collect();
        let valid = certs::validity(self.days)?;
        let authority = certs::authority(self.data, self.ca_key).valid_for(valid);
        let folder = authority.credentials().folder().display().to_string();
        let mut said = Vec::new();
        if authority.init(&self.name)? {
            said.push(format!("made credentials in {folder}"));
        } else {
            said.push(format!(
                "{folder} has a CA: it and the coordinator's certificate stay (covey certs renew)"
            ));
            if !self.name.is_empty() {
                let names = self.name.join(" ");
                said.push(format!("not added: {names} (covey certs add-name {names})"));
            }
        }
        let (mut made, mut kept) = (0, Vec::new());
        for owner in owners {
            match authority.admit(&owner)? {
                true => made += 1,
                false => kept.push(owner.to_string()),
            }
        }
        if made > 0 {
            said.push(format!("made {made} folders of agents and relays"));
        }
        if let [first, ..] = &kept[..] {
            let count = kept.len();
            said.push(format!(
                "{count} have certificates, which stay, as {first} (covey certs renew {first})"
            ));
        }
        output::print(|out| said.iter().try_for_each(|line| writeln!(out, "{line}")))
    }

    fn config(self) -> Result<ServerConfig, Failure> {
        let port_rate = quantity::rate("--port-rate", &self.port_rate)?;
        let heartbeat_s = quantity::time_within("--heartbeat", &self.heartbeat, PERIODS)?;
        let lost_after_s = quantity::time_within("--lost-after", &self.lost_after, SPANS)?;
        if lost_after_s < MIN_HEARTBEATS * heartbeat_s {
            let expected =
                format!("at least {MIN_HEARTBEATS} times --heartbeat, which is {}", self.heartbeat);
            return Err(Failure::argument("--lost-after", expected, self.lost_after));
        }
        let clients = process::address("--clients", &self.clients)?;
        let agents = process::address("--agents", &self.agents)?;
        // With port 0 the system chooses two ports.
        if clients == agents && clients.port() != 0 {
            return Err(Failure::argument("--agents", "another address than --clients", agents));
        }
        let health = self.health.map(|text| process::address("--health", &text)).transpose()?;
        process::check_apart(&[("--clients", clients), ("--agents", agents)], health)?;
        let most = |argument, found, min| quantity::within(argument, found, min..=MAX_COUNT);
        Ok(ServerConfig {
            folder: self.data,
            policy: self.policy,
            tenants: weights(self.tenants.as_deref())?,
            ports: quantity::within("--ports", self.ports, 1..=process::MAX_PORTS)?,
            port_rate,
            read_only: self.read_only,
            clients,
            agents,
            core: Config {
                heartbeat_s,
                lost_after_s,
                idle_after_s: quantity::time_within("--idle-after", &self.idle_after, SPANS)?,
                silent_after_s: quantity::time_within("--idle", &self.idle, SPANS)?,
                lease_s: quantity::time_within("--lease", &self.lease, LEASES)?,
                forget_after_s: quantity::time_within("--forget-after", &self.forget_after, YEARS)?,
                report_every_s: quantity::time_within("--report-every", &self.report_every, TICKS)?,
                reports_always: self.reports == Reports::Always,
                flow_tokens: self.flow_tokens.into(),
                max_coflows: most("--max-coflows", self.max_coflows, 1)?,
                max_flows: most("--max-flows", self.max_flows, 1)?,
                max_expired: most("--max-expired", self.max_expired, 0)?,
                max_gone: most("--max-gone", self.max_gone, 0)?,
                ..Config::default()
            },
            health,
            client_limits: self.doors.clients()?,
            agent_limits: self.doors.agents()?,
            body_patience: Duration::from_secs_f64(quantity::time_within(
                "--body-timeout",
                &self.body_timeout,
                PERIODS,
            )?),
            max_requests_per_s: quantity::within(
                "--max-requests",
                self.max_requests,
                1..=u32::MAX,
            )?,
            compact_above: quantity::size_within(
                "--compact-above",
                &self.compact_above,
                COMPACTED,
            )?,
            audit_log: self.audit_log,
            interval_s: quantity::time_within("--interval", &self.interval, TICKS)?,
        })
    }
}

/// Reads the weights of tenants.
fn weights(text: Option<&str>) -> Result<BTreeMap<String, f64>, Failure> {
    let Some(text) = text.filter(|text| !text.is_empty()) else { return Ok(BTreeMap::new()) };
    let problem = |problem: String| Failure::Input(format!("--tenants: {problem}"));
    let tenants = TenantWeights::parse(text).map_err(problem)?;
    Ok(tenants.names().iter().cloned().zip(tenants.weights().iter().copied()).collect())
}

/// Whenever it is `asked`, reads credentials and settings again. The coordinator was started as the
/// `first` says.
async fn reload_when(
    mut asked: mpsc::Receiver<()>,
    credentials: mpsc::Sender<()>,
    control: Control,
    mut first: ServerConfig,
    program: Command,
) {
    while asked.recv().await.is_some() {
        // Several at once are one.
        let _ = credentials.try_send(());
        let config = match Serve::again(&program) {
            Ok(config) => config,
            Err(failure) => {
                tracing::error!(error = %failure.message(), "the settings were not read again");
                continue;
            }
        };
        let settings = config.settings();
        if let Err(problem) = control.change(settings.clone()).await {
            tracing::error!(error = problem.detail, "the settings stay as they were");
            continue;
        }
        tracing::info!("read again: the settings");
        first.set(settings);
        if first != config {
            tracing::warn!("other settings have changed, too: they count from the next start on");
        }
    }
}

/// The most that a limit on numbers of coflows or flows may allow.
const MAX_COUNT: usize = 1_000_000_000;

/// The least and the greatest length of a journal that is worth compacting.
const COMPACTED: [&str; 2] = ["4KiB", "1024TiB"];

/// After fewer heartbeats than this a host must not count as lost, because one may be late.
const MIN_HEARTBEATS: f64 = 3.0;

/// The shortest and the longest time between two things that happen for every batch of messages.
const TICKS: [&str; 2] = ["1ms", "60min"];

/// The same for what agents and coordinator do all the time.
const PERIODS: [&str; 2] = ["10ms", "60min"];

/// The shortest and the longest time of silence that means anything.
const SPANS: [&str; 2] = ["10ms", "1440min"];

/// The shortest and the longest lease. A request may ask for one from a second to a day.
const LEASES: [&str; 2] = ["100ms", "1440min"];

/// For how long something that has gone may be remembered: up to a year.
const YEARS: [&str; 2] = ["10ms", "525600min"];

/// Maximum number of folders that one call makes.
const MAX_ADMITTED: u32 = 100_000;

/// Reads ports from an argument: one, or the first and the last.
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
