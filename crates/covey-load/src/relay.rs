//! A relay between hosts and the coordinator.

use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use crate::coordinator::{Coordinator, printed};
use crate::error::LoadError;

/// A relay in a process of its own. The process is killed when this is dropped.
pub struct Relay {
    process: Child,
    /// The address for agents.
    pub agents: SocketAddr,
}

impl Relay {
    /// Starts a relay of a coordinator.
    ///
    /// # Errors
    /// When the relay ends before it listens. It has printed the reason.
    pub fn start(covey: &Path, coordinator: &Coordinator) -> Result<Relay, LoadError> {
        let mut process = Command::new(covey)
            .args(["relay", "--listen", "127.0.0.1:0", "--max-agents", "19900", "--log", "warn"])
            // All agents have one address.
            .args(["--max-agents-per-peer", "19900"])
            .args(["--coordinator", &coordinator.agents.to_string()])
            .arg("--credentials")
            .arg(coordinator.relay_credentials())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(LoadError::Start)?;
        let mut lines = BufReader::new(process.stdout.take().ok_or(LoadError::Ended)?).lines();
        match printed(&mut lines, "agents") {
            Some(agents) => Ok(Relay { process, agents }),
            None => {
                // The process has ended, or will soon.
                let _ = process.kill();
                let _ = process.wait();
                Err(LoadError::Ended)
            }
        }
    }

    /// Its resident memory in KiB, and the CPU that it has used in seconds; NaN where the system
    /// does not tell.
    pub fn used(&self) -> (f64, f64) {
        let file = |name: &str| {
            let path = format!("/proc/{}/{name}", self.process.id());
            std::fs::read_to_string(path).unwrap_or_default()
        };
        let field = |text: &str| text.parse::<f64>().unwrap_or(f64::NAN);
        let status = file("status");
        let resident = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
        let resident = resident.and_then(|line| line.split_whitespace().next());
        // In ticks of 10 ms, after the name of the program, which ends with a bracket.
        let stat = file("stat");
        let fields = stat.rsplit(')').next().unwrap_or_default().split_whitespace();
        let ticks: f64 = fields.skip(11).take(2).map(field).sum();
        (resident.map_or(f64::NAN, field), ticks / 100.0)
    }
}

impl Drop for Relay {
    fn drop(&mut self) {
        // The process may have ended.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
