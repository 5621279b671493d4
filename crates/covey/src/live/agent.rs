//! `covey agent`: executes a coordinator's schedules on one host.

use std::collections::BTreeSet;
use std::net::IpAddr;
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use clap::builder::{PossibleValue, PossibleValuesParser};
use covey_agent::{ENFORCERS, Joining, MadeEnforcer, Processors, Setup, SocketOptions};
use covey_api::AgentTls;
use covey_credentials::AgentCertificates;

use crate::failure::Failure;
use crate::live::process::{self, AGENTS, Logs, Shown};
use crate::quantity;

/// Enforce a coordinator's schedules on this host
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  covey agent --port 3
  covey agent --port 3 --enforcer both --socket /run/covey/agent.sock
  covey agent --port 3 --enforcer htb --device eth0 --link-rate 10gbps
  covey agent --port 3 --enforcer recorded --record schedules.jsonl
Applications that use the client library find the agent at its socket.
The credentials are the agent's certificate (agent.pem, agent.key, ca.pem) if the folder has them,
otherwise the token.")]
pub struct Agent {
    /// The number of this host's port in the fabric, from 0
    #[arg(long, value_name = "N")]
    port: u32,
    /// Address of the coordinator for agents
    #[arg(long, value_name = "ADDRESS", default_value = AGENTS)]
    coordinator: String,
    #[command(flatten)]
    shown: Shown,
    /// How schedules are executed
    #[arg(long, value_name = "ENFORCER", default_value = ENFORCERS[0].name, value_parser = enforcers())]
    enforcer: String,
    /// Except with none and recorded: the socket for applications [default: agent.sock in the
    /// folder of --credentials, or agent-PORT.sock if another agent uses that]
    #[arg(long, value_name = "FILE")]
    socket: Option<PathBuf>,
    /// Group, by name or number, whose members may use the socket [default: the agent's group, with
    /// mode 0600]
    #[arg(long, value_name = "GROUP")]
    socket_group: Option<String>,
    /// Mode of the socket, in octal [default: 0600, and 0660 with --socket-group]
    #[arg(long, value_name = "MODE")]
    socket_mode: Option<String>,
    /// Maximum number of connections of applications
    #[arg(long, value_name = "N", default_value_t = SocketOptions::default().limits.max)]
    max_apps: usize,
    /// Maximum number of connections of applications of one user
    #[arg(long, value_name = "N", default_value_t = SocketOptions::default().limits.max_per_peer)]
    max_apps_per_user: usize,
    /// With --enforcer htb: the network device through which flows leave
    #[arg(long, value_name = "NAME", required_if_eq("enforcer", "htb"))]
    device: Option<String>,
    /// With --enforcer htb: the speed of its link [default: the speed that the device reports]
    #[arg(long, value_name = "RATE")]
    link_rate: Option<String>,
    /// With --enforcer recorded: the file to which schedules are added, each a line of JSON
    #[arg(long, value_name = "FILE", required_if_eq("enforcer", "recorded"))]
    record: Option<PathBuf>,
    /// The share of a processor for compressing flows, if the policy compresses: idle (the idle
    /// share in /proc/stat), a number from 0 to 1, or none
    #[arg(long, value_name = "SHARE", default_value = "idle")]
    cpu: String,
    /// An address of this host, which tells policies that find coflows by themselves where flows
    /// go, and which devices are the host's links; may be repeated [default: all addresses of the
    /// host but those of loopback, links and bridges for containers]
    #[arg(long, value_name = "IP")]
    address: Vec<String>,
    #[command(flatten)]
    logs: Logs,
}

/// The names of all enforcers, with a line of help each.
fn enforcers() -> PossibleValuesParser {
    let value = |info: covey_agent::EnforcerInfo| PossibleValue::new(info.name).help(info.about);
    PossibleValuesParser::new(ENFORCERS.map(value))
}

/// The interval at which applications report bytes sent, and the agent asks the enforcer for
/// progress.
const REPORT_EVERY: Duration = Duration::from_millis(20);

impl Agent {
    /// Runs the agent until it is asked to end.
    pub fn run(self) -> Result<(), Failure> {
        self.logs.start();
        let (coordinator, address) = (&self.coordinator, &self.address);
        let processors = self.processors()?;
        let setup = self.setup()?;
        let certificates = AgentCertificates::start(self.shown.credentials())?;
        let joining = joining(self.port, coordinator, &self.shown, address, processors)?;
        let runtime = process::runtime_here()?;
        let MadeEnforcer { mut enforcer, woken } = runtime.block_on(self.enforcer(&setup))?;
        runtime.block_on(async {
            // Without certificates the signal asks for nothing, and is nothing to end for.
            let reload = process::asked_to_reload();
            if let Some(certificates) = certificates {
                tokio::spawn(certificates.keep(reload));
            }
            tokio::select! {
                joined = covey_agent::run_woken(&joining, enforcer.as_mut(), &woken) => {
                    joined.map_err(|error| Failure::Input(error.to_string()))
                }
                () = process::asked_to_end() => Ok(()),
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

    /// The settings of the enforcer.
    fn setup(&self) -> Result<Setup, Failure> {
        for (option, is_given, enforcer) in [
            ("--device", self.device.is_some(), "htb"),
            ("--link-rate", self.link_rate.is_some(), "htb"),
            ("--record", self.record.is_some(), "recorded"),
        ] {
            if is_given && self.enforcer != enforcer {
                let expected = format!("--enforcer {enforcer} with it");
                return Err(Failure::argument(option, expected, &self.enforcer));
            }
        }
        let link_rate = self.link_rate.as_ref().map(|text| quantity::rate("--link-rate", text));
        // Another agent on this machine may have the usual socket.
        let sockets = match &self.socket {
            Some(path) => vec![path.clone()],
            None => ["agent.sock", &format!("agent-{}.sock", self.port)]
                .map(|name| self.shown.path(name))
                .to_vec(),
        };
        Ok(Setup {
            port: self.port,
            sockets,
            socket: self.socket_options()?,
            report_every: REPORT_EVERY,
            device: self.device.clone(),
            link_rate: link_rate.transpose()?,
            record: self.record.clone(),
        })
    }

    /// Who may use the socket.
    fn socket_options(&self) -> Result<SocketOptions, Failure> {
        let mut options = SocketOptions::default();
        if let Some(text) = &self.socket_group {
            options.group = Some(group(text)?);
            options.mode = 0o660;
        }
        if let Some(text) = &self.socket_mode {
            let mode = u32::from_str_radix(text, 8).ok().filter(|mode| *mode <= 0o777);
            let expected = "a mode in octal, like 0660";
            options.mode = mode
                .ok_or_else(|| Failure::argument("--socket-mode", expected, format!("'{text}'")))?;
        }
        for (name, value) in
            [("--max-apps", self.max_apps), ("--max-apps-per-user", self.max_apps_per_user)]
        {
            quantity::within(name, value, 1..=process::MAX_CONNECTIONS)?;
        }
        (options.limits.max, options.limits.max_per_peer) = (self.max_apps, self.max_apps_per_user);
        Ok(options)
    }

    async fn enforcer(&self, setup: &Setup) -> Result<MadeEnforcer, Failure> {
        // The parser of arguments has checked the name.
        let info =
            ENFORCERS.iter().find(|info| info.name == self.enforcer).unwrap_or(&ENFORCERS[0]);
        info.make(setup).await.map_err(|error| Failure::Input(error.to_string()))
    }
}

/// How the agent of a port joins the coordinator at an address: with the certificate that is there,
/// or else the token.
pub fn joining(
    port: u32,
    coordinator: &str,
    shown: &Shown,
    named: &[String],
    processors: Processors,
) -> Result<Joining, Failure> {
    let coordinator = process::endpoint("--coordinator", coordinator)?;
    let port = quantity::within("--port", port, 0..=process::MAX_PORTS - 1)?;
    let credentials = shown.credentials();
    let tls = credentials.has_certificates().then(|| AgentTls::start(credentials)).transpose()?;
    let token = match tls {
        Some(_) => Vec::new(),
        None => shown.token()?.ok_or_else(|| shown.none(&coordinator))?,
    };
    let (ask_every, (addresses, devices)) = (REPORT_EVERY, addresses(named)?);
    Ok(Joining { coordinator, port, token, tls, ask_every, processors, addresses, devices })
}

/// The number of a group.
fn group(text: &str) -> Result<u32, Failure> {
    if let Ok(number) = text.parse() {
        return Ok(number);
    }
    let found = nix::unistd::Group::from_name(text);
    let found = found.map_err(|error| Failure::Other(format!("--socket-group: {error}")))?;
    let expected = "a group that this host knows";
    let group =
        found.ok_or_else(|| Failure::argument("--socket-group", expected, format!("'{text}'")))?;
    Ok(group.gid.as_raw())
}

/// The addresses that `--address` names, or else those of this host; and the devices that have
/// them.
fn addresses(named: &[String]) -> Result<(Vec<IpAddr>, Vec<String>), Failure> {
    let expected = "an address of IPv4 or IPv6";
    let read = |text: &String| {
        text.parse().map_err(|_| Failure::argument("--address", expected, format!("'{text}'")))
    };
    let named = named.iter().map(read).collect::<Result<Vec<IpAddr>, Failure>>()?;
    let found = if_addrs::get_if_addrs();
    let found = found.map_err(|error| Failure::Other(format!("network devices: {error}")))?;
    let is_of_host = |device: &&if_addrs::Interface| match named.as_slice() {
        [] => is_reached(device),
        named => named.contains(&device.ip()),
    };
    let of_host: Vec<&if_addrs::Interface> = found.iter().filter(is_of_host).collect();
    let devices: BTreeSet<String> = of_host.iter().map(|device| device.name.clone()).collect();
    let addresses = match named.is_empty() {
        true => of_host.iter().map(|device| device.ip()).collect(),
        false => named,
    };
    Ok((addresses, devices.into_iter().collect()))
}

/// Whether other hosts reach this one by the address of a device. Bridges for containers have the
/// same addresses on all hosts.
fn is_reached(device: &if_addrs::Interface) -> bool {
    let is_bridge =
        ["docker", "br-", "virbr", "cni", "veth"].iter().any(|name| device.name.starts_with(name));
    !(device.is_loopback() || device.is_link_local() || is_bridge)
}
