//! Shared parts of the live system's commands: credentials, logs, signals.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use covey_api::{CredentialError, Credentials, Endpoint, read_token};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use sd_notify::NotifyState;
use tokio::runtime::{Builder, Runtime};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::mpsc;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;

use super::log_limit::LogLimit;
use crate::failure::Failure;

/// The default address of the coordinator for clients.
pub const CLIENTS: &str = "127.0.0.1:7420";
/// The default address of the coordinator for agents.
pub const AGENTS: &str = "127.0.0.1:7421";
/// The default address of a relay for agents.
pub const RELAYED: &str = "127.0.0.1:7422";

/// The most ports of a fabric.
pub const MAX_PORTS: u32 = 1_000_000;
/// The most connections that a limit may allow; no process may open as many files.
pub const MAX_CONNECTIONS: usize = 1_000_000;
/// The most threads for connections.
pub const MAX_THREADS: usize = 1024;

/// The level and format of logs.
#[derive(Debug, clap::Args)]
pub struct Logs {
    /// Log from this level on: error, warn, info, debug or trace
    #[arg(long, value_name = "LEVEL", default_value = "info")]
    log: tracing::Level,
    /// Log lines of JSON instead of text
    #[arg(long)]
    log_json: bool,
}

impl Logs {
    /// Starts to log on standard error.
    pub fn start(&self) {
        // The reader of the log may go away. The process must not stop then, as it would if it
        // reported this on the same standard error.
        let limit = LogLimit::default();
        let builder = tracing_subscriber::fmt()
            .log_internal_errors(false)
            .with_max_level(self.log)
            .with_target(false)
            .with_writer(std::io::stderr);
        if self.log_json {
            builder.json().finish().with(limit.clone()).init();
        } else {
            builder.with_ansi(false).finish().with(limit.clone()).init();
        }
        limit.count();
    }
}

/// The credentials of a process that connects.
#[derive(Debug, Clone, clap::Args)]
pub struct Shown {
    /// Folder with the coordinator's credentials, or with a copy of the needed ones
    #[arg(long, value_name = "FOLDER", default_value = "covey-data")]
    credentials: PathBuf,
}

impl Shown {
    /// All credentials of the folder.
    pub fn credentials(&self) -> Credentials {
        Credentials::of(&self.credentials)
    }

    /// A file of the folder.
    pub fn path(&self, name: &str) -> PathBuf {
        self.credentials.join(name)
    }

    /// The token, if the folder has one.
    pub fn token(&self) -> Result<Option<Vec<u8>>, Failure> {
        let path = self.credentials().token_path();
        if path.exists() { Ok(Some(read_token(&path)?)) } else { Ok(None) }
    }

    /// The error for a folder without a token.
    pub fn none(&self, coordinator: &Endpoint) -> Failure {
        none_in(&self.credentials, coordinator)
    }
}

fn none_in(folder: &Path, coordinator: &Endpoint) -> Failure {
    let folder = folder.display();
    Failure::Input(format!(
        "--credentials: expected a folder with a token, found none in {folder}: covey serve --data {folder} starts a \
         coordinator and makes it; for the one at {coordinator}, copy its token there"
    ))
}

impl From<CredentialError> for Failure {
    fn from(error: CredentialError) -> Self {
        Failure::Input(error.to_string())
    }
}

/// A runtime with a number of threads for connections.
pub fn runtime(threads: usize) -> Result<Runtime, Failure> {
    let runtime = Builder::new_multi_thread().worker_threads(threads).enable_all().build();
    runtime.map_err(|error| Failure::Other(format!("threads: {error}")))
}

/// A runtime in this thread alone. One task can continue after another without a wake-up of another
/// thread.
pub fn runtime_here() -> Result<Runtime, Failure> {
    let runtime = Builder::new_current_thread().enable_all().build();
    runtime.map_err(|error| Failure::Other(format!("runtime: {error}")))
}

/// Completes when the process receives a signal to end, from this call on. It is called in a
/// runtime.
pub fn asked_to_end() -> impl Future<Output = ()> {
    let signals = (signal(SignalKind::terminate()), signal(SignalKind::interrupt()));
    async move {
        let (Ok(mut term), Ok(mut int)) = signals else {
            // Without handlers the signals end the process by themselves.
            return std::future::pending().await;
        };
        tokio::select! {
            _ = term.recv() => {}
            _ = int.recv() => {}
        }
    }
}

/// Reads an address from an argument. With port 0 the system chooses a port to listen at.
pub fn address(argument: &str, text: &str) -> Result<SocketAddr, Failure> {
    text.parse().map_err(|_| {
        Failure::argument(argument, "an address like 127.0.0.1:7420", format!("'{text}'"))
    })
}

/// Refuses an address for probes that equals one of `others`, each with its name.
pub fn check_apart(
    others: &[(&str, SocketAddr)],
    health: Option<SocketAddr>,
) -> Result<(), Failure> {
    // With port 0 the system chooses a port of its own.
    let Some(health) = health.filter(|address| address.port() != 0) else { return Ok(()) };
    match others.iter().find(|(_, other)| *other == health) {
        None => Ok(()),
        Some((name, _)) => {
            Err(Failure::argument("--health", format!("another address than {name}"), health))
        }
    }
}

/// Reads the host and the port of a process to connect to from an argument.
pub fn endpoint(argument: &str, text: &str) -> Result<Endpoint, Failure> {
    let endpoint: Endpoint = text
        .parse()
        .map_err(|error| Failure::Input(format!("{argument}: {error}, found '{text}'")))?;
    if endpoint.port() == 0 {
        return Err(Failure::argument(argument, "a port above 0", endpoint));
    }
    Ok(endpoint)
}

/// Tells the service manager, if there is one, that the process is ready, and from now on that it
/// works, as often as that wants to hear it. `busy_s` says for how many seconds the process has
/// been at one thing.
pub fn tell_service_manager(busy_s: impl Fn() -> f64 + Send + 'static) {
    // Without it there is nobody to tell.
    let tell = |state| _ = sd_notify::notify(&[state]);
    tell(NotifyState::Ready);
    let Some(patience) = sd_notify::watchdog_enabled() else { return };
    tokio::spawn(async move {
        loop {
            tokio::time::sleep(patience / 4).await;
            if busy_s() < patience.as_secs_f64() / 2.0 {
                tell(NotifyState::Watchdog);
            }
        }
    });
}

/// Messages when the process receives SIGHUP, which asks it to read its credentials again. Must be
/// called in a runtime.
pub fn asked_to_reload() -> mpsc::Receiver<()> {
    let (sender, receiver) = mpsc::channel(1);
    // Without a handler the signal ends the process.
    if let Ok(mut hangup) = signal(SignalKind::hangup()) {
        tokio::spawn(async move {
            while hangup.recv().await.is_some() {
                // Several signals at once are one.
                let _ = sender.try_send(());
            }
        });
    }
    receiver
}

/// Files that a process needs beside its connections.
const OTHER_FILES: usize = 64;

/// Raises the limit of open files as far as the system allows, and warns if it is too low for so
/// many connections.
pub fn check_files(connections: usize) {
    let limit = getrlimit(Resource::Nofile);
    // It may stay as it is: then the warning says so.
    let _ = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, ..limit });
    let needed = (connections + OTHER_FILES) as u64;
    if let Some(files) = getrlimit(Resource::Nofile).current.filter(|files| *files < needed) {
        tracing::warn!(
            files,
            needed,
            "fewer files may be open (ulimit -n) than the limits of connections need"
        );
    }
}
