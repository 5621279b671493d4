//! The coordinator under load.

use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};

use crate::entry::AgentEntry;
use crate::error::LoadError;
use covey_api::{Client, Credentials, read_token};

/// The address of relays.
const RELAY: &str = "127.0.0.1";

/// The address that a process prints in its next line, after a name.
pub(crate) fn printed(
    lines: &mut std::io::Lines<BufReader<ChildStdout>>,
    name: &str,
) -> Option<SocketAddr> {
    lines.next()?.ok()?.strip_prefix(name)?.trim().parse().ok()
}

/// A coordinator in a process of its own. The process is killed when this is dropped.
pub struct Coordinator {
    process: Child,
    clients: SocketAddr,
    /// The address for agents.
    pub agents: SocketAddr,
    /// The credential of clients, and of agents without TLS.
    pub token: Vec<u8>,
    /// The folder with its journal.
    folder: tempfile::TempDir,
    tls: bool,
}

impl Coordinator {
    /// Starts the program `covey` with a new folder in `parent`; with mutual TLS if `tls`, also for
    /// relays on this machine.
    ///
    /// # Errors
    /// When the coordinator ends before it listens. It has printed the reason.
    pub fn start(
        covey: &Path,
        parent: &Path,
        tls: bool,
        arguments: &[&str],
    ) -> Result<Coordinator, LoadError> {
        let folder = tempfile::tempdir_in(parent).map_err(LoadError::Start)?;
        let data = folder.path().join("data");
        if tls {
            let mut init = Command::new(covey);
            init.args(["serve", "--init", "--relay", RELAY, "--data"]).arg(&data);
            let made = init.output();
            if !made.map_err(LoadError::Start)?.status.success() {
                return Err(LoadError::Ended);
            }
        }
        let mut process = Command::new(covey)
            .args(["serve", "--clients", "127.0.0.1:0", "--agents", "127.0.0.1:0"])
            .arg("--data")
            .arg(&data)
            .args(arguments)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(LoadError::Start)?;
        let out = process.stdout.take().ok_or(LoadError::Ended)?;
        let mut lines = BufReader::new(out).lines();
        let addresses = (printed(&mut lines, "clients"), printed(&mut lines, "agents"));
        let (Some(clients), Some(agents)) = addresses else {
            // The process has ended, or will soon.
            let _ = process.kill();
            let _ = process.wait();
            return Err(LoadError::Ended);
        };
        let token = read_token(&data.join("token"))?;
        Ok(Coordinator { process, clients, agents, token, folder, tls })
    }

    /// The folder with its journal and its credentials.
    pub fn data(&self) -> PathBuf {
        self.folder.path().join("data")
    }

    /// The folder with the credentials of relays.
    pub fn relay_credentials(&self) -> PathBuf {
        let data = self.data();
        if self.tls { data.join("relays").join(RELAY) } else { data }
    }

    fn credentials(&self) -> Credentials {
        Credentials::of(&self.data())
    }

    /// Where its agents join without a relay.
    ///
    /// # Errors
    /// When the credentials cannot be used.
    pub fn entry(&self) -> Result<AgentEntry, LoadError> {
        AgentEntry::new(self.agents, &self.data())
    }

    /// Connects to the REST API.
    ///
    /// # Errors
    /// When the connection cannot be made.
    pub async fn client(&self) -> Result<Client, LoadError> {
        let tls = self.tls.then(|| self.credentials().client()).transpose()?;
        Ok(Client::connect(self.clients, &self.token, tls).await?)
    }
}

impl Drop for Coordinator {
    fn drop(&mut self) {
        // The process may have ended.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
