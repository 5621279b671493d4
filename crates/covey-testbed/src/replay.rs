//! One contestant on one trace: starts the processes, lets coflows arrive, and writes down when their
//! flows have come.

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

use covey_coordinator::Credentials;
use covey_sim::{CoflowOutcome, Outcome};
use covey_trace::Workload;

use crate::error::TestbedError;
use crate::host::now_ns;
use crate::lab::{Lab, Where};
use crate::processes::{Process, Said};

/// Who schedules.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Contestant<'a> {
    /// Nobody: TCP alone.
    Tcp,
    /// A coordinator with this policy, and agents.
    Policy(&'a str),
}

/// What is replayed, and how.
pub struct Replay<'a> {
    /// The trace, folded to the hosts.
    pub workload: &'a Workload,
    /// The same as a file, for the hosts.
    pub trace: &'a Path,
    /// This program.
    pub program: &'a Path,
    /// Who schedules.
    pub contestant: Contestant<'a>,
    /// Speed of the ports, in bytes of flows per second.
    pub port_rate: f64,
    /// The most seconds that it may take.
    pub limit_s: f64,
    /// The part of flows' bytes that a compressor makes of them; 1 if they cannot be made smaller.
    pub ratio: f64,
    /// The share of a processor that each host has for compressing, as `covey agent --cpu` takes it.
    pub cpu: &'a str,
    /// Set when it is to end.
    pub stop: &'a AtomicBool,
}

/// What came of it.
#[derive(Debug, Clone, Default)]
pub struct Found {
    /// When every coflow and every flow ended.
    pub outcome: Outcome,
    /// Bytes that came, each as it was sent.
    pub bytes: f64,
    /// Seconds from the first arrival to the last end.
    pub wall_s: f64,
    /// CPU of the coordinator in seconds.
    pub coordinator_cpu_s: f64,
    /// CPU of all agents.
    pub agents_cpu_s: f64,
    /// CPU of all hosts' applications.
    pub hosts_cpu_s: f64,
    /// Bytes that hosts gave to their links, headers and what else they said included; nothing on loopback.
    pub wire_bytes: Option<f64>,
}

/// How long processes may take to be ready.
const READY_WITHIN: Duration = Duration::from_secs(30);
/// From then to the first arrival.
const LEAD_NS: u64 = 200_000_000;

/// Checks that a trace can be replayed.
fn check(workload: &Workload) -> Result<(), TestbedError> {
    for coflow in &workload.coflows {
        let bad = |what| Err(TestbedError::Trace { coflow: coflow.id.clone(), what });
        if coflow.flows.iter().any(|flow| flow.start_s > 0.0) {
            return bad("expected flows that start with their coflow");
        }
        if !coflow.restarts.is_empty() {
            return bad("expected no restarts");
        }
        if coflow.flows.iter().any(|flow| flow.bytes.fract() != 0.0) {
            return bad("expected whole bytes");
        }
    }
    Ok(())
}

/// Replays a trace. `progress` is told how many coflows more have ended.
///
/// # Errors
/// When a process fails, a flow does not come as it was sent, or it takes too long.
pub fn replay(
    lab: &Lab,
    replay: &Replay<'_>,
    progress: &dyn Fn(usize),
) -> Result<Found, TestbedError> {
    check(replay.workload)?;
    let folder = tempfile::tempdir()?;
    let (sender, said) = channel();
    let mut cluster = Cluster::start(lab, replay, folder.path(), &sender, &said)?;
    let mut run = Run::new(replay.workload);
    let wire_before = lab.wire_bytes()?;
    let found = run.all(replay, &mut cluster, &said, progress)?;
    let wire_after = lab.wire_bytes()?;
    let cpu_s = |processes: &[Process]| processes.iter().map(Process::cpu_s).sum();
    Ok(Found {
        coordinator_cpu_s: cluster.coordinator.as_ref().map_or(0.0, Process::cpu_s),
        agents_cpu_s: cpu_s(&cluster.agents),
        hosts_cpu_s: cpu_s(&cluster.hosts),
        wire_bytes: wire_after.zip(wire_before).map(|(after, before)| after - before),
        ..found
    })
}

/// The processes. Hosts are numbered from 0 in what they say; the coordinator comes after them.
struct Cluster {
    hosts: Vec<Process>,
    agents: Vec<Process>,
    coordinator: Option<Process>,
}

impl Cluster {
    fn start(
        lab: &Lab,
        replay: &Replay<'_>,
        folder: &Path,
        sender: &Sender<Said>,
        said: &Receiver<Said>,
    ) -> Result<Cluster, TestbedError> {
        let data = folder.join("data");
        let mut cluster = Cluster { hosts: Vec::new(), agents: Vec::new(), coordinator: None };
        let mut clients = None;
        if let Contestant::Policy(policy) = replay.contestant {
            if let Some(name) = lab.certified() {
                Credentials::of(&data).init(&[name])?;
            }
            let (to_clients, to_agents) = lab.coordinator();
            let mut command = lab.control(Where::Router, replay.program);
            command.args(["serve", "--log", "error", "--policy", policy, "--data"]).arg(&data);
            command.args(["--ports", &lab.hosts().to_string()]);
            command.args(["--port-rate", &format!("{}bps", replay.port_rate * 8.0)]);
            command.args(["--clients", &to_clients.to_string()]);
            command.args(["--agents", &to_agents.to_string()]);
            let listener = Some((lab.hosts() as usize, sender.clone()));
            let coordinator = Process::start("coordinator", &mut command, listener)?;
            let mut addresses = Vec::new();
            while addresses.len() < 2 {
                match said.recv_timeout(READY_WITHIN) {
                    Ok(Said { line: Some(line), .. }) => {
                        let address = line.split_whitespace().nth(1);
                        let address = address.and_then(|word| word.parse::<SocketAddr>().ok());
                        addresses.push(address.ok_or_else(|| coordinator.failed(line))?);
                    }
                    _ => return Err(coordinator.failed("has not come up")),
                }
            }
            cluster.coordinator = Some(coordinator);
            clients = Some(addresses[0]);
            for host in 0..lab.hosts() {
                let mut command = lab.control(Where::Host(host), replay.program);
                command.args(["agent", "--log", "error", "--port", &host.to_string()]);
                command.args(["--cpu", replay.cpu]);
                command.args(["--coordinator", &addresses[1].to_string()]);
                command.arg("--credentials").arg(&data);
                command.arg("--socket").arg(folder.join(format!("agent-{host}.sock")));
                let name = format!("agent {host}");
                cluster.agents.push(Process::start(name, &mut command, None)?);
            }
        }
        for host in 0..lab.hosts() {
            let mut command = lab.command(Where::Host(host), replay.program);
            command.args(["testbed-part", "host", "--host", &host.to_string()]);
            command.args(["--listen", &lab.listen_address(host).to_string()]);
            command.arg("--trace").arg(replay.trace);
            command.args(["--ratio", &replay.ratio.to_string()]);
            if let Some(clients) = clients {
                command.arg("--agent").arg(folder.join(format!("agent-{host}.sock")));
                command.arg("--credentials").arg(&data);
                command.args(["--coordinator", &clients.to_string()]);
            }
            let listener = Some((host as usize, sender.clone()));
            let process = Process::start(format!("host {host}"), &mut command, listener)?;
            cluster.hosts.push(process);
        }
        cluster.introduce(replay, said)?;
        Ok(cluster)
    }

    /// Waits for all hosts, and tells each where the others are.
    fn introduce(
        &mut self,
        replay: &Replay<'_>,
        said: &Receiver<Said>,
    ) -> Result<(), TestbedError> {
        let mut addresses: Vec<Option<String>> = vec![None; self.hosts.len()];
        let began = Instant::now();
        while let Some(missing) = addresses.iter().position(Option::is_none) {
            if replay.stop.load(Ordering::Relaxed) {
                return Err(TestbedError::Interrupted);
            }
            if began.elapsed() > READY_WITHIN {
                return Err(self.hosts[missing].failed("is not ready"));
            }
            let Ok(Said { by, line }) = said.recv_timeout(Duration::from_millis(100)) else {
                continue;
            };
            match (addresses.get_mut(by), line) {
                (Some(place), Some(line)) if line.starts_with("ready ") => {
                    *place = line.split_whitespace().nth(1).map(str::to_owned);
                }
                (_, line) => return Err(self.failed(by, line)),
            }
        }
        let all: Vec<String> = addresses.into_iter().flatten().collect();
        let line = format!("hosts {}", all.join(" "));
        self.hosts.iter_mut().try_for_each(|host| host.tell(&line))
    }

    /// A process has said something that it should not, or has ended.
    fn failed(&self, by: usize, line: Option<String>) -> TestbedError {
        let what = line.unwrap_or_else(|| "has ended".to_owned());
        match self.hosts.get(by).or(self.coordinator.as_ref()) {
            Some(process) => process.failed(what),
            None => TestbedError::Process { process: format!("process {by}"), what },
        }
    }
}

/// What has happened so far.
struct Run<'a> {
    workload: &'a Workload,
    /// Coflows whose time is known and has not come, by nanoseconds after the first arrival.
    due: BTreeSet<(u64, usize)>,
    /// Numbers that the coordinator has given.
    ids: Vec<Option<u64>>,
    flows_left: Vec<usize>,
    parents_left: Vec<usize>,
    children: Vec<Vec<usize>>,
    /// Place of each coflow's first flow.
    first: Vec<usize>,
    outcome: Outcome,
    ended: usize,
}

impl<'a> Run<'a> {
    fn new(workload: &'a Workload) -> Run<'a> {
        let coflows = &workload.coflows;
        let mut children = vec![Vec::new(); coflows.len()];
        let mut first = Vec::new();
        let mut flows = 0;
        for (k, coflow) in coflows.iter().enumerate() {
            coflow.parents.iter().for_each(|&parent| children[parent as usize].push(k));
            first.push(flows);
            flows += coflow.flows.len();
        }
        let free = coflows.iter().enumerate().filter(|(_, coflow)| coflow.parents.is_empty());
        Run {
            workload,
            due: free.map(|(k, coflow)| (ns(coflow.arrival_s), k)).collect(),
            ids: vec![None; coflows.len()],
            flows_left: coflows.iter().map(|coflow| coflow.flows.len()).collect(),
            parents_left: coflows.iter().map(|coflow| coflow.parents.len()).collect(),
            children,
            first,
            outcome: Outcome {
                coflows: vec![CoflowOutcome { release_s: 0.0, completion_s: 0.0 }; coflows.len()],
                flow_completion_s: vec![0.0; flows],
                flow_start_s: vec![0.0; flows],
                ..Outcome::default()
            },
            ended: 0,
        }
    }

    fn all(
        &mut self,
        replay: &Replay<'_>,
        cluster: &mut Cluster,
        said: &Receiver<Said>,
        progress: &dyn Fn(usize),
    ) -> Result<Found, TestbedError> {
        let start = now_ns() + LEAD_NS;
        let coflows = self.workload.coflows.len();
        while self.ended < coflows {
            if replay.stop.load(Ordering::Relaxed) {
                return Err(TestbedError::Interrupted);
            }
            let now = now_ns().saturating_sub(start);
            if now as f64 * 1e-9 > replay.limit_s {
                let seconds = now as f64 * 1e-9;
                return Err(TestbedError::Late { ended: self.ended, coflows, seconds });
            }
            while let Some(&(at, k)) = self.due.first().filter(|(at, _)| start + at <= now_ns()) {
                self.due.pop_first();
                self.release(replay, cluster, k, at)?;
            }
            let next = self.due.first().map_or(u64::MAX, |(at, _)| start + at);
            let wait = next.saturating_sub(now_ns()).min(100_000_000);
            match said.recv_timeout(Duration::from_nanos(wait)) {
                Ok(Said { by, line: Some(line) }) => {
                    let before = self.ended;
                    self.hear(cluster, by, &line, start)?;
                    if self.ended > before {
                        progress(self.ended - before);
                    }
                }
                Ok(Said { by, line: None }) => return Err(cluster.failed(by, None)),
                Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {}
            }
        }
        Ok(Found {
            outcome: std::mem::take(&mut self.outcome),
            bytes: self.workload.bytes(),
            wall_s: now_ns().saturating_sub(start) as f64 * 1e-9,
            ..Found::default()
        })
    }

    /// A coflow's time has come.
    fn release(
        &mut self,
        replay: &Replay<'_>,
        cluster: &mut Cluster,
        k: usize,
        at: u64,
    ) -> Result<(), TestbedError> {
        let coflow = &self.workload.coflows[k];
        let release_s = at as f64 * 1e-9;
        self.outcome.coflows[k].release_s = release_s;
        let flows = self.first[k]..self.first[k] + coflow.flows.len();
        self.outcome.flow_start_s[flows].fill(release_s);
        match replay.contestant {
            Contestant::Tcp => self.start(cluster, k, 0),
            Contestant::Policy(_) => {
                let parents = coflow.parents.iter();
                let parents = parents.filter_map(|&parent| self.ids[parent as usize]);
                let parents: Vec<String> = parents.map(|id| id.to_string()).collect();
                let parents = if parents.is_empty() { "-".to_owned() } else { parents.join(",") };
                // The framework's driver runs where the first flow begins.
                let driver = coflow.flows[0].src as usize;
                cluster.hosts[driver].tell(&format!("register {k} {parents}"))
            }
        }
    }

    fn start(&self, cluster: &mut Cluster, k: usize, id: u64) -> Result<(), TestbedError> {
        let senders: BTreeSet<u32> =
            self.workload.coflows[k].flows.iter().map(|flow| flow.src).collect();
        let line = format!("start {k} {id}");
        senders.iter().try_for_each(|&host| cluster.hosts[host as usize].tell(&line))
    }

    /// A host has said something.
    fn hear(
        &mut self,
        cluster: &mut Cluster,
        by: usize,
        line: &str,
        start: u64,
    ) -> Result<(), TestbedError> {
        let words: Vec<&str> = line.splitn(4, ' ').collect();
        let number = |k: usize| words.get(k).and_then(|word| word.parse::<u64>().ok());
        let k = number(1).unwrap_or(u64::MAX) as usize;
        let Some(coflow) = self.workload.coflows.get(k) else {
            return Err(cluster.failed(by, Some(line.to_owned())));
        };
        match (words[0], number(2), words.get(3)) {
            ("registered", Some(id), None) => {
                self.ids[k] = Some(id);
                self.start(cluster, k, id)
            }
            ("ended", Some(flow), Some(time)) if (flow as usize) < coflow.flows.len() => {
                let time = time.parse::<u64>().unwrap_or(start);
                let end_s = time.saturating_sub(start) as f64 * 1e-9;
                let place = self.first[k] + flow as usize;
                if self.outcome.flow_completion_s[place] == 0.0 {
                    self.outcome.flow_completion_s[place] = end_s;
                    self.flow_ended(k, end_s);
                }
                Ok(())
            }
            ("failed", Some(flow), what) => Err(TestbedError::Flow {
                coflow: coflow.id.clone(),
                flow: flow as u32,
                what: what.map_or("failed", |what| *what).to_owned(),
            }),
            _ => Err(cluster.failed(by, Some(line.to_owned()))),
        }
    }

    fn flow_ended(&mut self, k: usize, end_s: f64) {
        let outcome = &mut self.outcome.coflows[k];
        outcome.completion_s = outcome.completion_s.max(end_s);
        self.flows_left[k] -= 1;
        if self.flows_left[k] > 0 {
            return;
        }
        self.ended += 1;
        for child in std::mem::take(&mut self.children[k]) {
            self.parents_left[child] -= 1;
            if self.parents_left[child] == 0 {
                let parents = self.workload.coflows[child].parents.iter();
                let ends = parents.map(|&p| self.outcome.coflows[p as usize].completion_s);
                let ready_s = ends.fold(self.workload.coflows[child].arrival_s, f64::max);
                self.due.insert((ns(ready_s), child));
            }
        }
    }
}

fn ns(seconds: f64) -> u64 {
    (seconds * 1e9) as u64
}
