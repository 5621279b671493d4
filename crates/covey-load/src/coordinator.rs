//! The coordinator under load.

use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;

use covey_api::{Client, Credentials, read_token};
use tokio_rustls::rustls::ClientConfig;

use crate::error::LoadError;

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
    /// Starts the program `covey` with a new folder in `parent`; with mutual TLS if `tls`.
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
            let made = Command::new(covey).args(["serve", "--init", "--data"]).arg(&data).output();
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
        let mut address = |name: &str| {
            let line = lines.next().and_then(Result::ok);
            line.and_then(|line| line.trim_start_matches(name).trim().parse().ok())
        };
        let addresses = (address("clients"), address("agents"));
        let (Some(clients), Some(agents)) = addresses else {
            // The process has ended, or will soon.
            let _ = process.kill();
            let _ = process.wait();
            return Err(LoadError::Ended);
        };
        let token = read_token(&data.join("token"))?;
        Ok(Coordinator { process, clients, agents, token, folder, tls })
    }

    fn credentials(&self) -> Credentials {
        Credentials::of(&self.folder.path().join("data"))
    }

    /// The TLS configuration of agents, if they use TLS.
    ///
    /// # Errors
    /// When the certificates cannot be used.
    pub fn agent_tls(&self) -> Result<Option<Arc<ClientConfig>>, LoadError> {
        Ok(self.tls.then(|| self.credentials().agent()).transpose()?)
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
