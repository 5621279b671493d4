//! One contender on one trace: starts the processes, lets coflows arrive, and records when their
//! flows have arrived.

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use covey_trace::Workload;
use covey_trace::results::{CoflowOutcome, Outcome};

use crate::cluster::Cluster;
use crate::error::TestbedError;
use crate::faults::{Broken, Fault};
use crate::host::now_ns;
use crate::lab::Lab;
use crate::processes::Said;
use crate::scratch::Scratch;
use crate::setup::{Replay, Scheduler};

/// Result of a replay.
#[derive(Debug, Clone, Default)]
pub struct Found {
    /// The ends of all coflows and flows.
    pub outcome: Outcome,
    /// Bytes that have arrived unchanged.
    pub bytes: f64,
    /// Indices in the trace of failed coflows. Each has a flow from or to a host that died; all its
    /// other flows have arrived. Failed coflows have no times in the outcome.
    pub failed: Vec<usize>,
    /// Number of coflows that could not be registered, and sent without a schedule.
    pub unregistered: usize,
    /// Number of running hosts with an agent that have unacknowledged ends of flows when the replay
    /// is over.
    pub unsettled: usize,
    /// Seconds from the first arrival to the last end.
    pub wall_s: f64,
    /// Seconds that decisions of receivers took until packets were marked at senders, where nobody
    /// is in charge; the last 4,096 of each host, in no order.
    pub decision_delays_s: Vec<f64>,
    /// The coflow and the flow of each flow that the coordinator was seen to put into a coflow, and
    /// the number of that coflow, where applications name none.
    pub groups: Vec<(u32, u32, u64)>,
    /// CPU seconds of the coordinator.
    pub coordinator_cpu_s: f64,
    /// CPU seconds of all agents.
    pub agents_cpu_s: f64,
    /// CPU seconds of all hosts' applications.
    pub hosts_cpu_s: f64,
    /// Bytes that hosts have sent, including headers and messages; `None` on loopback.
    pub wire_bytes: Option<f64>,
}

/// Time from when all processes are ready to the first arrival.
const LEAD_NS: u64 = 200_000_000;

/// Checks that a trace can be replayed.
fn check(workload: &Workload) -> Result<(), TestbedError> {
    if let Some(coflow) = workload.coflows.first().filter(|_| !workload.is_static()) {
        let what = "expected a trace without events and attempts";
        return Err(TestbedError::Trace { coflow: coflow.id.clone(), what });
    }
    for coflow in &workload.coflows {
        let bad = |what| Err(TestbedError::Trace { coflow: coflow.id.clone(), what });
        if coflow.flows.iter().any(|flow| flow.start_s > 0.0) {
            return bad("expected flows that start with their coflow");
        }
        if !coflow.restarts.is_empty() {
            return bad("expected no restarts");
        }
        if !coflow.compressible.flows.is_empty() {
            return bad("expected no ratio of single flows, since the data of all have one");
        }
        if coflow.flows.iter().any(|flow| flow.bytes.fract() != 0.0) {
            return bad("expected whole bytes");
        }
    }
    Ok(())
}

/// Replays a trace. Calls `progress` with the number of coflows that have ended since the last
/// call.
///
/// # Errors
/// A process fails, a flow arrives changed or not at all, or the replay takes too long.
pub fn replay(
    lab: &Lab,
    replay: &Replay<'_>,
    progress: &dyn Fn(usize),
) -> Result<Found, TestbedError> {
    check(replay.workload)?;
    let folder = Scratch::new()?;
    let (sender, said) = channel();
    let mut cluster = Cluster::start(lab, replay, folder.path(), sender, &said)?;
    let mut run = Run::new(replay);
    let wire_before = lab.wire_bytes()?;
    let found = run.all(&mut cluster, &said, progress)?;
    let wire_after = lab.wire_bytes()?;
    let (coordinator_cpu_s, agents_cpu_s, hosts_cpu_s) = cluster.cpu_s();
    Ok(Found {
        coordinator_cpu_s,
        agents_cpu_s,
        hosts_cpu_s,
        wire_bytes: wire_after.zip(wire_before).map(|(after, before)| after - before),
        ..found
    })
}

/// Events at known times, in nanoseconds after the first arrival.
struct Agenda {
    /// Coflows that arrive.
    arrivals: BTreeSet<(u64, usize)>,
    /// Faults that begin.
    breaks: BTreeSet<(u64, usize)>,
    /// Faults that end.
    mends: BTreeSet<(u64, usize)>,
}

impl Agenda {
    fn new(replay: &Replay<'_>) -> Agenda {
        let coflows = replay.workload.coflows.iter().enumerate();
        let free = coflows.filter(|(_, coflow)| coflow.parents.is_empty());
        let faults = || replay.faults.iter().enumerate();
        let mend = |(k, fault): (usize, &Fault)| Some((ns(fault.at_s + fault.for_s?), k));
        Agenda {
            arrivals: free.map(|(k, coflow)| (ns(coflow.arrival_s), k)).collect(),
            breaks: faults().map(|(k, fault)| (ns(fault.at_s), k)).collect(),
            mends: faults().filter_map(mend).collect(),
        }
    }

    /// The time of the first entry.
    fn next(&self) -> Option<u64> {
        let firsts = [&self.arrivals, &self.breaks, &self.mends].map(BTreeSet::first);
        firsts.into_iter().flatten().map(|(at, _)| *at).min()
    }
}

/// A coflow of the replay.
struct Coflow {
    /// The coordinator's id of it, after registration.
    id: Option<u64>,
    /// Number of its first flow among all flows.
    first_flow: usize,
    flows_left: usize,
    parents_left: usize,
    children: Vec<usize>,
    /// Whether it has arrived.
    is_released: bool,
    /// Whether a flow of it has failed.
    has_failed: bool,
}

/// A replay in progress.
struct Run<'a> {
    replay: &'a Replay<'a>,
    workload: &'a Workload,
    agenda: Agenda,
    /// By index in the trace.
    coflows: Vec<Coflow>,
    /// Whether a flow has ended or failed, by its number among all flows.
    is_over: Vec<bool>,
    found: Found,
    /// The flows that plain sockets send, by the sender's end.
    opened: BTreeMap<SocketAddr, (u32, u32)>,
    /// The coflows that the coordinator has found for these.
    groups: BTreeMap<(u32, u32), u64>,
    /// Number of coflows that have ended.
    ended: usize,
}

impl<'a> Run<'a> {
    fn new(replay: &'a Replay<'a>) -> Run<'a> {
        let workload = replay.workload;
        let mut flows = 0;
        let mut coflows: Vec<Coflow> = Vec::new();
        for coflow in &workload.coflows {
            coflows.push(Coflow {
                id: None,
                first_flow: flows,
                flows_left: coflow.flows.len(),
                parents_left: coflow.parents.len(),
                children: Vec::new(),
                is_released: false,
                has_failed: false,
            });
            flows += coflow.flows.len();
        }
        for (k, coflow) in workload.coflows.iter().enumerate() {
            coflow.parents.iter().for_each(|&parent| coflows[parent as usize].children.push(k));
        }
        let no_times = CoflowOutcome { release_s: 0.0, completion_s: 0.0 };
        let outcome = Outcome {
            coflows: vec![no_times; coflows.len()],
            flow_completion_s: vec![0.0; flows],
            flow_start_s: vec![0.0; flows],
            ..Outcome::default()
        };
        Run {
            replay,
            workload,
            agenda: Agenda::new(replay),
            coflows,
            is_over: vec![false; flows],
            found: Found { outcome, ..Found::default() },
            opened: BTreeMap::new(),
            groups: BTreeMap::new(),
            ended: 0,
        }
    }

    fn all(
        &mut self,
        cluster: &mut Cluster<'_>,
        said: &Receiver<Said>,
        progress: &dyn Fn(usize),
    ) -> Result<Found, TestbedError> {
        let start = now_ns() + LEAD_NS;
        let coflows = self.coflows.len();
        // Faults are repaired before the end, so that all ends can be acknowledged.
        while self.ended < coflows || !self.agenda.mends.is_empty() {
            if self.replay.stop.load(Ordering::Relaxed) {
                return Err(TestbedError::Interrupted);
            }
            let now = now_ns().saturating_sub(start);
            if now as f64 * 1e-9 > self.replay.limit_s {
                let seconds = now as f64 * 1e-9;
                return Err(TestbedError::Late { ended: self.ended, coflows, seconds });
            }
            let before = self.ended;
            let is_due = |at: u64| start + at <= now_ns();
            while let Some((_, k)) = take_first(&mut self.agenda.mends, is_due) {
                cluster.mend(self.replay.faults[k].what)?;
            }
            while let Some((at, k)) = take_first(&mut self.agenda.breaks, is_due) {
                self.break_down(cluster, self.replay.faults[k].what, at)?;
            }
            while let Some((at, k)) = take_first(&mut self.agenda.arrivals, is_due) {
                self.release(cluster, k, at)?;
            }
            let next = self.agenda.next().map_or(u64::MAX, |at| start + at);
            let wait = next.saturating_sub(now_ns()).min(100_000_000);
            match said.recv_timeout(Duration::from_nanos(wait)) {
                // A coordinator that was started again prints its addresses, which are known.
                Ok(Said { by, line: Some(_) }) if by == cluster.number_of_coordinator() => {}
                Ok(Said { by, line: Some(line) }) if by == cluster.number_of_watcher() => {
                    self.note_group(&line);
                }
                Ok(Said { by, line: Some(line) }) => self.hear(cluster, by, &line, start)?,
                Ok(Said { by, line: None }) => cluster.has_ended(by)?,
                Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {}
            }
            if self.ended > before {
                progress(self.ended - before);
            }
        }
        self.found.wall_s = now_ns().saturating_sub(start) as f64 * 1e-9;
        if !self.replay.faults.is_empty() {
            self.found.unsettled = self.settle(cluster, said)?;
        }
        if let Scheduler::Receivers(_) = self.replay.scheduler {
            self.found.decision_delays_s = self.ask_delays(cluster, said)?;
        }
        let groups = self.groups.iter().map(|(&(coflow, flow), &group)| (coflow, flow, group));
        self.found.groups = groups.collect();
        self.found.failed = (0..coflows).filter(|&k| self.coflows[k].has_failed).collect();
        Ok(std::mem::take(&mut self.found))
    }

    /// Injects a fault. Flows from and to a host that dies count as failed.
    fn break_down(
        &mut self,
        cluster: &mut Cluster<'_>,
        what: Broken,
        at: u64,
    ) -> Result<(), TestbedError> {
        cluster.break_down(what)?;
        if let Broken::Host(_) = what {
            for k in 0..self.coflows.len() {
                if self.coflows[k].is_released {
                    self.fail_at_dead_hosts(cluster, k, at as f64 * 1e-9)?;
                }
            }
        }
        Ok(())
    }

    fn fail_at_dead_hosts(
        &mut self,
        cluster: &mut Cluster<'_>,
        k: usize,
        now_s: f64,
    ) -> Result<(), TestbedError> {
        for (f, flow) in self.workload.coflows[k].flows.iter().enumerate() {
            let is_dead = !cluster.is_alive(flow.src) || !cluster.is_alive(flow.dst);
            if is_dead && !self.is_over[self.coflows[k].first_flow + f] {
                self.coflows[k].has_failed = true;
                self.flow_over(cluster, k, f, now_s)?;
            }
        }
        Ok(())
    }

    /// A coflow arrives.
    fn release(
        &mut self,
        cluster: &mut Cluster<'_>,
        k: usize,
        at: u64,
    ) -> Result<(), TestbedError> {
        let coflow = &self.workload.coflows[k];
        let release_s = at as f64 * 1e-9;
        self.coflows[k].is_released = true;
        self.found.outcome.coflows[k].release_s = release_s;
        let first = self.coflows[k].first_flow;
        let flows = first..first + coflow.flows.len();
        self.found.outcome.flow_start_s[flows].fill(release_s);
        self.fail_at_dead_hosts(cluster, k, release_s)?;
        if self.coflows[k].flows_left == 0 {
            // No running host could deregister the coflow.
            return Ok(());
        }
        // The framework's driver runs where the first flow begins, or at the beginning of another
        // flow.
        let mut drivers = coflow.flows.iter().map(|flow| flow.src);
        let Some(driver) = drivers.find(|&host| cluster.is_alive(host)) else { return Ok(()) };
        match self.replay.scheduler {
            Scheduler::Tcp | Scheduler::Unmodified { .. } => self.start(cluster, k, 0),
            Scheduler::Policy(_) | Scheduler::Receivers(_) => {
                let parents = coflow.parents.iter();
                let parents = parents.filter_map(|&parent| self.coflows[parent as usize].id);
                let parents: Vec<String> = parents.map(|id| id.to_string()).collect();
                let parents = if parents.is_empty() { "-".to_owned() } else { parents.join(",") };
                cluster.tell(driver, &format!("register {k} {parents}"))
            }
        }
    }

    fn start(&self, cluster: &mut Cluster<'_>, k: usize, id: u64) -> Result<(), TestbedError> {
        let line = format!("start {k} {id}");
        self.senders(k).into_iter().try_for_each(|host| cluster.tell(host, &line))
    }

    fn senders(&self, k: usize) -> BTreeSet<u32> {
        self.workload.coflows[k].flows.iter().map(|flow| flow.src).collect()
    }

    /// The watcher has seen into which coflow the coordinator has put a flow.
    fn note_group(&mut self, line: &str) {
        let mut words = line.split_whitespace().skip(1);
        let from = words.next().and_then(|word| word.parse().ok());
        let group = words.next().and_then(|word| word.parse().ok());
        let flow = from.and_then(|from: SocketAddr| self.opened.get(&from));
        if let (Some(flow), Some(group)) = (flow, group) {
            self.groups.insert(*flow, group);
        }
    }

    /// Handles a line of a host.
    fn hear(
        &mut self,
        cluster: &mut Cluster<'_>,
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
        let flow_of = |flow: u64| coflow.flows.get(flow as usize);
        match (words[0], number(2), words.get(3)) {
            ("registered", Some(id), None) => {
                self.coflows[k].id = Some(id);
                self.start(cluster, k, id)
            }
            ("unregistered", Some(id), None) if !self.replay.faults.is_empty() => {
                self.found.unregistered += 1;
                self.start(cluster, k, id)
            }
            ("unregistered", ..) => {
                Err(cluster.failed(by, Some("the coordinator is away".to_owned())))
            }
            ("opened", Some(flow), Some(from)) if flow_of(flow).is_some() => {
                let Ok(from) = from.parse() else { return Ok(()) };
                self.opened.insert(from, (k as u32, flow as u32));
                let dst = coflow.flows[flow as usize].dst;
                cluster.tell_community(from, dst, k as u32)
            }
            ("ended", Some(flow), Some(time)) if flow_of(flow).is_some() => {
                let time = time.parse::<u64>().unwrap_or(start);
                let end_s = time.saturating_sub(start) as f64 * 1e-9;
                let number = self.coflows[k].first_flow + flow as usize;
                if !self.is_over[number] {
                    self.found.outcome.flow_completion_s[number] = end_s;
                    self.found.bytes += coflow.flows[flow as usize].bytes;
                    self.flow_over(cluster, k, flow as usize, end_s)?;
                }
                Ok(())
            }
            // The flow was counted when the host died.
            ("failed", Some(flow), _)
                if flow_of(flow).is_some_and(|flow| {
                    !cluster.is_alive(flow.src) || !cluster.is_alive(flow.dst)
                }) =>
            {
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

    /// A flow has ended or failed.
    fn flow_over(
        &mut self,
        cluster: &mut Cluster<'_>,
        k: usize,
        flow: usize,
        end_s: f64,
    ) -> Result<(), TestbedError> {
        self.is_over[self.coflows[k].first_flow + flow] = true;
        let outcome = &mut self.found.outcome.coflows[k];
        outcome.completion_s = outcome.completion_s.max(end_s);
        self.coflows[k].flows_left -= 1;
        if self.coflows[k].flows_left > 0 {
            return Ok(());
        }
        self.ended += 1;
        for child in std::mem::take(&mut self.coflows[k].children) {
            self.coflows[child].parents_left -= 1;
            if self.coflows[child].parents_left == 0 {
                let parents = self.workload.coflows[child].parents.iter();
                let ends = parents.map(|&p| self.found.outcome.coflows[p as usize].completion_s);
                let ready_s = ends.fold(self.workload.coflows[child].arrival_s, f64::max);
                self.agenda.arrivals.insert((ns(ready_s), child));
            }
        }
        // A failed coflow will not end by itself.
        if let Coflow { has_failed: true, id: Some(id), .. } = self.coflows[k] {
            let living = (0..self.workload.ports).find(|&host| cluster.is_alive(host));
            let line = format!("deregister {k} {id}");
            return living.map_or(Ok(()), |host| cluster.tell(host, &line));
        }
        Ok(())
    }

    /// Waits until the coordinator has acknowledged all ends. Returns the number of hosts with ends
    /// that it has not.
    fn settle(
        &self,
        cluster: &mut Cluster<'_>,
        said: &Receiver<Said>,
    ) -> Result<usize, TestbedError> {
        let has_agent = |cluster: &Cluster<'_>, host| cluster.has_agent(host);
        self.ask(cluster, said, "settle", has_agent, |line| line == "settled")
    }

    /// Asks all hosts how long decisions of receivers took.
    fn ask_delays(
        &self,
        cluster: &mut Cluster<'_>,
        said: &Receiver<Said>,
    ) -> Result<Vec<f64>, TestbedError> {
        let mut all = Vec::new();
        self.ask(
            cluster,
            said,
            "delays",
            |_, _| true,
            |line| {
                let Some(delays) = line.strip_prefix("delays") else { return false };
                let delays = delays.split_whitespace().filter_map(|word| word.parse::<f64>().ok());
                all.extend(delays.map(|ns| ns * 1e-9));
                true
            },
        )?;
        Ok(all)
    }

    /// Sends a line to some of the hosts that run, and waits for the answer of each. Returns the
    /// number of hosts that have not answered in time.
    fn ask(
        &self,
        cluster: &mut Cluster<'_>,
        said: &Receiver<Said>,
        line: &str,
        is_asked: impl Fn(&Cluster<'_>, u32) -> bool,
        mut is_answer: impl FnMut(&str) -> bool,
    ) -> Result<usize, TestbedError> {
        let mut waited_for: BTreeSet<usize> = (0..self.workload.ports)
            .filter(|&host| cluster.is_alive(host) && is_asked(cluster, host))
            .map(|host| host as usize)
            .collect();
        for &host in &waited_for {
            cluster.tell(host as u32, line)?;
        }
        let until = Instant::now() + SETTLED_WITHIN;
        while !waited_for.is_empty() && Instant::now() < until {
            match said.recv_timeout(Duration::from_millis(100)) {
                Ok(Said { by, line: Some(line) }) if is_answer(&line) => {
                    waited_for.remove(&by);
                }
                Ok(Said { by, line: None }) => cluster.has_ended(by)?,
                _ => {}
            }
        }
        Ok(waited_for.len())
    }
}

/// Maximum time until all hosts have answered, or the coordinator has acknowledged all ends.
const SETTLED_WITHIN: Duration = Duration::from_secs(15);

/// Takes the first entry if it is due.
fn take_first(
    all: &mut BTreeSet<(u64, usize)>,
    is_due: impl Fn(u64) -> bool,
) -> Option<(u64, usize)> {
    all.first().filter(|(at, _)| is_due(*at))?;
    all.pop_first()
}

fn ns(seconds: f64) -> u64 {
    (seconds * 1e9) as u64
}
