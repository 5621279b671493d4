//! Where hosts are.

use std::fs::File;
use std::io::Read;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::error::TestbedError;
use crate::network::{self, AGENTS, CLIENTS, FLOWS};
use crate::processes::Process;

/// Hosts on this machine, for as long as the value lives.
pub struct Lab {
    hosts: u32,
    kind: Kind,
}

enum Kind {
    /// In network namespaces, whose names only one may use, with somebody who removes them when this
    /// process cannot.
    Namespaces { _warden: Process, _lock: File },
    /// All in the namespace of this process.
    Loopback,
}

/// Who runs a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Where {
    Router,
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

    /// `hosts` namespaces on links of `link_bps` bits per second. What an earlier testbed has left is
    /// removed first. `program` is this program, which is started once more to remove all when this
    /// process is killed.
    ///
    /// # Errors
    /// When the system does not make them.
    pub fn isolated(hosts: u32, link_bps: f64, program: &Path) -> Result<Lab, TestbedError> {
        let lock = lock()?;
        network::tear_down()?;
        let mut command = Command::new(program);
        let warden = Process::start("warden", command.args(["testbed-part", "warden"]), None)?;
        let lab = Lab { hosts, kind: Kind::Namespaces { _warden: warden, _lock: lock } };
        network::build(hosts, link_bps)?;
        Ok(lab)
    }

    /// `hosts` processes on loopback: no link limits them.
    pub fn loopback(hosts: u32) -> Lab {
        Lab { hosts, kind: Kind::Loopback }
    }

    /// Number of hosts.
    pub fn hosts(&self) -> u32 {
        self.hosts
    }

    fn is_isolated(&self) -> bool {
        matches!(self.kind, Kind::Namespaces { .. })
    }

    /// What reports call it.
    pub fn name(&self) -> &'static str {
        if self.is_isolated() { "namespaces" } else { "loopback" }
    }

    /// A command of the coordinator or an agent, that runs there. In a cluster they would not wait for the
    /// applications of other hosts to let go of a processor; here, where all share a few, they go first.
    pub(crate) fn control(&self, place: Where, program: &Path) -> Command {
        if !self.is_isolated() {
            return Command::new(program);
        }
        let mut command = self.command(place, Path::new("nice"));
        command.args(["-n", "-10"]).arg(program);
        command
    }

    /// A command that runs there.
    pub(crate) fn command(&self, place: Where, program: &Path) -> Command {
        if !self.is_isolated() {
            return Command::new(program);
        }
        let name = match place {
            Where::Router => network::router_name(),
            Where::Host(host) => network::host_name(host),
        };
        let mut command = Command::new("ip");
        command.args(["netns", "exec", &name]).arg(program);
        command
    }

    /// Bytes that all hosts have given to their links so far, as the router's interfaces count them; nothing
    /// on loopback. Many segments that are handed over at once count with one header.
    pub(crate) fn wire_bytes(&self) -> Result<Option<f64>, TestbedError> {
        if !self.is_isolated() {
            return Ok(None);
        }
        let mut command = self.command(Where::Router, Path::new("sh"));
        command.args(["-c", "cat /sys/class/net/h*/statistics/rx_bytes"]);
        let said = command.output()?;
        let counts = String::from_utf8_lossy(&said.stdout);
        let counts: Vec<f64> = counts.lines().filter_map(|line| line.parse().ok()).collect();
        if counts.len() != self.hosts() as usize {
            let what = format!("counters of {} of {} links", counts.len(), self.hosts());
            return Err(TestbedError::Tool { program: "ip netns exec".to_owned(), what });
        }
        Ok(Some(counts.iter().sum()))
    }

    /// Has a host's link carry something, or nothing.
    pub(crate) fn set_link(&self, host: u32, up: bool) -> Result<(), TestbedError> {
        if self.is_isolated() { network::set_link(host, up) } else { Ok(()) }
    }

    /// Where a host listens for flows; on loopback with any port.
    pub(crate) fn listen_address(&self, host: u32) -> SocketAddr {
        if self.is_isolated() {
            SocketAddr::new(network::host_address(host), FLOWS)
        } else {
            SocketAddr::new(Ipv4Addr::LOCALHOST.into(), 0)
        }
    }

    /// Where the coordinator listens: for clients, and for agents; on loopback with any port.
    pub(crate) fn coordinator(&self) -> (SocketAddr, SocketAddr) {
        let (address, clients, agents) = if self.is_isolated() {
            (network::coordinator_address(), CLIENTS, AGENTS)
        } else {
            (IpAddr::from(Ipv4Addr::LOCALHOST), 0, 0)
        };
        (SocketAddr::new(address, clients), SocketAddr::new(address, agents))
    }

    /// The name in the coordinator's certificate, where it needs one.
    pub(crate) fn certified(&self) -> Option<String> {
        self.is_isolated().then(|| network::coordinator_address().to_string())
    }
}

impl Drop for Lab {
    fn drop(&mut self) {
        if self.is_isolated() {
            // What is left, the warden removes, or the next testbed.
            let _ = network::tear_down();
        }
    }
}

/// Waits until standard input ends, which it does with the process at its other end, however that
/// ends; then removes the testbed.
///
/// # Errors
/// When it cannot be removed.
pub fn warden() -> Result<(), TestbedError> {
    std::io::stdin().read_to_end(&mut Vec::new())?;
    network::tear_down()
}
