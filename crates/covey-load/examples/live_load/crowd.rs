//! Many hosts: in this process, or behind relays and in processes of their own.

use std::io::{Read, Write};
use std::ops::Range;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use crate::Result;
use covey_load::{AgentEntry, Coordinator, Hosts, Relay, Sizes, all_joined};
use covey_trace::{Coflow, Flow};

/// The coflows of the hosts.
#[derive(Debug, Clone, Copy, clap::Args)]
pub struct Work {
    /// Coflows that stay until the end, of a flow each
    #[arg(long)]
    pub present: u32,
    /// After these, coflows of 27 flows, each from a host of its own
    #[arg(long)]
    pub coflows: u32,
    /// The ports of the fabric
    #[arg(long)]
    pub agents: u32,
}

impl Work {
    /// All of them, in the order in which they are registered.
    pub fn all(self) -> Sizes {
        let flow = |k: u32, f: u32, bytes: f64| Flow {
            src: (k * 31 + f * 997) % self.agents,
            dst: (k * 57 + f * 613 + 1) % self.agents,
            bytes,
            start_s: 0.0,
        };
        let flows = |k: u32| match k < self.present {
            true => vec![flow(k, 0, 1e15)],
            false => (0..27).map(|f| flow(k, f, 1e6)).collect(),
        };
        let coflow = |k: u32| Coflow::new(k.to_string(), 0.0, flows(k));
        Arc::new((0..self.present + self.coflows).map(coflow).collect())
    }
}

/// The hosts of some ports, as arguments of a process.
#[derive(Debug, Clone, clap::Args)]
pub struct Part {
    /// Where they join
    #[arg(long)]
    to: std::net::SocketAddr,
    /// The folder with their credentials
    #[arg(long)]
    credentials: PathBuf,
    /// The first port, and how many there are
    #[arg(long)]
    first: u32,
    #[arg(long)]
    count: u32,
    #[command(flatten)]
    work: Work,
    /// Whether hosts confirm schedules
    #[arg(long)]
    confirms: bool,
}

impl Part {
    /// Runs the hosts until standard input ends. A line there says that all have joined. Prints how
    /// many were lost.
    pub async fn run(self) -> Result<()> {
        let entry = AgentEntry::new(self.to, &self.credentials)?;
        let (ports, sizes) = (self.first..self.first + self.count, self.work.all());
        let hosts = Hosts::begin(entry, ports, sizes, self.confirms).await;
        let listen = move || {
            std::io::stdin()
                .lines()
                .map_while(std::io::Result::ok)
                .for_each(|_| hosts.have_joined());
            hosts
        };
        let hosts = tokio::task::spawn_blocking(listen).await?;
        println!("{} {}", hosts.lost(), hosts.last_failure());
        Ok(())
    }

    /// Starts a process with the hosts.
    fn spawn(&self) -> Result<Child> {
        let mut command = Command::new(std::env::current_exe()?);
        command.args(["hosts", "--to", &self.to.to_string()]);
        command.arg("--credentials").arg(&self.credentials);
        for (name, number) in [
            ("--first", self.first),
            ("--count", self.count),
            ("--present", self.work.present),
            ("--coflows", self.work.coflows),
            ("--agents", self.work.agents),
        ] {
            command.args([name, &number.to_string()]);
        }
        command.args(self.confirms.then_some("--confirms"));
        Ok(command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?)
    }
}

/// Hosts in a process of their own. It is killed when this is dropped.
pub struct HostProcess(Child);

impl HostProcess {
    fn have_joined(&mut self) -> Result<()> {
        Ok(self.0.stdin.as_mut().ok_or("no standard input")?.write_all(b"joined\n")?)
    }

    /// Ends it. Returns how many of its hosts have lost their connection.
    fn end(&mut self) -> Result<u64> {
        drop(self.0.stdin.take());
        let mut said = String::new();
        self.0.stdout.take().ok_or("no standard output")?.read_to_string(&mut said)?;
        Ok(said.split_whitespace().next().unwrap_or_default().parse()?)
    }
}

impl Drop for HostProcess {
    fn drop(&mut self) {
        // It may have ended.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Hosts that have joined.
pub enum Crowd {
    /// In this process.
    Here(Hosts),
    /// In processes of their own, each behind a relay.
    Behind(Vec<HostProcess>),
}

impl Crowd {
    /// Has hosts join, through relays if there are any.
    pub async fn join(
        coordinator: &Coordinator,
        relays: &[Relay],
        work: Work,
        confirms: bool,
    ) -> Result<Crowd> {
        let agents = work.agents;
        if relays.is_empty() {
            let sizes = work.all();
            return Ok(Crowd::Here(Hosts::start(coordinator, agents, sizes, confirms).await?));
        }
        let mut processes = Vec::new();
        for (relay, ports) in relays.iter().zip(shares(agents, relays.len() as u32)) {
            let credentials = coordinator.data();
            let (first, count) = (ports.start, ports.len() as u32);
            let part = Part { to: relay.agents, credentials, first, count, work, confirms };
            processes.push(HostProcess(part.spawn()?));
        }
        all_joined(coordinator, agents, || "the processes of the hosts say why".to_owned()).await?;
        processes.iter_mut().try_for_each(HostProcess::have_joined)?;
        tokio::time::sleep(Duration::from_millis(500)).await;
        Ok(Crowd::Behind(processes))
    }

    /// Ends the hosts. Returns how many have lost their connection.
    pub fn end(self) -> Result<u64> {
        match self {
            Crowd::Here(hosts) => Ok(hosts.lost()),
            Crowd::Behind(mut processes) => processes.iter_mut().map(HostProcess::end).sum(),
        }
    }
}

/// Ports in so many parts of about the same length.
fn shares(ports: u32, parts: u32) -> impl Iterator<Item = Range<u32>> {
    let end = move |k: u32| (u64::from(ports) * u64::from(k) / u64::from(parts)) as u32;
    (0..parts).map(move |k| end(k)..end(k + 1))
}
