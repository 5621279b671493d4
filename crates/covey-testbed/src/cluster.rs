//! The processes of a testbed: coordinator, agents, and the applications of hosts.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, Sender};
use std::time::{Duration, Instant};

use covey_credentials::Authority;

use crate::error::TestbedError;
use crate::faults::Broken;
use crate::lab::{Lab, Where};
use crate::processes::{Process, Said};
use crate::setup::{Replay, Scheduler};

/// Maximum time until all processes are ready.
const READY_WITHIN: Duration = Duration::from_secs(30);

/// All processes of one contender. Their output comes with the number of a process: hosts are
/// numbered from 0, the coordinator follows them, and the watcher follows the coordinator.
pub(crate) struct Cluster<'a> {
    lab: &'a Lab,
    replay: &'a Replay<'a>,
    folder: &'a Path,
    sender: Sender<Said>,
    /// The coordinator's addresses for clients and for agents, as soon as it listens.
    addresses: Option<(SocketAddr, SocketAddr)>,
    coordinator: Option<Process>,
    agents: Vec<Option<Process>>,
    hosts: Vec<Option<Process>>,
    /// The process that watches which coflows the coordinator finds.
    watcher: Option<Process>,
    /// CPU seconds of killed coordinators and of killed agents.
    past_cpu_s: (f64, f64),
    /// Numbers of processes that have been killed and whose output has not ended.
    killed: Vec<usize>,
}

impl<'a> Cluster<'a> {
    /// Starts all processes and waits until they are ready. Their output comes through `said`.
    pub fn start(
        lab: &'a Lab,
        replay: &'a Replay<'a>,
        folder: &'a Path,
        sender: Sender<Said>,
        said: &Receiver<Said>,
    ) -> Result<Cluster<'a>, TestbedError> {
        let mut cluster = Cluster {
            lab,
            replay,
            folder,
            sender,
            addresses: None,
            coordinator: None,
            agents: Vec::new(),
            hosts: Vec::new(),
            watcher: None,
            past_cpu_s: (0.0, 0.0),
            killed: Vec::new(),
        };
        if let Scheduler::Policy(_) | Scheduler::Unmodified { .. } = replay.scheduler {
            if let Some(name) = lab.certified() {
                Authority::of(&cluster.data()).init(&[name])?;
            }
            cluster.start_coordinator()?;
            cluster.addresses = Some(cluster.hear_addresses(said)?);
            for host in 0..lab.hosts() {
                cluster.agents.push(None);
                cluster.start_agent(host)?;
            }
        }
        for host in 0..lab.hosts() {
            let process = cluster.start_host(host)?;
            cluster.hosts.push(Some(process));
        }
        cluster.introduce(said)?;
        if let Scheduler::Unmodified { .. } = replay.scheduler {
            cluster.start_watcher(said)?;
        }
        Ok(cluster)
    }

    fn data(&self) -> PathBuf {
        self.folder.join("data")
    }

    fn agent_socket(&self, host: u32) -> PathBuf {
        self.folder.join(format!("agent-{host}.sock"))
    }

    fn start_coordinator(&mut self) -> Result<(), TestbedError> {
        let (lab, replay) = (self.lab, self.replay);
        let (Scheduler::Policy(policy) | Scheduler::Unmodified { policy, .. }) = replay.scheduler
        else {
            return Ok(());
        };
        let (clients, agents) = self.addresses.unwrap_or_else(|| lab.coordinator());
        let mut command = lab.control(Where::Switch, replay.program);
        command.args(["serve", "--log", "error", "--policy", policy, "--data"]).arg(self.data());
        command.args(["--ports", &lab.hosts().to_string()]);
        command.args(["--port-rate", &format!("{}bps", replay.port_rate * 8.0)]);
        command.args(["--clients", &clients.to_string()]);
        command.args(["--agents", &agents.to_string()]);
        let listener = Some((self.number_of_coordinator(), self.sender.clone()));
        self.coordinator = Some(Process::start("coordinator", &mut command, listener)?);
        Ok(())
    }

    fn hear_addresses(
        &self,
        said: &Receiver<Said>,
    ) -> Result<(SocketAddr, SocketAddr), TestbedError> {
        let address = || match said.recv_timeout(READY_WITHIN) {
            Ok(Said { by, line: Some(line) }) => {
                let address = line.split_whitespace().nth(1);
                let address = address.and_then(|word| word.parse().ok());
                address.ok_or_else(|| self.failed(by, Some(line)))
            }
            _ => Err(self.failed(self.number_of_coordinator(), Some("has not come up".to_owned()))),
        };
        Ok((address()?, address()?))
    }

    fn start_agent(&mut self, host: u32) -> Result<(), TestbedError> {
        let Some((_, coordinator)) = self.addresses else { return Ok(()) };
        let mut command = match self.replay.scheduler {
            Scheduler::Unmodified { .. } => {
                let mut command = self.lab.attached(host, self.replay.program);
                command.args(["attach", "--host"]);
                command
            }
            _ => {
                let mut command = self.lab.control(Where::Host(host), self.replay.program);
                command.args(["agent", "--cpu", self.replay.cpu]);
                command.arg("--socket").arg(self.agent_socket(host));
                command
            }
        };
        command.args(["--log", "error", "--port", &host.to_string()]);
        command.args(["--coordinator", &coordinator.to_string()]);
        command.arg("--credentials").arg(self.data());
        let agent = Process::start(format!("agent {host}"), &mut command, None)?;
        self.agents[host as usize] = Some(agent);
        Ok(())
    }

    /// Starts the application of a host. It prints `ready ADDRESS`, and then waits for the line of
    /// [`Cluster::introduce`]. Only under [`Scheduler::Policy`] does it know of agent and
    /// coordinator: programs under [`Scheduler::Unmodified`] are unmodified.
    fn start_host(&self, host: u32) -> Result<Process, TestbedError> {
        let mut command = self.lab.command(Where::Host(host), self.replay.program);
        command.args(["testbed-part", "host", "--host", &host.to_string()]);
        command.args(["--listen", &self.lab.listen_address(host).to_string()]);
        command.arg("--trace").arg(self.replay.trace);
        command.args(["--ratio", &self.replay.ratio.to_string()]);
        if let Scheduler::Receivers(settings) = self.replay.scheduler {
            command.args(["--stream", settings]);
        }
        if let (Scheduler::Policy(_), Some((clients, _))) = (self.replay.scheduler, self.addresses)
        {
            command.arg("--agent").arg(self.agent_socket(host));
            // The coordinator keeps its credentials in its data folder.
            command.arg("--credentials").arg(self.data());
            command.args(["--coordinator", &clients.to_string()]);
        }
        let listener = Some((host as usize, self.sender.clone()));
        Process::start(format!("host {host}"), &mut command, listener)
    }

    /// Waits for all hosts, and tells each the addresses of the others.
    fn introduce(&mut self, said: &Receiver<Said>) -> Result<(), TestbedError> {
        let mut addresses: Vec<Option<String>> = vec![None; self.hosts.len()];
        let began = Instant::now();
        while let Some(missing) = addresses.iter().position(Option::is_none) {
            if self.replay.stop.load(Ordering::Relaxed) {
                return Err(TestbedError::Interrupted);
            }
            if began.elapsed() > READY_WITHIN {
                return Err(self.failed(missing, Some("is not ready".to_owned())));
            }
            let Ok(Said { by, line }) = said.recv_timeout(Duration::from_millis(100)) else {
                continue;
            };
            match (addresses.get_mut(by), line) {
                (Some(address), Some(line)) if line.starts_with("ready ") => {
                    *address = line.split_whitespace().nth(1).map(str::to_owned);
                }
                (_, line) => return Err(self.failed(by, line)),
            }
        }
        let all: Vec<String> = addresses.into_iter().flatten().collect();
        let line = format!("hosts {}", all.join(" "));
        self.hosts.iter_mut().flatten().try_for_each(|host| host.tell(&line))?;
        let rate = self.replay.background_rate;
        if rate > 0.0 {
            let line = format!("background {}", rate as u64);
            self.hosts.iter_mut().flatten().try_for_each(|host| host.tell(&line))?;
        }
        Ok(())
    }

    /// Starts the watcher, and waits until it has seen that all agents have joined.
    fn start_watcher(&mut self, said: &Receiver<Said>) -> Result<(), TestbedError> {
        let Some((clients, _)) = self.addresses else { return Ok(()) };
        let by = self.number_of_watcher();
        let mut command = self.lab.command(Where::Switch, self.replay.program);
        command.args(["testbed-part", "watch", "--agents", &self.lab.hosts().to_string()]);
        command.args(["--coordinator", &clients.to_string()]);
        command.arg("--credentials").arg(self.data());
        let listener = Some((by, self.sender.clone()));
        self.watcher = Some(Process::start("watcher", &mut command, listener)?);
        match said.recv_timeout(READY_WITHIN) {
            Ok(Said { by: from, line: Some(line) }) if from == by && line == "ready" => Ok(()),
            Ok(Said { by, line }) => Err(self.failed(by, line)),
            Err(_) => Err(self.failed(by, Some("agents have not joined".to_owned()))),
        }
    }

    /// The watcher's number.
    pub fn number_of_watcher(&self) -> usize {
        self.lab.hosts() as usize + 1
    }

    /// The coordinator's number.
    pub fn number_of_coordinator(&self) -> usize {
        self.lab.hosts() as usize
    }

    /// Has the coordinator told of a flow's community, if it wants to know.
    pub fn tell_community(
        &mut self,
        from: SocketAddr,
        host: u32,
        community: u32,
    ) -> Result<(), TestbedError> {
        let to = self.lab.listen_address(host);
        match (self.replay.scheduler, &mut self.watcher) {
            (Scheduler::Unmodified { told: true, .. }, Some(watcher)) => {
                watcher.tell(&format!("belongs {from} {to} {community}"))
            }
            _ => Ok(()),
        }
    }

    /// Writes a line to a host's input, if the host runs.
    pub fn tell(&mut self, host: u32, line: &str) -> Result<(), TestbedError> {
        self.hosts[host as usize].as_mut().map_or(Ok(()), |host| host.tell(line))
    }

    /// Whether a host's application runs.
    pub fn is_alive(&self, host: u32) -> bool {
        self.hosts[host as usize].is_some()
    }

    /// Whether a host has an agent.
    pub fn has_agent(&self, host: u32) -> bool {
        self.agents.get(host as usize).is_some_and(Option::is_some)
    }

    /// Injects a fault.
    pub fn break_down(&mut self, what: Broken) -> Result<(), TestbedError> {
        match what {
            Broken::Coordinator => {
                self.killed.push(self.number_of_coordinator());
                self.past_cpu_s.0 += self.coordinator.take().map_or(0.0, |it| it.cpu_s());
            }
            Broken::Agent(host) => self.kill_agent(host),
            Broken::Link(host) => self.lab.set_link(host, false)?,
            Broken::Host(host) => {
                self.kill_agent(host);
                self.killed.push(host as usize);
                self.hosts[host as usize] = None;
            }
        }
        Ok(())
    }

    fn kill_agent(&mut self, host: u32) {
        let agent = self.agents.get_mut(host as usize).and_then(Option::take);
        self.past_cpu_s.1 += agent.map_or(0.0, |agent| agent.cpu_s());
    }

    /// Repairs a fault.
    pub fn mend(&mut self, what: Broken) -> Result<(), TestbedError> {
        match what {
            Broken::Coordinator => self.start_coordinator(),
            Broken::Agent(host) if self.is_alive(host) => self.start_agent(host),
            Broken::Link(host) => self.lab.set_link(host, true),
            Broken::Agent(_) | Broken::Host(_) => Ok(()),
        }
    }

    /// Notes that a process has ended.
    ///
    /// # Errors
    /// The testbed has not killed it.
    pub fn has_ended(&mut self, by: usize) -> Result<(), TestbedError> {
        match self.killed.iter().position(|killed| *killed == by) {
            Some(index) => {
                self.killed.swap_remove(index);
                Ok(())
            }
            None => Err(self.failed(by, None)),
        }
    }

    /// The error that a process has printed something unexpected or has ended.
    pub fn failed(&self, by: usize, line: Option<String>) -> TestbedError {
        let what = line.unwrap_or_else(|| "has ended".to_owned());
        let process = match by {
            by if by == self.number_of_coordinator() => self.coordinator.as_ref(),
            by if by == self.number_of_watcher() => self.watcher.as_ref(),
            host => self.hosts.get(host).and_then(Option::as_ref),
        };
        match process {
            Some(process) => process.failed(what),
            None => TestbedError::Process { process: format!("process {by}"), what },
        }
    }

    /// CPU of the coordinator, of all agents, and of all applications, in seconds.
    pub fn cpu_s(&self) -> (f64, f64, f64) {
        let sum = |all: &[Option<Process>]| all.iter().flatten().map(Process::cpu_s).sum::<f64>();
        let coordinator = self.coordinator.as_ref().map_or(0.0, Process::cpu_s);
        let (past_coordinator, past_agents) = self.past_cpu_s;
        (past_coordinator + coordinator, past_agents + sum(&self.agents), sum(&self.hosts))
    }
}

#[cfg(test)]
mod tests {
    use std::process::Command;
    use std::sync::atomic::AtomicBool;

    use covey_trace::Workload;

    use super::*;

    #[test]
    fn the_process_that_has_failed_is_blamed() -> Result<(), TestbedError> {
        let (lab, workload, stop) =
            (Lab::loopback(2), Workload::new(2, Vec::new()), AtomicBool::new(false));
        let replay = Replay {
            workload: &workload,
            trace: Path::new(""),
            program: Path::new(""),
            scheduler: Scheduler::Unmodified { policy: "coda", told: false },
            port_rate: 1e6,
            background_rate: 0.0,
            limit_s: 1.0,
            ratio: 1.0,
            cpu: "1",
            faults: &[],
            stop: &stop,
        };
        let start = |name: &str| Process::start(name, &mut Command::new("true"), None).map(Some);
        let mut cluster = Cluster {
            lab: &lab,
            replay: &replay,
            folder: Path::new(""),
            sender: std::sync::mpsc::channel().0,
            addresses: None,
            coordinator: start("coordinator")?,
            agents: Vec::new(),
            hosts: vec![start("host 0")?, None],
            watcher: start("watcher")?,
            past_cpu_s: (0.0, 0.0),
            killed: Vec::new(),
        };
        let blamed = |cluster: &Cluster<'_>, by| match cluster.failed(by, None) {
            TestbedError::Process { process, .. } => process,
            other => other.to_string(),
        };
        let all: Vec<String> = (0..4).map(|by| blamed(&cluster, by)).collect();
        assert_eq!(all, ["host 0", "process 1", "coordinator", "watcher"]);
        cluster.watcher = None;
        assert_eq!(blamed(&cluster, cluster.number_of_watcher()), "process 3");
        Ok(())
    }
}
