//! The coordinator without its I/O: what happens comes in, what is to be done comes out.
//!
//! The shell around it owns clock, sockets and journal. It passes on requests and messages as they
//! come, calls [`Core::decide`] when it has passed on all there are, does what [`Core::take_outputs`]
//! says, and asks for an agent's messages ([`Core::take_messages`]) when its connection can take some.
//!
//! A change that a client asks for has no effect before it is in the journal; then it is applied and
//! answered. Ends of flows have effect at once, and are confirmed to the agent when they are in the
//! journal; until then the agent says them again when it joins. After a crash the journal's records
//! are applied in the same way.

use std::collections::{BTreeMap, BTreeSet};

use covey_core::alloc::PlanError;
use covey_core::state::{FlowSpec, Registration};
use covey_core::{AnyPolicy, CoflowId, Fabric, FlowId, Group, Lineage, LinkId, PortId, Time, Wake};
use covey_proto::{FlowKey, FromAgent, Hello, Refusal, ToAgent, VERSION, Welcome};

use crate::api::{AgentStatus, Answer, CoflowStatus, Page, Problem, Rate, Reply, Request};
use crate::coflows::{Coflow, Coflows, Flow, Stage};
use crate::driver::Driver;
use crate::record::{self, CoflowSpec, Key, Record, Summary, Update};
use crate::slot::{Booked, SessionId, Slot};

/// Number of a record of the journal, from 1 in each epoch.
pub type Lsn = u64;

/// Number of a request that waits for its answer; never used again.
pub type RequestId = u64;

/// Limits and times.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Config {
    /// How often an agent is to say something, in seconds.
    pub heartbeat_s: f64,
    /// After how many seconds of silence a host is taken for lost.
    pub lost_after_s: f64,
    /// How often agents report what flows have sent, in seconds, where the policy needs that.
    pub report_every_s: f64,
    /// The most coflows that may be present.
    pub most_coflows: usize,
    /// The most flows of a coflow.
    pub most_flows: usize,
    /// The most changes that may wait for the journal.
    pub most_pending: usize,
    /// The most coflows that are remembered after they have gone.
    pub most_gone: usize,
}

impl Default for Config {
    fn default() -> Config {
        Config {
            heartbeat_s: 1.0,
            lost_after_s: 5.0,
            report_every_s: 0.008,
            most_coflows: 100_000,
            most_flows: 1_000_000,
            most_pending: 10_000,
            most_gone: 10_000,
        }
    }
}

/// What the shell is to do.
#[derive(Debug, Clone, PartialEq)]
pub enum Output {
    /// Write a record, and say so by [`Core::durable`] when it is on disk.
    Journal(Lsn, Record),
    /// Answer a request.
    Answer(RequestId, Answer),
    /// There are messages for an agent.
    Ready(SessionId),
    /// Say so and end the session.
    Close(SessionId, Refusal),
    /// Tell who watches.
    Event(Event),
}

/// What those are told who watch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "snake_case", tag = "type")]
pub enum Event {
    /// A coflow has been registered.
    Registered {
        /// Its number.
        id: u64,
    },
    /// A coflow has been changed.
    Updated {
        /// Its number.
        id: u64,
    },
    /// The last flow of a coflow has ended.
    Ended {
        /// Its number.
        id: u64,
    },
    /// A coflow has been deregistered.
    Removed {
        /// Its number.
        id: u64,
    },
    /// Flows of a coflow cannot go on: a host is away.
    Stalled {
        /// Its number.
        id: u64,
    },
    /// All flows of a coflow can go on again.
    Resumed {
        /// Its number.
        id: u64,
    },
    /// An agent has joined.
    Joined {
        /// Its port.
        port: u32,
    },
    /// A host is taken for lost.
    Lost {
        /// Its port.
        port: u32,
    },
}

/// What has been counted since the start.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts {
    /// Decisions, and those in which the policy planned anew.
    pub decisions: u64,
    /// See `decisions`.
    pub replanned: u64,
    /// Schedules sent, and flows named in them.
    pub schedules: u64,
    /// See `schedules`.
    pub entries: u64,
    /// Messages from agents: ends, reports of bytes, schedules applied, all others.
    pub ends: u64,
    /// See `ends`.
    pub reports: u64,
    /// See `ends`.
    pub applied: u64,
    /// See `ends`.
    pub others: u64,
    /// Coflows registered and gone.
    pub registered: u64,
    /// See `registered`.
    pub gone: u64,
}

/// What is to happen when a record is on disk.
#[derive(Debug)]
enum Pending {
    /// Apply it, and answer these requests.
    Apply(Record, Vec<RequestId>),
    /// Confirm the ends of flows to an agent.
    Settle(Record, u32, Vec<FlowKey>),
}

/// The coordinator.
pub struct Core {
    config: Config,
    epoch: u64,
    now: Time,
    driver: Driver,
    coflows: Coflows,
    agents: Vec<Slot>,
    sessions: BTreeMap<SessionId, u32>,
    booked: Booked,
    /// Agents that could not be sent all because others had not given back.
    woken: BTreeSet<u32>,
    pending: BTreeMap<Lsn, Pending>,
    /// Registrations that are pending, by key.
    pending_keys: BTreeMap<String, (u64, Lsn)>,
    /// Registrations among `pending`.
    registering: usize,
    next_lsn: Lsn,
    /// Ends that could not be written.
    unwritten: Vec<(Record, u32, Vec<FlowKey>)>,
    outputs: Vec<Output>,
    /// Whether anything has happened since the last decision.
    stirred: bool,
    /// Whether a host has come or gone since the last decision.
    hosts_changed: bool,
    /// Whether the rates of all coflows must be looked at.
    publish_all: bool,
    /// When to look for silent agents.
    next_check: Time,
    /// By coflow and link, how many of the policy's limits have been reached.
    limits_reached: BTreeMap<(u64, LinkId), usize>,
    counts: Counts,
}

impl Core {
    /// A coordinator that knows what `records` say. `now` is not before the time of any of them.
    pub fn new(
        fabric: Fabric,
        policy: AnyPolicy,
        config: Config,
        epoch: u64,
        records: impl IntoIterator<Item = Record>,
        start: Time,
    ) -> Core {
        let ports = fabric.ports() as usize;
        let booked = Booked::new(&fabric.capacity()[ports..]);
        let mut core = Core {
            config,
            epoch,
            now: Time::ZERO,
            driver: Driver::new(fabric, policy),
            coflows: Coflows { most_gone: config.most_gone, ..Coflows::default() },
            agents: Vec::new(),
            sessions: BTreeMap::new(),
            booked,
            woken: BTreeSet::new(),
            pending: BTreeMap::new(),
            pending_keys: BTreeMap::new(),
            registering: 0,
            next_lsn: 1,
            unwritten: Vec::new(),
            outputs: Vec::new(),
            stirred: true,
            hosts_changed: false,
            publish_all: true,
            next_check: start,
            limits_reached: BTreeMap::new(),
            counts: Counts::default(),
        };
        core.agents.resize_with(ports, || Slot { heard: start, full: true, ..Slot::default() });
        for record in records {
            core.apply(&record);
        }
        core.outputs.clear();
        core.counts = Counts::default();
        core.now = core.now.max(start);
        core
    }

    /// The epoch.
    pub fn epoch(&self) -> u64 {
        self.epoch
    }

    /// The driver of the policy.
    pub fn driver(&self) -> &Driver {
        &self.driver
    }

    /// What has been counted.
    pub fn counts(&self) -> Counts {
        self.counts
    }

    /// Coflows present, stalled ones among them, and agents that have joined.
    pub fn population(&self) -> (usize, usize, usize) {
        let stalled = self.coflows.present.values().filter(|coflow| coflow.stalled > 0).count();
        (self.coflows.present.len(), stalled, self.sessions.len())
    }

    /// Agents that have joined.
    pub fn joined(&self) -> usize {
        self.sessions.len()
    }

    /// Changes that wait for the journal.
    pub fn pending(&self) -> usize {
        self.pending.len()
    }

    /// The greatest age of a schedule that has been sent and not yet applied, in seconds.
    pub fn oldest_unapplied_s(&self) -> f64 {
        let under_way = self.agents.iter().filter(|a| a.session.is_some() && a.under_way.is_some());
        under_way.map(|agent| self.now - agent.sent_at).fold(0.0, f64::max)
    }

    /// What is to be done, in order.
    pub fn take_outputs(&mut self) -> Vec<Output> {
        std::mem::take(&mut self.outputs)
    }

    /// When [`Core::decide`] is to be called at the latest.
    pub fn next_wake(&self) -> Time {
        let times = self.driver.wakes().iter().filter_map(|wake| match wake {
            Wake::At(time) => Some(*time),
            _ => None,
        });
        times.fold(self.next_check, Time::min)
    }

    fn advance(&mut self, now: Time) {
        self.now = self.now.max(now);
    }

    // Requests.

    /// A client asks for something.
    pub fn request(&mut self, request: RequestId, what: Request, now: Time) {
        self.advance(now);
        let refused = match what {
            Request::Register { spec, key } => self.register(request, spec, key).err(),
            Request::Update { id, update, revision } => {
                self.update(request, id, update, revision).err()
            }
            Request::Remove { id } => self.remove(request, id).err(),
            Request::Get { id } => {
                let answer = self.status(id).map(Reply::Coflow).ok_or_else(|| Problem::unknown(id));
                self.outputs.push(Output::Answer(request, answer));
                None
            }
            Request::List { from, limit, all } => {
                let page = Reply::Coflows(self.list(from, limit, all));
                self.outputs.push(Output::Answer(request, Ok(page)));
                None
            }
            Request::Schedule { from, limit } => {
                let page = Reply::Schedule(self.rates(from, limit));
                self.outputs.push(Output::Answer(request, Ok(page)));
                None
            }
            Request::Agents { from, limit } => {
                let page = Reply::Agents(self.list_agents(from, limit));
                self.outputs.push(Output::Answer(request, Ok(page)));
                None
            }
        };
        if let Some(problem) = refused {
            self.outputs.push(Output::Answer(request, Err(problem)));
        }
    }

    fn register(
        &mut self,
        request: RequestId,
        spec: CoflowSpec,
        key: Option<Key>,
    ) -> Result<(), Problem> {
        if let Some(key) = &key {
            let pending = self.pending_keys.get(&key.key).copied();
            if let Some((digest, lsn)) = pending {
                same(key, digest)?;
                if let Some(Pending::Apply(_, requests)) = self.pending.get_mut(&lsn) {
                    requests.push(request);
                }
                return Ok(());
            }
            if let Some(&(id, digest)) = self.coflows.keys.get(&key.key) {
                same(key, digest)?;
                let status = self.status(id).ok_or_else(|| Problem::unknown(id))?;
                self.outputs.push(Output::Answer(request, Ok(Reply::Registered(status))));
                return Ok(());
            }
        }
        self.check_spec(&spec)?;
        if self.coflows.present.len() + self.registering >= self.config.most_coflows {
            let most = self.config.most_coflows;
            let detail = format!("{most} coflows are registered, which is the limit");
            return Err(Problem::new(429, "too many coflows", detail));
        }
        self.check_pending()?;
        let parents = spec.parents.iter().filter_map(|&parent| self.coflows.lineage(parent));
        let lineage = Lineage::after(parents).unwrap_or_else(|| {
            let external = self.coflows.next_dag;
            self.coflows.next_dag += 1;
            Lineage { external, internal: 0 }
        });
        let id = self.coflows.next_id;
        self.coflows.next_id += 1;
        self.registering += 1;
        if let Some(key) = &key {
            self.pending_keys.insert(key.key.clone(), (key.digest, self.next_lsn));
        }
        let lineage = (lineage.external, lineage.internal);
        let at_s = self.now.as_secs();
        self.journal(Record::Registered { id, at_s, lineage, key, spec }, request);
        Ok(())
    }

    fn check_pending(&self) -> Result<(), Problem> {
        if self.pending.len() < self.config.most_pending {
            return Ok(());
        }
        let detail = format!("{} changes wait for the journal", self.pending.len());
        Err(Problem::new(429, "too many requests", detail))
    }

    fn check_spec(&self, spec: &CoflowSpec) -> Result<(), Problem> {
        if spec.flows.is_empty() && !spec.open {
            return Err(Problem::invalid("flows: expected at least one, or open: true"));
        }
        self.check_flows("flows", &spec.flows, 0)?;
        if !(spec.weight.is_finite() && spec.weight > 0.0) {
            let found = spec.weight;
            return Err(Problem::invalid(format!("weight: expected above zero, found {found}")));
        }
        if let Some(found) = spec.deadline_s.filter(|s| !(s.is_finite() && *s > 0.0)) {
            return Err(Problem::invalid(format!(
                "deadline_s: expected above zero, found {found}"
            )));
        }
        if spec.name.as_ref().is_some_and(|name| name.len() > 256) {
            return Err(Problem::invalid("name: expected at most 256 bytes"));
        }
        match spec.parents.iter().find(|&&parent| self.coflows.lineage(parent).is_none()) {
            Some(parent) => Err(Problem::invalid(format!("parents: coflow {parent} is not known"))),
            None => Ok(()),
        }
    }

    /// Whether flows may be added to `there` others of a coflow.
    fn check_flows(&self, at: &str, flows: &[record::Flow], there: usize) -> Result<(), Problem> {
        let most = self.config.most_flows;
        if flows.len() + there > most {
            let found = flows.len() + there;
            let detail = format!("{at}: expected at most {most} in all, found {found}");
            return Err(Problem::new(413, "too many flows", detail));
        }
        let ports = self.agents.len();
        for (k, flow) in flows.iter().enumerate() {
            for port in [flow.src, flow.dst] {
                if port as usize >= ports {
                    let detail = format!("{at}[{k}]: expected a port below {ports}, found {port}");
                    return Err(Problem::invalid(detail));
                }
            }
            match flow.bytes {
                Some(bytes) if !(bytes.is_finite() && bytes >= 0.0) => {
                    let detail = format!("{at}[{k}].bytes: expected from 0 on, found {bytes}");
                    return Err(Problem::invalid(detail));
                }
                None if self.driver.needs_sizes() => {
                    let detail = format!("{at}[{k}].bytes: the policy in force must know sizes");
                    return Err(Problem::invalid(detail));
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn update(
        &mut self,
        request: RequestId,
        id: u64,
        update: Update,
        revision: Option<u64>,
    ) -> Result<(), Problem> {
        let coflow = self.present(id)?;
        if revision.is_some_and(|revision| revision != coflow.revision) {
            let detail = format!("coflow {id} has revision {}", coflow.revision);
            return Err(Problem::new(412, "changed meanwhile", detail));
        }
        let to: Vec<record::Flow> = update.moved.iter().map(|moved| moved.to).collect();
        self.check_flows("add", &update.add, coflow.flows.len())?;
        self.check_flows("move", &to, coflow.flows.len() + update.add.len())?;
        let mut named: Vec<u32> = update.moved.iter().map(|moved| moved.flow).collect();
        named.extend(&update.restart);
        for &flow in &named {
            match coflow.flows.get(flow as usize).map(|flow| flow.stage) {
                None => {
                    let detail = format!("coflow {id} has no flow {flow}");
                    return Err(Problem::invalid(detail));
                }
                Some(Stage::Ended) => {
                    let detail = format!("flow {flow} of coflow {id} has ended");
                    return Err(Problem::new(409, "flow has ended", detail));
                }
                Some(_) => {}
            }
        }
        named.sort_unstable();
        if named.windows(2).any(|two| two[0] == two[1]) {
            return Err(Problem::invalid("a flow is named twice"));
        }
        self.check_pending()?;
        let at_s = self.now.as_secs();
        self.journal(Record::Updated { id, at_s, update }, request);
        Ok(())
    }

    fn present(&self, id: u64) -> Result<&Coflow, Problem> {
        self.coflows.present.get(&id).ok_or_else(|| match self.coflows.gone.get(&id) {
            Some(_) => Problem::new(409, "coflow has gone", format!("coflow {id} has ended")),
            None => Problem::unknown(id),
        })
    }

    fn remove(&mut self, request: RequestId, id: u64) -> Result<(), Problem> {
        if self.coflows.gone.contains_key(&id) {
            // As it would be had the client asked a little earlier.
            self.outputs.push(Output::Answer(request, Ok(Reply::Removed)));
            return Ok(());
        }
        self.present(id)?;
        self.check_pending()?;
        let at_s = self.now.as_secs();
        self.journal(Record::Removed { id, at_s }, request);
        Ok(())
    }

    fn journal(&mut self, record: Record, request: RequestId) {
        let lsn = self.write(record.clone());
        self.pending.insert(lsn, Pending::Apply(record, vec![request]));
    }

    fn write(&mut self, record: Record) -> Lsn {
        let lsn = self.next_lsn;
        self.next_lsn += 1;
        self.outputs.push(Output::Journal(lsn, record));
        lsn
    }

    /// All records up to this one are on disk.
    pub fn durable(&mut self, lsn: Lsn, now: Time) {
        self.advance(now);
        let rest = self.pending.split_off(&(lsn + 1));
        for (_, pending) in std::mem::replace(&mut self.pending, rest) {
            match pending {
                Pending::Apply(record, requests) => {
                    self.apply(&record);
                    let answer = self.answer_to(&record);
                    self.forget_pending(&record);
                    for request in requests {
                        self.outputs.push(Output::Answer(request, answer.clone()));
                    }
                }
                Pending::Settle(_, port, keys) => self.settle(port, keys),
            }
        }
    }

    /// The records from `first` to `last` could not be written, and are not in the journal.
    pub fn not_durable(&mut self, first: Lsn, last: Lsn, why: &str) {
        let mut these = self.pending.split_off(&first);
        let mut later = these.split_off(&(last + 1));
        self.pending.append(&mut later);
        for (_, pending) in these {
            match pending {
                Pending::Apply(record, requests) => {
                    self.forget_pending(&record);
                    for request in requests {
                        let detail = format!("the journal cannot be written: {why}");
                        let problem = Problem::new(503, "not durable", detail);
                        self.outputs.push(Output::Answer(request, Err(problem)));
                    }
                }
                // What has ended has ended: it is written when that is possible again.
                Pending::Settle(record, port, keys) => self.unwritten.push((record, port, keys)),
            }
        }
    }

    fn forget_pending(&mut self, record: &Record) {
        if let Record::Registered { key, .. } = record {
            self.registering -= 1;
            if let Some(key) = key {
                self.pending_keys.remove(&key.key);
            }
        }
    }

    fn answer_to(&self, record: &Record) -> Answer {
        let status = |id: u64| self.status(id).ok_or_else(|| Problem::unknown(id));
        match record {
            Record::Registered { id, .. } => status(*id).map(Reply::Registered),
            Record::Updated { id, .. } => status(*id).map(Reply::Coflow),
            _ => Ok(Reply::Removed),
        }
    }

    fn settle(&mut self, port: u32, keys: Vec<FlowKey>) {
        let agent = &mut self.agents[port as usize];
        // Who is not there says it again when it comes.
        if let Some(session) = agent.session {
            agent.settled.extend(keys);
            self.outputs.push(Output::Ready(session));
        }
    }

    // What the journal says.

    fn apply(&mut self, record: &Record) {
        match record {
            Record::Epoch(_) => {}
            Record::Registered { id, at_s, lineage, key, spec } => {
                self.advance(Time::from_secs(*at_s));
                self.apply_registered(*id, *lineage, key.clone(), spec);
            }
            Record::Updated { id, at_s, update } => {
                self.advance(Time::from_secs(*at_s));
                self.apply_updated(*id, update);
            }
            Record::Ended { id, at_s, flows } => {
                self.advance(Time::from_secs(*at_s));
                flows.iter().for_each(|&(flow, bytes)| self.finish(*id, flow, bytes));
                self.tell_ends();
            }
            Record::Removed { id, at_s } => {
                self.advance(Time::from_secs(*at_s));
                self.apply_removed(*id);
            }
            Record::Gone(summary) => self.coflows.remember(summary.clone()),
            Record::Dag { external, bytes } => {
                self.coflows.dags.entry(*external).or_default().bytes = *bytes;
            }
            Record::Next { id, external } => {
                self.coflows.next_id = self.coflows.next_id.max(*id);
                self.coflows.next_dag = self.coflows.next_dag.max(*external);
            }
        }
    }

    fn apply_registered(
        &mut self,
        serial: u64,
        lineage: (u64, u32),
        key: Option<Key>,
        spec: &CoflowSpec,
    ) {
        self.stirred = true;
        let lineage = Lineage { external: lineage.0, internal: lineage.1 };
        let registration = Registration {
            seq: serial,
            arrival: self.now,
            weight: spec.weight,
            deadline_s: spec.deadline_s,
            lineage,
            inherited_bytes: self.coflows.dags.get(&lineage.external).map_or(0.0, |dag| dag.bytes),
        };
        let flows = spec.flows.iter().map(spec_of);
        let id = self.driver.arrive(registration, flows, |_| true, self.now);
        let mut coflow = Coflow {
            id,
            name: spec.name.clone(),
            key,
            parents: spec.parents.clone(),
            weight: spec.weight,
            deadline_s: spec.deadline_s,
            open: spec.open,
            lineage,
            arrival_s: self.now.as_secs(),
            revision: 0,
            flows: Vec::new(),
            stalled: 0,
            attained: 0.0,
            longest: 0.0,
            served: Vec::new(),
            grain: f64::INFINITY,
            stale: false,
        };
        coflow.flows.extend(spec.flows.iter().map(flow_of));
        self.coflows.insert(serial, coflow);
        self.counts.registered += 1;
        self.hosts_changed |= self.touches_away(&spec.flows);
        self.outputs.push(Output::Event(Event::Registered { id: serial }));
        self.tell_ends();
    }

    fn touches_away(&self, flows: &[record::Flow]) -> bool {
        let away = |port: u32| self.agents[port as usize].is_away;
        flows.iter().any(|flow| away(flow.src) || away(flow.dst))
    }

    fn apply_updated(&mut self, serial: u64, update: &Update) {
        // It may have gone since the update was asked for.
        let Some(coflow) = self.coflows.present.get_mut(&serial) else { return };
        self.stirred = true;
        let id = coflow.id;
        coflow.revision += 1;
        // While flows are exchanged the coflow must not end.
        let open = std::mem::replace(&mut coflow.open, true);
        for &flow in &update.restart {
            self.restart(serial, flow);
        }
        let mut added = update.add.clone();
        for moved in &update.moved {
            let flow = self.coflows.present.get(&serial).map(|c| c.flows[moved.flow as usize]);
            if let Some(flow) = flow.filter(|flow| flow.stage != Stage::Ended) {
                self.withdraw(serial, moved.flow);
                self.finish(serial, moved.flow, flow.sent);
                let bytes = moved.to.bytes.or(flow.bytes);
                added.push(record::Flow { bytes, ..moved.to });
            }
        }
        self.tell_ends();
        if !added.is_empty() {
            self.driver.extend(id, added.iter().map(spec_of), self.now);
            if let Some(coflow) = self.coflows.present.get_mut(&serial) {
                coflow.flows.extend(added.iter().map(flow_of));
            }
            self.hosts_changed |= self.touches_away(&added);
            self.publish_all = true;
        }
        if let Some(coflow) = self.coflows.present.get_mut(&serial) {
            coflow.open = update.open.unwrap_or(open);
            if !coflow.open && self.driver.state().coflow(id).is_over() {
                self.driver.leave(id);
            }
        }
        self.outputs.push(Output::Event(Event::Updated { id: serial }));
        self.tell_ends();
    }

    fn restart(&mut self, serial: u64, index: u32) {
        let Some(coflow) = self.coflows.present.get_mut(&serial) else { return };
        let flow = FlowId { coflow: coflow.id, index };
        let Some(it) = coflow.flows.get_mut(index as usize) else { return };
        if it.stage == Stage::Active {
            // What was sent stays in what the coflow has sent.
            it.sent = 0.0;
            self.driver.restart(flow, self.now);
            self.publish_all = true;
        }
    }

    fn apply_removed(&mut self, serial: u64) {
        let Some(coflow) = self.coflows.present.get(&serial) else { return };
        self.stirred = true;
        let id = coflow.id;
        let unfinished: Vec<(u32, f64)> = (0..)
            .zip(&coflow.flows)
            .filter(|(_, flow)| flow.stage != Stage::Ended)
            .map(|(index, flow)| (index, flow.sent))
            .collect();
        for (index, sent) in unfinished {
            self.withdraw(serial, index);
            self.finish(serial, index, sent);
        }
        self.driver.leave(id);
        let removed = true;
        self.tell_ends_of(removed);
    }

    /// A flow's rate is taken back from its agent.
    fn withdraw(&mut self, serial: u64, index: u32) {
        let Some(coflow) = self.coflows.present.get_mut(&serial) else { return };
        let Flow { src, dst, .. } = coflow.flows[index as usize];
        coflow.served.retain(|(served, _)| *served != index);
        let agent = &mut self.agents[src as usize];
        agent.want(FlowKey { coflow: serial, flow: index }, dst, 0, 0.0);
        self.woken.insert(src);
    }

    /// A flow has ended, unless that is known already.
    fn finish(&mut self, serial: u64, index: u32, bytes: f64) {
        let Some(coflow) = self.coflows.present.get_mut(&serial) else { return };
        let id = coflow.id;
        let flow = FlowId { coflow: id, index };
        let Some(it) = coflow.flows.get_mut(index as usize) else { return };
        match std::mem::replace(&mut it.stage, Stage::Ended) {
            Stage::Ended => return,
            Stage::Stalled => {
                // It had ended before its host went.
                coflow.stalled -= 1;
                self.driver.resume(&[flow], self.now);
            }
            Stage::Active => {}
        }
        let more = (bytes - it.sent).max(0.0);
        it.sent = it.sent.max(bytes);
        coflow.attained += more;
        coflow.longest = coflow.longest.max(bytes);
        coflow.served.retain(|(served, _)| *served != index);
        self.stirred = true;
        let attained = coflow.attained;
        if self.driver.needs_progress() {
            self.driver.report(id, attained, self.now);
        }
        self.driver.finish(flow, bytes);
    }

    fn tell_ends(&mut self) {
        self.tell_ends_of(false);
    }

    fn tell_ends_of(&mut self, removed: bool) {
        let coflows = &mut self.coflows;
        let over =
            self.driver.tell_ends(|id| coflows.of(id).is_some_and(|coflow| coflow.open), self.now);
        for id in over {
            let serial = self.coflows.serial(id);
            self.counts.gone += 1;
            self.coflows.retire(serial, self.now.as_secs(), removed);
            let links = (serial, LinkId(0))..=(serial, LinkId(u32::MAX));
            let reached: Vec<_> = self.limits_reached.range(links).map(|(key, _)| *key).collect();
            reached.iter().for_each(|key| {
                self.limits_reached.remove(key);
            });
            let event =
                if removed { Event::Removed { id: serial } } else { Event::Ended { id: serial } };
            self.outputs.push(Output::Event(event));
        }
    }

    /// Records that say all that this coordinator knows, and what is on the way to the journal: a
    /// journal with these alone is as good as the one there is.
    pub fn snapshot(&self) -> Vec<Record> {
        let coflows = &self.coflows;
        let mut records = vec![
            Record::Epoch(self.epoch),
            Record::Next { id: coflows.next_id, external: coflows.next_dag },
        ];
        records.extend(coflows.gone.values().cloned().map(Record::Gone));
        records.extend(
            coflows.dags.iter().map(|(&external, dag)| Record::Dag { external, bytes: dag.bytes }),
        );
        for (&id, coflow) in &coflows.present {
            let flow = |f: &Flow| record::Flow { src: f.src, dst: f.dst, bytes: f.bytes };
            let spec = CoflowSpec {
                name: coflow.name.clone(),
                parents: coflow.parents.clone(),
                weight: coflow.weight,
                deadline_s: coflow.deadline_s,
                // Its flows end one by one below.
                open: true,
                flows: coflow.flows.iter().map(flow).collect(),
            };
            let lineage = (coflow.lineage.external, coflow.lineage.internal);
            let (at_s, key) = (coflow.arrival_s, coflow.key.clone());
            records.push(Record::Registered { id, at_s, lineage, key, spec });
            let ended = |flow: &(u32, &Flow)| flow.1.stage == Stage::Ended;
            let flows = (0..).zip(&coflow.flows).filter(ended).map(|(k, flow)| (k, flow.sent));
            records.push(Record::Ended { id, at_s, flows: flows.collect() });
            if !coflow.open {
                let update = Update { open: Some(false), ..Update::default() };
                records.push(Record::Updated { id, at_s, update });
            }
        }
        for pending in self.pending.values() {
            if let Pending::Apply(record, _) = pending {
                records.push(record.clone());
            }
        }
        records
    }

    // Agents.

    /// An agent has said something. Sessions are not known before they say hello; whoever speaks for
    /// the shell has checked the credential.
    pub fn heard(&mut self, session: SessionId, message: FromAgent, now: Time) {
        self.advance(now);
        let port = match (&message, self.sessions.get(&session)) {
            (FromAgent::Hello(hello), None) => return self.hello(session, hello),
            (FromAgent::Hello(_), Some(_)) | (_, None) => {
                return self.close(session, Refusal::Order);
            }
            (_, Some(port)) => *port,
        };
        self.agents[port as usize].heard = self.now;
        match message {
            FromAgent::Applied { epoch, version } => {
                self.counts.applied += 1;
                let agent = &mut self.agents[port as usize];
                if epoch == self.epoch && version == agent.version && agent.under_way.is_some() {
                    agent.applied = (epoch, version);
                    agent.settle_schedule(&mut self.booked, &mut self.woken);
                    self.woken.insert(port);
                }
            }
            FromAgent::Ended(flows) => {
                self.counts.ends += 1;
                self.ended(port, &flows);
            }
            FromAgent::Sent(flows) => {
                self.counts.reports += 1;
                self.sent(port, &flows);
            }
            FromAgent::Resync => {
                self.counts.others += 1;
                self.agents[port as usize].lose_track();
                self.woken.insert(port);
            }
            FromAgent::Hello(_) | FromAgent::Alive => self.counts.others += 1,
        }
    }

    fn close(&mut self, session: SessionId, refusal: Refusal) {
        self.outputs.push(Output::Close(session, refusal));
        self.closed(session);
    }

    fn hello(&mut self, session: SessionId, hello: &Hello) {
        self.counts.others += 1;
        if hello.version != VERSION {
            return self.close(session, Refusal::Version);
        }
        let Some(agent) = self.agents.get_mut(hello.port as usize) else {
            return self.close(session, Refusal::Port);
        };
        let before = agent.session.replace(session);
        if let Some(before) = before {
            self.sessions.remove(&before);
            self.outputs.push(Output::Close(before, Refusal::Replaced));
        }
        self.sessions.insert(session, hello.port);
        agent.heard = self.now;
        agent.welcome = true;
        // What it did not get is decided anew.
        agent.settled.clear();
        agent.grains.clear();
        let (epoch, version) = hello.holds;
        if hello.holds == (0, 0) {
            agent.holds_nothing(&mut self.booked, &mut self.woken);
        } else if agent.is_away || epoch != self.epoch || version != agent.version {
            agent.lose_track();
        } else {
            agent.applied = hello.holds;
            agent.settle_schedule(&mut self.booked, &mut self.woken);
        }
        if std::mem::take(&mut agent.is_away) {
            self.hosts_changed = true;
            self.stirred = true;
        }
        for (&serial, coflow) in &self.coflows.present {
            if coflow.grain.is_finite() && coflow.flows.iter().any(|flow| flow.src == hello.port) {
                agent.grains.insert(serial, coflow.grain);
            }
        }
        self.outputs.push(Output::Event(Event::Joined { port: hello.port }));
        self.outputs.push(Output::Ready(session));
    }

    /// A session is over.
    pub fn closed(&mut self, session: SessionId) {
        if let Some(port) = self.sessions.remove(&session) {
            let agent = &mut self.agents[port as usize];
            if agent.session == Some(session) {
                agent.session = None;
            }
        }
    }

    fn ended(&mut self, port: u32, flows: &[covey_proto::Ended]) {
        let mut keys = Vec::new();
        for of_coflow in flows.chunk_by(|a, b| a.key.coflow == b.key.coflow) {
            let serial = of_coflow[0].key.coflow;
            let mut new = Vec::new();
            let mut its_keys = Vec::new();
            for ended in of_coflow {
                let coflow = self.coflows.present.get(&serial);
                let flow = coflow.and_then(|c| c.flows.get(ended.key.flow as usize));
                match flow {
                    // It is not this agent's to say.
                    Some(flow) if flow.src != port => continue,
                    Some(flow) if flow.stage != Stage::Ended => {
                        new.push((ended.key.flow, ended.bytes));
                        let agent = &mut self.agents[port as usize];
                        agent.flow_ended(ended.key, &mut self.booked, &mut self.woken);
                        self.finish(serial, ended.key.flow, ended.bytes);
                    }
                    _ => {}
                }
                its_keys.push(ended.key);
            }
            if new.is_empty() {
                keys.append(&mut its_keys);
            } else {
                let at_s = self.now.as_secs();
                let record = Record::Ended { id: serial, at_s, flows: new };
                let lsn = self.write(record.clone());
                self.pending.insert(lsn, Pending::Settle(record, port, its_keys));
            }
        }
        if !keys.is_empty() {
            self.settle_in_order(port, keys);
        }
        self.tell_ends();
    }

    /// Confirms ends that were known: after what is on the way to the journal, for they may be in it.
    fn settle_in_order(&mut self, port: u32, keys: Vec<FlowKey>) {
        if !self.unwritten.is_empty() {
            let nothing = Record::Ended { id: 0, at_s: self.now.as_secs(), flows: vec![] };
            return self.unwritten.push((nothing, port, keys));
        }
        match self.pending.last_entry() {
            Some(mut last) => match last.get_mut() {
                Pending::Settle(_, settled, more) if *settled == port => more.extend(keys),
                _ => {
                    let nothing = Record::Ended { id: 0, at_s: self.now.as_secs(), flows: vec![] };
                    let lsn = self.write(nothing.clone());
                    self.pending.insert(lsn, Pending::Settle(nothing, port, keys));
                }
            },
            None => self.settle(port, keys),
        }
    }

    fn sent(&mut self, port: u32, flows: &[covey_proto::Sent]) {
        let counts = self.driver.needs_progress();
        for sent in flows {
            let Some(coflow) = self.coflows.present.get_mut(&sent.key.coflow) else { continue };
            let own = coflow.flows.get(sent.key.flow as usize).is_some_and(|f| f.src == port);
            if own && coflow.report(sent.key.flow, sent.bytes) {
                self.stirred |= coflow.grain.is_finite();
                if counts {
                    self.driver.report(coflow.id, coflow.attained, self.now);
                }
            }
        }
    }

    /// Takes silent agents for lost, and tries again to write what could not be written.
    fn check(&mut self) {
        if self.now < self.next_check {
            return;
        }
        self.next_check = self.now + self.config.heartbeat_s;
        for (record, port, keys) in std::mem::take(&mut self.unwritten) {
            let lsn = self.write(record.clone());
            self.pending.insert(lsn, Pending::Settle(record, port, keys));
        }
        for port in 0..self.agents.len() as u32 {
            let agent = &mut self.agents[port as usize];
            if agent.is_away || self.now - agent.heard <= self.config.lost_after_s {
                continue;
            }
            agent.is_away = true;
            // Its host is as good as dead: others may have what it held.
            agent.holds_nothing(&mut self.booked, &mut self.woken);
            if let Some(session) = agent.session.take() {
                self.sessions.remove(&session);
                self.outputs.push(Output::Close(session, Refusal::Order));
            }
            self.hosts_changed = true;
            self.stirred = true;
            self.outputs.push(Output::Event(Event::Lost { port }));
        }
    }

    /// Stalls flows of which a host is away, and lets others go on.
    fn follow_hosts(&mut self) {
        if !std::mem::take(&mut self.hosts_changed) {
            return;
        }
        let (mut gone, mut back) = (Vec::new(), Vec::new());
        for (&serial, coflow) in &mut self.coflows.present {
            let before = coflow.stalled;
            for (index, flow) in (0..).zip(&mut coflow.flows) {
                let away = |port: u32| self.agents[port as usize].is_away;
                let stalls = away(flow.src) || away(flow.dst);
                let id = FlowId { coflow: coflow.id, index };
                match flow.stage {
                    Stage::Active if stalls => {
                        flow.stage = Stage::Stalled;
                        coflow.stalled += 1;
                        gone.push(id);
                    }
                    Stage::Stalled if !stalls => {
                        flow.stage = Stage::Active;
                        coflow.stalled -= 1;
                        back.push(id);
                    }
                    _ => {}
                }
            }
            if before == 0 && coflow.stalled > 0 {
                self.outputs.push(Output::Event(Event::Stalled { id: serial }));
            } else if before > 0 && coflow.stalled == 0 {
                self.outputs.push(Output::Event(Event::Resumed { id: serial }));
            }
        }
        if !gone.is_empty() {
            self.driver.suspend(&gone, self.now);
        }
        self.driver.resume(&back, self.now);
        self.publish_all = true;
    }

    // Decisions.

    /// Ends a moment: has the policy plan, if anything has happened, and finds out which agents
    /// are to be sent what. Returns whether it decided anything.
    ///
    /// # Errors
    /// When the policy's plan cannot be carried out: the rates before stay in force.
    pub fn decide(&mut self, now: Time) -> Result<bool, PlanError> {
        self.advance(now);
        self.check();
        self.follow_hosts();
        self.tell_reached();
        let due = |wake: &Wake| matches!(wake, Wake::At(time) if time.due(self.now));
        let woke = self.driver.wakes().iter().any(due);
        if woke {
            self.driver.wake(self.now);
        }
        let decides = std::mem::take(&mut self.stirred) || woke;
        if decides {
            self.counts.decisions += 1;
            self.write_progress();
            match self.driver.decide(self.now) {
                Ok(replanned) => self.counts.replanned += u64::from(replanned),
                Err(error) => {
                    self.publish_all = true;
                    return Err(error);
                }
            }
            self.publish();
            self.set_grains();
        }
        for port in std::mem::take(&mut self.woken) {
            let agent = &self.agents[port as usize];
            if let Some(session) = agent.session.filter(|_| agent.has_news()) {
                self.outputs.push(Output::Ready(session));
            }
        }
        Ok(decides)
    }

    /// Brings what is left of flows up to date, for policies that see sizes.
    fn write_progress(&mut self) {
        let sized = self.driver.needs_sizes();
        for coflow in self.coflows.present.values_mut() {
            if !std::mem::take(&mut coflow.stale) || !sized {
                continue;
            }
            let (demand, progress) = self.driver.progress_mut(coflow.id);
            progress.link_left.fill(0.0);
            for p in demand.active() {
                let sent = coflow.flows[demand.index(p) as usize].sent;
                // Something is left of a flow that has not said that it has ended.
                let left = (progress.size[p] - sent).max(1.0_f64.min(progress.size[p]));
                progress.left[p] = left / progress.scale;
                for l in demand.path(p) {
                    progress.link_left[l] += progress.left[p];
                }
            }
        }
    }

    /// Tells the policy of numbers of bytes that it waits for and that have been reported.
    fn tell_reached(&mut self) {
        let waits = |wake: &&Wake| !matches!(wake, Wake::At(_));
        let wakes: Vec<Wake> = self.driver.wakes().iter().filter(waits).copied().collect();
        for wake in wakes {
            if self.missing(wake).is_some_and(|(missing, _)| missing <= 0.0) {
                if let Wake::WhenSent(id, _) | Wake::WhenFlowSent(id, _) = wake
                    && let Some(coflow) = self.coflows.of(id)
                {
                    self.driver.report(id, coflow.attained, self.now);
                }
                self.driver.reached(wake, self.now);
                self.stirred = true;
            }
        }
        self.tell_limits();
    }

    /// How many bytes are missing of what a wake-up waits for, as reported, and the coflows that can
    /// send them. `None` for times, and where nobody can.
    fn missing(&self, wake: Wake) -> Option<(f64, Vec<u64>)> {
        match wake {
            Wake::At(_) => None,
            Wake::WhenSent(id, bytes) => {
                let serial = self.coflows.serial(id);
                let coflow = self.coflows.present.get(&serial)?;
                Some((bytes - coflow.attained, vec![serial]))
            }
            Wake::WhenFlowSent(id, bytes) => {
                let serial = self.coflows.serial(id);
                let coflow = self.coflows.present.get(&serial)?;
                Some((bytes - coflow.longest, vec![serial]))
            }
            Wake::WhenDagSent(external, bytes) => {
                let members = || {
                    let present = self.coflows.present.iter();
                    present.filter(move |(_, coflow)| coflow.lineage.external == external)
                };
                let gone = self.coflows.dags.get(&external).map_or(0.0, |dag| dag.bytes);
                let sent = gone + members().map(|(_, coflow)| coflow.attained).sum::<f64>();
                Some((bytes - sent, members().map(|(&serial, _)| serial).collect()))
            }
        }
    }

    fn tell_limits(&mut self) {
        if self.driver.link_limits().is_empty() {
            return;
        }
        let limits = self.driver.link_limits().to_vec();
        let ports = self.agents.len() as u32;
        let mut told = Vec::new();
        for (&serial, coflow) in self.coflows.present.iter().filter(|(_, coflow)| coflow.stale) {
            for (link, bytes) in sent_at_links(coflow, ports) {
                let reached = self.limits_reached.entry((serial, link)).or_default();
                while limits.get(*reached).is_some_and(|limit| bytes >= *limit) {
                    told.push((coflow.id, link, limits[*reached]));
                    *reached += 1;
                }
            }
        }
        for (id, link, limit) in told {
            self.driver.limit_reached(id, link, limit, self.now);
            self.stirred = true;
        }
    }

    /// Finds out what has changed for which agent.
    fn publish(&mut self) {
        let rates = self.driver.rates();
        let together = rates.crowd().is_some() || rates.line().is_some();
        let all = std::mem::replace(&mut self.publish_all, together) || together;
        let changed: Vec<CoflowId> = if all {
            self.driver.state().present().to_vec()
        } else {
            let present = |id: &&CoflowId| self.driver.state().is_present(**id);
            rates.changed().iter().filter(present).copied().collect()
        };
        if changed.is_empty() {
            return;
        }
        let layers = self.layers();
        for id in changed {
            let serial = self.coflows.serial(id);
            let Some(coflow) = self.coflows.present.get_mut(&serial) else { continue };
            let served = served(&self.driver, id, together);
            let before = std::mem::replace(&mut coflow.served, served);
            let (mut old, mut new) = (before.iter().peekable(), coflow.served.iter().peekable());
            loop {
                let (flow, rate) = match (old.peek(), new.peek()) {
                    (Some(a), Some(b)) if a == b => {
                        (old.next(), new.next());
                        continue;
                    }
                    (Some(a), Some(b)) if a.0 < b.0 => (a.0, 0.0),
                    (Some(a), None) => (a.0, 0.0),
                    (_, Some(b)) => (b.0, b.1),
                    (None, None) => break,
                };
                old.next_if(|next| next.0 == flow);
                new.next_if(|next| next.0 == flow);
                let Flow { src, dst, .. } = coflow.flows[flow as usize];
                let layer = layers.of(FlowId { coflow: id, index: flow });
                self.agents[src as usize].want(FlowKey { coflow: serial, flow }, dst, layer, rate);
                self.woken.insert(src);
            }
        }
    }

    fn layers(&self) -> LayerOf {
        let mut layers = LayerOf::default();
        layers.coflows.resize(self.driver.state().slots(), 0);
        for entry in self.driver.ranking().entries.iter().rev() {
            match entry.group {
                Group::Everything => {}
                Group::Coflow(id) | Group::CoflowAt(id, _) => {
                    layers.coflows[id.index()] = entry.layer;
                }
                Group::Flow(flow) => {
                    layers.flows.insert(flow, entry.layer);
                }
            }
        }
        layers
    }

    /// Tells agents how often to report what coflows have sent, where the policy waits for that.
    ///
    /// While what is missing exceeds what all agents together may have sent without a word, it cannot
    /// have been reached. So each may send its part of what is missing; the parts shrink with what
    /// is missing, down to a hundredth of what is waited for.
    fn set_grains(&mut self) {
        let mut grains: BTreeMap<u64, f64> = BTreeMap::new();
        let mut bound = |serial: u64, missing: f64, goal: f64, agents: usize| {
            let grain = missing.max(goal / 100.0) / agents.max(1) as f64;
            let bound = grains.entry(serial).or_insert(f64::INFINITY);
            *bound = bound.min(grain);
        };
        for &wake in self.driver.wakes() {
            let (Wake::WhenSent(_, goal)
            | Wake::WhenFlowSent(_, goal)
            | Wake::WhenDagSent(_, goal)) = wake
            else {
                continue;
            };
            let Some((missing, serials)) = self.missing(wake) else { continue };
            let agents = serials.iter().map(|serial| self.senders(*serial).len()).sum();
            serials.iter().for_each(|&serial| bound(serial, missing, goal, agents));
        }
        if let Some(&first) = self.driver.link_limits().first() {
            let (limits, ports) = (self.driver.link_limits(), self.agents.len() as u32);
            for (&serial, coflow) in &self.coflows.present {
                let agents = self.senders(serial).len();
                for (link, bytes) in sent_at_links(coflow, ports) {
                    let reached = self.limits_reached.get(&(serial, link)).copied().unwrap_or(0);
                    if let Some(limit) = limits.get(reached) {
                        bound(serial, limit - bytes, *limit, agents);
                    }
                }
                if coflow.attained == 0.0 {
                    bound(serial, first, first, agents);
                }
            }
        }
        let serials: Vec<u64> = self.coflows.present.keys().copied().collect();
        for serial in serials {
            let grain = grains.get(&serial).copied().unwrap_or(f64::INFINITY);
            let Some(coflow) = self.coflows.present.get_mut(&serial) else { continue };
            // A grain that is a little too fine only makes a report more.
            if grain == coflow.grain || (grain > coflow.grain && grain < 2.0 * coflow.grain) {
                continue;
            }
            coflow.grain = grain;
            for port in self.senders(serial) {
                self.agents[port as usize].grains.insert(serial, grain);
                self.woken.insert(port);
            }
        }
    }

    /// Ports with unfinished flows of a coflow.
    fn senders(&self, serial: u64) -> BTreeSet<u32> {
        let Some(coflow) = self.coflows.present.get(&serial) else { return BTreeSet::new() };
        let unfinished = coflow.flows.iter().filter(|flow| flow.stage != Stage::Ended);
        unfinished.map(|flow| flow.src).collect()
    }

    /// What an agent is to be sent now. To be asked for when its connection can take it.
    pub fn take_messages(&mut self, session: SessionId, messages: &mut Vec<ToAgent>) {
        let Some(&port) = self.sessions.get(&session) else { return };
        let agent = &mut self.agents[port as usize];
        if std::mem::take(&mut agent.welcome) {
            let reports = self.driver.needs_progress();
            messages.push(ToAgent::Welcome(Welcome {
                version: VERSION,
                epoch: self.epoch,
                report_every_s: if reports { self.config.report_every_s } else { 0.0 },
                heartbeat_s: self.config.heartbeat_s,
            }));
        }
        let settled = agent.take_settled();
        if !settled.is_empty() {
            messages.push(ToAgent::Settled(settled));
        }
        let grains = agent.take_grains();
        if !grains.is_empty() {
            messages.push(ToAgent::Grains(grains));
        }
        if let Some(schedule) = agent.next_schedule(port, self.epoch, &mut self.booked, self.now) {
            self.counts.schedules += 1;
            self.counts.entries += (schedule.set.len() + schedule.removed.len()) as u64;
            messages.push(ToAgent::Schedule(schedule));
        }
    }

    // What is told.

    fn status(&self, id: u64) -> Option<CoflowStatus> {
        if let Some(coflow) = self.coflows.present.get(&id) {
            return Some(CoflowStatus {
                id,
                name: coflow.name.clone(),
                lineage: coflow.lineage.to_string(),
                state: if coflow.stalled > 0 { "stalled" } else { "active" },
                revision: coflow.revision,
                arrival_s: coflow.arrival_s,
                end_s: None,
                flows: coflow.flows.len(),
                flows_ended: coflow.ended(),
                flows_stalled: coflow.stalled,
                bytes_sent: coflow.attained,
                rate: coflow.served.iter().map(|(_, rate)| rate).sum(),
            });
        }
        self.coflows.gone.get(&id).map(of_gone)
    }

    fn list(&self, from: u64, limit: usize, all: bool) -> Page<CoflowStatus> {
        let present = self.coflows.present.range(from..).map(|(&id, _)| id);
        let mut ids: Vec<u64> = present.take(limit + 1).collect();
        if all {
            ids.extend(self.coflows.gone.range(from..).map(|(&id, _)| id).take(limit + 1));
            ids.sort_unstable();
        }
        let next = ids.get(limit).map(u64::to_string);
        let items = ids.iter().take(limit).filter_map(|&id| self.status(id)).collect();
        Page { items, next }
    }

    fn rates(&self, from: (u64, u32), limit: usize) -> Page<Rate> {
        let mut items = Vec::new();
        for (&serial, coflow) in self.coflows.present.range(from.0..) {
            let first = if serial == from.0 { from.1 } else { 0 };
            for &(flow, rate) in coflow.served.iter().filter(|(flow, _)| *flow >= first) {
                if items.len() == limit {
                    return Page { items, next: Some(format!("{serial}.{flow}")) };
                }
                let Flow { src, dst, .. } = coflow.flows[flow as usize];
                items.push(Rate { coflow: serial, flow, src, dst, rate });
            }
        }
        Page { items, next: None }
    }

    fn list_agents(&self, from: u32, limit: usize) -> Page<AgentStatus> {
        let agents = (0..).zip(&self.agents).skip(from as usize).take(limit);
        let items: Vec<AgentStatus> = agents
            .map(|(port, agent)| AgentStatus {
                port,
                state: match (agent.session, agent.is_away) {
                    (Some(_), _) => "joined",
                    (None, false) => "awaited",
                    (None, true) => "lost",
                },
                version: agent.version,
                applied: agent.applied.1,
                flows: agent.flows.values().filter(|place| place.wanted > 0.0).count(),
            })
            .collect();
        let end = from as usize + items.len();
        let next = (end < self.agents.len()).then(|| end.to_string());
        Page { items, next }
    }
}

/// The layer of each coflow by number, and of flows that have one of their own.
#[derive(Debug, Default)]
struct LayerOf {
    coflows: Vec<u32>,
    flows: BTreeMap<FlowId, u32>,
}

impl LayerOf {
    fn of(&self, flow: FlowId) -> u32 {
        let own = self.flows.get(&flow).copied();
        own.unwrap_or_else(|| self.coflows[flow.coflow.index()])
    }
}

fn same(key: &Key, digest: u64) -> Result<(), Problem> {
    if key.digest == digest {
        return Ok(());
    }
    let detail = format!("the key '{}' came with another request before", key.key);
    Err(Problem::new(422, "key used before", detail))
}

fn spec_of(flow: &record::Flow) -> FlowSpec {
    let bytes = flow.bytes.unwrap_or(f64::NAN);
    FlowSpec { src: PortId(flow.src), dst: PortId(flow.dst), bytes }
}

/// A flow of no bytes ends when it starts.
fn flow_of(flow: &record::Flow) -> Flow {
    let stage = if flow.bytes == Some(0.0) { Stage::Ended } else { Stage::Active };
    Flow { src: flow.src, dst: flow.dst, bytes: flow.bytes, sent: 0.0, stage }
}

fn of_gone(summary: &Summary) -> CoflowStatus {
    let (external, internal) = summary.lineage;
    CoflowStatus {
        id: summary.id,
        name: summary.name.clone(),
        lineage: Lineage { external, internal }.to_string(),
        state: if summary.removed { "removed" } else { "ended" },
        revision: 0,
        arrival_s: summary.arrival_s,
        end_s: Some(summary.end_s),
        flows: summary.flows,
        flows_ended: summary.flows,
        flows_stalled: 0,
        bytes_sent: summary.bytes,
        rate: 0.0,
    }
}

/// What a coflow has sent through each port it uses, as reported.
fn sent_at_links(coflow: &Coflow, ports: u32) -> BTreeMap<LinkId, f64> {
    let mut sent = BTreeMap::new();
    for flow in &coflow.flows {
        for link in [LinkId(flow.src), LinkId(ports + flow.dst)] {
            *sent.entry(link).or_default() += flow.sent;
        }
    }
    sent
}

/// The flows of a coflow that get anything, by number, and their rates.
fn served(driver: &Driver, id: CoflowId, together: bool) -> Vec<(u32, f64)> {
    let (state, rates) = (driver.state(), driver.rates());
    let coflow = state.coflow(id);
    let demand = coflow.demand();
    let mut served: Vec<(u32, f64)> = Vec::new();
    if together {
        served.extend(demand.active().map(|p| (demand.index(p), rates.rate(state, id, p))));
    } else {
        let grant = rates.grant(id);
        let (levels, madd) = (grant.levels(), grant.madd());
        if !levels.is_empty() || madd > 0.0 {
            for p in demand.active() {
                let level = match levels {
                    [] => 0.0,
                    _ => demand.path(p).map(|l| levels[l]).fold(f64::INFINITY, f64::min),
                };
                // What is left is not known where shares do not go by it.
                let by_left = if madd > 0.0 { coflow.progress().left[p] * madd } else { 0.0 };
                served.push((demand.index(p), level + by_left));
            }
        }
        let singles = grant.singles().filter(|single| demand.is_active(single.position as usize));
        served.extend(singles.map(|s| (demand.index(s.position as usize), s.rate)));
    }
    served.sort_unstable_by_key(|&(flow, _)| flow);
    served.dedup_by(|next, kept| {
        let same = next.0 == kept.0;
        kept.1 += if same { next.1 } else { 0.0 };
        same
    });
    // Rounding leaves shares that are none.
    let least = 1e-9 * state.fabric().capacity().iter().copied().fold(0.0, f64::max);
    served.retain(|&(_, rate)| rate > least);
    served
}
