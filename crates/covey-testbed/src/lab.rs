//! The machines of a testbed: network namespaces, or one machine's loopback.

use std::fs::File;
use std::io::Read;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::error::TestbedError;
use crate::links::Links;
use crate::marks::Marks;
use crate::network::{self, AGENTS, CLIENTS, FLOWS};
use crate::processes::Process;

/// Emulated hosts on this machine. They exist as long as this value.
pub struct Lab {
    hosts: u32,
    /// `None`: all hosts share the namespace of this process.
    namespaces: Option<Namespaces>,
}

/// Network namespaces with these links.
struct Namespaces {
    links: Links,
    /// What marks packets there.
    _marks: Option<Marks>,
    /// The process that removes the namespaces if this one cannot.
    _warden: Process,
    /// A lock on their names.
    _lock: File,
}

/// The machine that a process runs on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Where {
    /// The switch that has the coordinator.
    Switch,
    Host(u32),
}

fn lock() -> Result<File, TestbedError> {
    let path: PathBuf = std::env::temp_dir().join("covey-testbed.lock");
    let error = |source| TestbedError::File { path: path.clone(), source };
    let file = File::options().create(true).truncate(false).write(true).open(&path);
    let file = file.map_err(error)?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(std::fs::TryLockError::WouldBlock) => Err(TestbedError::Busy(path)),
        Err(std::fs::TryLockError::Error(source)) => Err(error(source)),
    }
}

impl Lab {
    /// Whether this process may make namespaces.
    pub fn may_isolate() -> bool {
        rustix::process::geteuid().is_root()
    }

    /// Makes namespaces for hosts and switches, after removing those of an earlier testbed.
    /// `program` is this program: it is started once more as the warden, which removes everything
    /// if this process is killed.
    ///
    /// # Errors
    /// The system cannot make them.
    pub fn isolated(links: Links, program: &Path) -> Result<Lab, TestbedError> {
        let lock = lock()?;
        network::tear_down()?;
        let mut command = Command::new(program);
        let warden = Process::start("warden", command.args(["testbed-part", "warden"]), None)?;
        let namespaces = Namespaces { links, _marks: None, _warden: warden, _lock: lock };
        let mut lab = Lab { hosts: links.hosts, namespaces: Some(namespaces) };
        network::build(&links)?;
        if let (Some(namespaces), Some(waited)) = (&mut lab.namespaces, links.ecn) {
            namespaces._marks = Some(Marks::start(&links, waited)?);
        }
        Ok(lab)
    }

    /// `hosts` processes on loopback, without a limit of links.
    pub fn loopback(hosts: u32) -> Lab {
        Lab { hosts, namespaces: None }
    }

    /// Number of hosts.
    pub fn hosts(&self) -> u32 {
        self.hosts
    }

    /// The links, if hosts have their own.
    fn links(&self) -> Option<&Links> {
        self.namespaces.as_ref().map(|namespaces| &namespaces.links)
    }

    fn is_isolated(&self) -> bool {
        self.links().is_some()
    }

    /// The name of this kind of lab in reports.
    pub fn name(&self) -> &'static str {
        if self.is_isolated() { "namespaces" } else { "loopback" }
    }

    /// A command of the coordinator or an agent. It gets a higher priority than applications: in a
    /// cluster it would not wait for the processors of other hosts, but here all share a few.
    pub(crate) fn control(&self, location: Where, program: &Path) -> Command {
        if !self.is_isolated() {
            return Command::new(program);
        }
        let mut command = self.command(location, Path::new("nice"));
        command.args(["-n", "-10"]).arg(program);
        command
    }

    /// A command on a host that sees the machine's control groups. `ip netns exec` would hide them.
    pub(crate) fn attached(&self, host: u32, program: &Path) -> Command {
        let mut command = Command::new("nsenter");
        command.arg(format!("--net=/run/netns/{}", network::host_name(host)));
        command.args(["nice", "-n", "-10"]).arg(program);
        command
    }

    /// A command that runs on that machine.
    pub(crate) fn command(&self, location: Where, program: &Path) -> Command {
        let Some(links) = self.links() else { return Command::new(program) };
        let name = match location {
            Where::Switch => links.first_switch().name(),
            Where::Host(host) => network::host_name(host),
        };
        let mut command = Command::new("ip");
        command.args(["netns", "exec", &name]).arg(program);
        command
    }

    /// Bytes that all hosts have sent so far, as the interfaces of their switches count them;
    /// `None` on loopback. Segments that the kernel passes on together count with one header.
    pub(crate) fn wire_bytes(&self) -> Result<Option<f64>, TestbedError> {
        let Some(links) = self.links() else { return Ok(None) };
        let switches = links.switches().into_iter().filter(|it| !links.hosts_of(*it).is_empty());
        let mut counts: Vec<f64> = Vec::new();
        for switch in switches {
            let counters = "cat /sys/class/net/h*/statistics/rx_bytes";
            let mut command = Command::new("ip");
            let said = command.args(["netns", "exec", &switch.name(), "sh", "-c", counters]);
            let said = said.output()?;
            let lines = String::from_utf8_lossy(&said.stdout);
            counts.extend(lines.lines().filter_map(|line| line.parse::<f64>().ok()));
        }
        if counts.len() != self.hosts() as usize {
            let what = format!("counters of {} of {} links", counts.len(), self.hosts());
            return Err(TestbedError::Tool { program: "ip netns exec".to_owned(), what });
        }
        Ok(Some(counts.iter().sum()))
    }

    /// Connects or cuts a host's link.
    pub(crate) fn set_link(&self, host: u32, up: bool) -> Result<(), TestbedError> {
        self.links().map_or(Ok(()), |links| network::set_link(links, host, up))
    }

    /// The address where a host listens for flows; on loopback with port 0.
    pub(crate) fn listen_address(&self, host: u32) -> SocketAddr {
        if self.is_isolated() {
            SocketAddr::new(network::host_address(host), FLOWS)
        } else {
            SocketAddr::new(Ipv4Addr::LOCALHOST.into(), 0)
        }
    }

    /// The addresses where the coordinator listens for clients and for agents; on loopback with
    /// port 0.
    pub(crate) fn coordinator(&self) -> (SocketAddr, SocketAddr) {
        let (address, clients, agents) = if self.is_isolated() {
            (network::coordinator_address(), CLIENTS, AGENTS)
        } else {
            (IpAddr::from(Ipv4Addr::LOCALHOST), 0, 0)
        };
        (SocketAddr::new(address, clients), SocketAddr::new(address, agents))
    }

    /// The name in the coordinator's certificate, if it needs one.
    pub(crate) fn certified(&self) -> Option<String> {
        self.is_isolated().then(|| network::coordinator_address().to_string())
    }
}

impl Drop for Lab {
    fn drop(&mut self) {
        if self.is_isolated() {
            // The warden or the next testbed removes what is left.
            let _ = network::tear_down();
        }
    }
}

/// Waits for the end of standard input, which comes when the process at its other end exits or is
/// killed; then removes the testbed.
///
/// # Errors
/// The testbed cannot be removed.
pub fn warden() -> Result<(), TestbedError> {
    std::io::stdin().read_to_end(&mut Vec::new())?;
    network::tear_down()
}
