//! The coordinator under load, and what the system says of its process.

use std::fs;
use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;

use covey_coordinator::{Client, Credentials, read_token};
use tokio_rustls::rustls::ClientConfig;

use crate::LoadError;

/// A coordinator in a process of its own, which is killed when this is dropped.
pub struct Coordinator {
    process: Child,
    clients: SocketAddr,
    /// Where agents connect.
    pub agents: SocketAddr,
    /// What clients show, and agents where there is no TLS.
    pub token: Vec<u8>,
    /// With its journal.
    folder: tempfile::TempDir,
    tls: bool,
}

impl Coordinator {
    /// Starts the program `covey` with a new folder in `parent`; with mutual TLS if `tls`.
    ///
    /// # Errors
    /// When it does not come to listen; it has said why on standard error.
    pub fn start(
        covey: &Path,
        parent: &Path,
        tls: bool,
        arguments: &[&str],
    ) -> Result<Coordinator, LoadError> {
        let folder = tempfile::tempdir_in(parent).map_err(LoadError::Start)?;
        let data = folder.path().join("data");
        if tls {
            Credentials::of(&data).init(&[])?;
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
            // It has ended, or is about to.
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

    /// How agents connect, if by TLS.
    ///
    /// # Errors
    /// When the certificates cannot be used.
    pub fn agent_tls(&self) -> Result<Option<Arc<ClientConfig>>, LoadError> {
        Ok(self.tls.then(|| self.credentials().agent()).transpose()?)
    }

    /// A connection for requests.
    ///
    /// # Errors
    /// When there is none.
    pub async fn client(&self) -> Result<Client, LoadError> {
        let tls = self.tls.then(|| self.credentials().client()).transpose()?;
        Ok(Client::connect(self.clients, &self.token, tls).await?)
    }

    /// Resident memory in KiB.
    ///
    /// # Errors
    /// When the system does not tell.
    pub fn resident_kib(&self) -> Result<f64, LoadError> {
        let status = self.look("status")?;
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
        let number = line.and_then(|line| line.split_whitespace().next());
        let number = number.and_then(|number| number.parse().ok());
        number.ok_or_else(|| LoadError::Process("no VmRSS".to_owned()))
    }

    /// User and system CPU of the whole process, in seconds.
    ///
    /// # Errors
    /// When the system does not tell.
    pub fn cpu_s(&self) -> Result<f64, LoadError> {
        let stat = self.look("stat")?;
        let fields = stat.rsplit_once(')').map_or("", |(_, fields)| fields);
        let ticks = |k: usize| fields.split_whitespace().nth(k).and_then(|f| f.parse::<f64>().ok());
        let ticks = ticks(11).zip(ticks(12));
        let (user, system) = ticks.ok_or_else(|| LoadError::Process("no ticks".to_owned()))?;
        // A tick is 10 ms wherever Linux runs today.
        Ok((user + system) / 100.0)
    }

    fn look(&self, file: &str) -> Result<String, LoadError> {
        let path = format!("/proc/{}/{file}", self.process.id());
        fs::read_to_string(&path).map_err(|error| LoadError::Process(format!("{path}: {error}")))
    }
}

impl Drop for Coordinator {
    fn drop(&mut self) {
        // It may have ended.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
