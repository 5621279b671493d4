//! A coordinator, its agents and its clients in a network that delays, cuts and partitions, with
//! crashes and a disk that fails, all from one seed. A thousand seeds are checked for the
//! invariants, and for the states that must be reached once the faults are over.
//!
//! A seed that fails is printed; `COVEY_SEED=n cargo test -p covey-coordinator --test network` runs
//! it alone, and exactly as before.

mod disk;
mod host;
mod jobs;
mod process;
mod wire;

use std::collections::{BTreeMap, BTreeSet};

use covey_agent::{Agent, Progress};
use covey_api::Flow;
use covey_coordinator::{Event, Key, List, Output, Population, Record, Reply, Request, RequestId};
use covey_core::{SplitMix, Time};
use covey_proto::{Ended, FromAgent, ToAgent};

use crate::host::{FAULTS_S, Host, STEP_S};
use crate::jobs::{Clients, change, flow_of, job};
use crate::process::Process;
use crate::wire::Sessions;

const SEEDS: u64 = 1000;

/// Policies that take turns. Sizes are around 1, as capacities are.
const POLICIES: [&str; 9] = [
    "philae:thin=1,q1=1B,E=2",
    "aalo:q1=0.5B,E=2,K=4,delta=0",
    "aalo:q1=0.5B,E=2,K=4,delta=300ms",
    "sebf",
    "fifo",
    "saath:q1=1B,E=2,K=4",
    "fair",
    "covey:prior=1B,pilots=const:2",
    "aalo-local:q1=0.5B,E=2,K=4",
];

/// All must have ended by then.
const END_S: f64 = 120.0;

struct World {
    random: SplitMix,
    now_s: f64,
    coordinator: Process,
    hosts: Vec<Host>,
    sessions: Sessions,
    clients: Clients,
}

impl World {
    fn new(seed: u64) -> World {
        let mut random = SplitMix::new(seed);
        let policy = POLICIES[(seed % POLICIES.len() as u64) as usize];
        let ports = 2 + random.below(4) as u32;
        let host = |port| Host {
            port,
            agent: Agent::new(port, Vec::new()).with_watch(),
            session: None,
            rejoins_s: 0.0,
            partitioned_until_s: 0.0,
            sent: BTreeMap::new(),
            ended: BTreeMap::new(),
            written: BTreeMap::new(),
            open: BTreeSet::new(),
            dead_until_s: 0.0,
            held: (0, 0),
            given_up: false,
        };
        let hosts = (0..ports).map(host).collect();
        let jobs = (0..2 + random.below(6)).map(|_| job(&mut random, ports)).collect();
        World {
            now_s: 0.0,
            coordinator: Process::new(policy, ports),
            hosts,
            sessions: Sessions::default(),
            clients: Clients::with(jobs),
            random,
        }
    }

    fn now(&self) -> Time {
        Time::from_secs(self.now_s)
    }

    fn run(&mut self) {
        while !self.is_over() {
            assert!(self.now_s < END_S, "{}", self.stuck());
            self.now_s += STEP_S;
            if self.now_s < FAULTS_S {
                self.fault();
            }
            self.coordinator.restart(self.now_s);
            self.ask();
            self.move_hosts();
            self.deliver_up();
            self.write();
            if self.coordinator.is_up {
                self.coordinator.core.decide(self.now()).unwrap_or_else(|error| panic!("{error}"));
                self.execute();
                self.deliver_ready();
            }
            self.deliver_down();
            self.check();
        }
        self.check_all_remembered();
    }

    /// Every coflow that was acknowledged has ended or was deregistered.
    fn check_all_remembered(&mut self) {
        for id in self.clients.jobs.iter().filter_map(|job| job.id) {
            self.coordinator.core.request(0, Request::Get { id }, Time::from_secs(self.now_s));
            let outputs = self.coordinator.core.take_outputs();
            let Some(Output::Answer(_, Ok(Reply::Coflow(status)))) = outputs.last() else {
                panic!("acknowledged coflow {id} is lost: {outputs:?}");
            };
            assert!(status.is_over(), "{status:?}");
        }
    }

    fn stuck(&self) -> String {
        let list = List::Coflows { from: 0, limit: 100, all: true };
        format!("stuck: {:#?}", self.coordinator.core.list(&list, |_| None)())
    }

    /// Whether all coflows have ended and all is quiet.
    fn is_over(&self) -> bool {
        let all_gone = Population { agents: self.hosts.len(), ..Population::default() };
        self.now_s > FAULTS_S
            && self.coordinator.is_up
            && self.coordinator.core.population() == all_gone
            && self.coordinator.core.pending() == 0
            && self.clients.jobs.iter().all(|job| job.id.is_some() && job.change.is_none())
            && self.hosts.iter().all(|host| host.agent.unacknowledged() == 0)
            && self.hosts.iter().all(|host| host.agent.flows().is_empty())
    }

    // What goes wrong.

    fn fault(&mut self) {
        let host = self.random.below(self.hosts.len() as u64) as usize;
        if self.random.chance(0.010) {
            self.cut(host);
        }
        if self.random.chance(0.004) {
            let lasts = 2.5 * self.random.unit();
            self.hosts[host].partitioned_until_s = self.now_s + lasts;
        }
        if self.random.chance(0.004) {
            // The agent's process is gone; what its host's flows did is not.
            self.cut(host);
            let host = &mut self.hosts[host];
            host.agent = Agent::new(host.port, Vec::new()).with_watch();
            host.held = (0, 0);
            host.given_up = false;
            let ended =
                host.ended.iter().map(|(&key, &bytes)| Ended { key, bytes, wire: bytes }).collect();
            let opened = host.open.iter().map(|key| (*key, true)).collect();
            let progress = Progress { ended, opened, ..Progress::default() };
            host.agent.happened(&progress, 0.0, &mut Vec::new());
        }
        if self.coordinator.is_up && self.random.chance(0.004) {
            self.crash();
        }
        let process = &mut self.coordinator;
        if process.is_up && self.random.chance(0.01) {
            // The disk is full.
            if let Some((first, last)) = process.disk.fail() {
                process.core.not_durable(first, last, "no space left");
            }
        }
        if process.is_up && self.random.chance(0.004) && process.disk.under_way() == 0 {
            process.compact();
        }
    }

    fn cut(&mut self, host: usize) {
        if let Some(session) = self.hosts[host].session.take() {
            self.sessions.connections.remove(&session);
            self.coordinator.core.closed(session);
            self.hosts[host].agent.disconnected();
            self.hosts[host].rejoins_s = self.now_s + 0.3 * self.random.unit();
        }
    }

    fn crash(&mut self) {
        let starts_s = self.now_s + self.random.unit();
        // Of what was on the way, some has got to the disk all the same.
        let under_way = self.coordinator.disk.under_way() as u64;
        let written = self.random.below(under_way + 1) as usize;
        self.coordinator.crash(starts_s, written);
        self.sessions.crash();
        self.clients.requests.clear();
        for host in &mut self.hosts {
            host.session = None;
            host.agent.disconnected();
            host.rejoins_s = self.now_s + 0.3 * self.random.unit();
        }
    }

    // Clients.

    fn ask(&mut self) {
        for k in 0..self.clients.jobs.len() {
            let job = &mut self.clients.jobs[k];
            if !self.coordinator.is_up || self.now_s < job.asks_s.max(job.at_s) {
                continue;
            }
            let request = if job.id.is_none() {
                let key = Key { key: format!("job-{k}"), digest: (k as u64).into() };
                Request::Register { spec: job.spec.clone(), key: Some(key) }
            } else if let Some((_, request)) =
                job.change.as_ref().filter(|(at_s, _)| *at_s <= self.now_s)
            {
                request.clone()
            } else {
                continue;
            };
            // Again, if there is no answer.
            job.asks_s = self.now_s + 1.0;
            let id = self.clients.request(k);
            self.coordinator.core.request(id, request, Time::from_secs(self.now_s));
        }
    }

    fn answered(&mut self, request: RequestId, answer: &covey_coordinator::Answer) {
        let Some(k) = self.clients.requests.remove(&request) else { return };
        let others = self.clients.flows_of_others(k);
        let job = &mut self.clients.jobs[k];
        match answer {
            Ok(Reply::Registered(status)) => {
                assert!(job.id.is_none_or(|id| id == status.id), "one coflow for one key");
                job.id = Some(status.id);
                let runs = status.flow_ids.iter();
                job.flow_ids =
                    runs.flat_map(|&(first, count)| first..first + u64::from(count)).collect();
                if job.change.is_none() {
                    let ports = self.coordinator.ports;
                    let request = change(&mut self.random, job, status.id, ports, &others);
                    let at_s = self.now_s + 2.0 * self.random.unit();
                    job.change = request.map(|request| (at_s, request));
                }
            }
            Ok(_) => job.change = None,
            Err(problem) => match problem.status {
                // The change may be asked for again.
                503 => {}
                404 => panic!("an acknowledged coflow is lost: {problem:?}"),
                409 | 412 => job.change = None,
                _ => panic!("{problem:?}"),
            },
        }
    }

    // Hosts.

    fn move_hosts(&mut self) {
        for k in 0..self.hosts.len() {
            let progress = self.hosts[k].advance(
                &self.clients.jobs,
                &self.clients.job_of,
                self.now_s,
                &mut self.random,
            );
            let mut out = Vec::new();
            self.hosts[k].agent.happened(&progress, self.now_s, &mut out);
            let joins = self.hosts[k].session.is_none()
                && self.coordinator.is_up
                && self.now_s >= self.hosts[k].rejoins_s
                && self.now_s >= self.hosts[k].partitioned_until_s;
            if joins {
                self.hosts[k].session = Some(self.sessions.open(k));
                out = vec![self.hosts[k].agent.hello()];
            } else if ((self.now_s / STEP_S).round() as u64).is_multiple_of(10) {
                out.push(FromAgent::Alive);
            }
            self.say(k, &out);
        }
    }

    fn say(&mut self, host: usize, messages: &[FromAgent]) {
        let Some(session) = self.hosts[host].session else { return };
        let arrives_s = self.now_s + self.delay_s();
        if let Some(connection) = self.sessions.connections.get_mut(&session) {
            messages.iter().for_each(|message| connection.up.send(message, arrives_s));
        }
    }

    fn delay_s(&mut self) -> f64 {
        let max = if self.random.chance(0.05) { 0.5 } else { 0.05 };
        max * self.random.unit()
    }

    fn deliver_up(&mut self) {
        if !self.coordinator.is_up {
            return;
        }
        let (now, now_s) = (self.now(), self.now_s);
        for (&session, connection) in &mut self.sessions.connections {
            if connection.closed || now_s < self.hosts[connection.host].partitioned_until_s {
                continue;
            }
            while let Some(message) = connection.up.receive::<FromAgent>(now_s) {
                self.coordinator.core.heard(session, message, now);
            }
        }
    }

    fn deliver_down(&mut self) {
        for session in self.sessions.connections.keys().copied().collect::<Vec<_>>() {
            let host = self.sessions.connections[&session].host;
            if self.now_s < self.hosts[host].partitioned_until_s {
                continue;
            }
            let mut out = Vec::new();
            let mut refused = false;
            while let Some(message) =
                self.sessions.connections.get_mut(&session).and_then(|c| c.down.receive(self.now_s))
            {
                let host = &mut self.hosts[host];
                if matches!(message, ToAgent::Schedule(_))
                    && !self.sessions.connections[&session].closed
                {
                    host.given_up = false;
                }
                refused |= host.agent.heard(message, &mut out).is_err();
            }
            if refused {
                self.cut(host);
            } else {
                self.say(host, &out);
            }
        }
    }

    // The shell.

    fn write(&mut self) {
        if let Some(lsn) = self.coordinator.disk.write(self.now_s) {
            self.coordinator.core.durable(lsn, Time::from_secs(self.now_s));
        }
    }

    fn execute(&mut self) {
        for output in self.coordinator.core.take_outputs() {
            match output {
                Output::Journal(lsn, record) => {
                    if let Record::Registered { id, key: Some(key), .. } = &record {
                        self.clients.job_of.insert(*id, key.digest.crc as usize);
                    }
                    let at_s = self.now_s + 0.05 * self.random.unit();
                    self.coordinator.disk.append(at_s, lsn, record);
                }
                Output::Answer(request, answer) => self.answered(request, &answer),
                Output::Ready(session) => {
                    self.sessions.ready.insert(session);
                }
                Output::Close(session, refusal) => {
                    let arrives_s = self.now_s + self.delay_s();
                    if let Some(connection) = self.sessions.connections.get_mut(&session) {
                        connection.closed = true;
                        connection.down.send(&ToAgent::Refused(refusal), arrives_s);
                    }
                }
                Output::Event(Event::Lost { port }) => self.hosts[port as usize].given_up = true,
                Output::Event(_) => {}
            }
        }
    }

    fn deliver_ready(&mut self) {
        for session in std::mem::take(&mut self.sessions.ready) {
            // Sometimes the connection takes nothing for a while.
            if self.random.chance(0.2) {
                self.sessions.ready.insert(session);
                continue;
            }
            let mut messages = Vec::new();
            self.coordinator.core.take_messages(session, &mut messages);
            let arrives_s = self.now_s + self.delay_s();
            if let Some(connection) = self.sessions.connections.get_mut(&session) {
                messages.iter().for_each(|message| connection.down.send(message, arrives_s));
            }
        }
    }

    // What must hold.

    fn check(&mut self) {
        let mut used: BTreeMap<(u64, bool, u32), f64> = BTreeMap::new();
        for host in &mut self.hosts {
            let holds = host.agent.holds();
            assert!(holds >= host.held, "an older schedule was applied: {holds:?}");
            host.held = holds;
            // Of a host that is given up nobody knows what it does.
            if host.given_up {
                continue;
            }
            for (key, service) in host.agent.flows() {
                let Some(first) = host.agent.names_here(&[*key]).into_iter().next() else {
                    continue;
                };
                let Flow { src, dst, .. } =
                    flow_of(&self.clients.jobs, &self.clients.job_of, &first);
                *used.entry((holds.0, true, src)).or_default() += service.rate;
                *used.entry((holds.0, false, dst)).or_default() += service.rate;
            }
        }
        for ((epoch, sends, port), rate) in used {
            let way = if sends { "egress" } else { "ingress" };
            assert!(rate <= 1.0 + 1e-5, "epoch {epoch}: {way} of {port} is booked {rate} times");
        }
    }
}

#[test]
fn a_thousand_seeds_of_faults() {
    let seeds = match std::env::var("COVEY_SEED") {
        Ok(seed) => {
            let seed = seed.parse().expect("COVEY_SEED: expected a number");
            seed..seed + 1
        }
        Err(_) => 0..SEEDS,
    };
    // In as many threads as there are cores: what a seed does depends on nothing else.
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for first in 0..threads {
            let own = seeds.clone().skip(first).step_by(threads);
            scope.spawn(move || own.for_each(run));
        }
    });
}

fn run(seed: u64) {
    let run = std::panic::catch_unwind(|| World::new(seed).run());
    if run.is_err() {
        panic!("seed {seed} fails; COVEY_SEED={seed} repeats it");
    }
}
