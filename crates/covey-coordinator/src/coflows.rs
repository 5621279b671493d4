//! The coflows that are registered, by their serial numbers, and those that have gone.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use covey_core::{CoflowId, Compression, Lineage, Time};
use covey_proto::CodecName;

use crate::record::{Key, Summary};

/// A flow of a coflow that is present.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Flow {
    pub src: u32,
    pub dst: u32,
    /// Its size, as far as known.
    pub bytes: Option<f64>,
    /// Bytes of it that have been sent since it last began, as reported, and bytes that were on the wire
    /// for these.
    pub sent: f64,
    pub wire: f64,
    pub stage: Stage,
}

/// Where a flow is in its life.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stage {
    Active,
    /// One of its hosts is away.
    Stalled,
    /// It does not use what it is given.
    Unused(Unused),
    /// Its last bytes are on their way: others may have its turn. It has not ended before that is said.
    Written,
    Ended,
}

/// Why a flow does not use what it is given.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Unused {
    /// It had a rate and sent nothing.
    Idle,
    /// Nobody has opened it.
    Unopened,
    /// Whoever had it open is gone.
    Closed,
    /// Nobody keeps its coflow any more.
    Expired,
}

impl Unused {
    /// All of them, in order.
    pub const ALL: [Unused; 4] = [Unused::Idle, Unused::Unopened, Unused::Closed, Unused::Expired];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Unused::Idle => "idle",
            Unused::Unopened => "unopened",
            Unused::Closed => "closed",
            Unused::Expired => "expired",
        }
    }
}

/// A flow that gets something.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Served {
    /// Its number in the coflow.
    pub flow: u32,
    /// Bytes per second.
    pub rate: f64,
    /// What it is compressed with.
    pub codec: Option<CodecName>,
}

/// A coflow that is present.
#[derive(Debug)]
pub(crate) struct Coflow {
    pub id: CoflowId,
    pub name: Option<String>,
    pub key: Option<Key>,
    pub parents: Vec<u64>,
    pub weight: f64,
    pub deadline_s: Option<f64>,
    pub open: bool,
    pub lineage: Lineage,
    pub arrival_s: f64,
    /// Grows with each update: the entity tag.
    pub revision: u64,
    pub flows: Vec<Flow>,
    /// Flows that are stalled.
    pub stalled: usize,
    /// Flows that do not use what they are given, by [`Unused`], and since when there are any.
    pub unused: [usize; 4],
    pub unused_since: Time,
    /// For how many seconds it is kept each time, if that was said; until when; and since when it has not been.
    pub lease_s: Option<f64>,
    pub kept_until: Time,
    pub expired: Option<Time>,
    /// Whether half of its time is over and nobody has kept it since: then the journal says until when it is kept.
    pub wanes: bool,
    /// Its place in [`Coflows::leases`].
    pub next_look: Time,
    /// Bytes sent over the wire, as reported, by all flows; those that were lost included.
    pub attained: f64,
    /// The most that any flow has sent.
    pub longest: f64,
    /// Flows with a rate, by number.
    pub served: Vec<Served>,
    /// How it is compressed, if it is.
    pub compression: Option<Compression>,
    /// How often its agents report it, in bytes.
    pub grain: f64,
    /// Whether what is left of it is to be written down before the next decision.
    pub stale: bool,
}

impl Coflow {
    /// Flows that have ended.
    pub fn ended(&self) -> usize {
        self.flows.iter().filter(|flow| flow.stage == Stage::Ended).count()
    }

    /// Flows that do not use what they are given.
    pub fn unused(&self) -> usize {
        self.unused.iter().sum()
    }

    /// Why most of those do not, if there are any.
    pub fn why_unused(&self) -> Option<Unused> {
        let all = Unused::ALL.into_iter().zip(self.unused).filter(|(_, count)| *count > 0);
        all.max_by_key(|(_, count)| *count).map(|(why, _)| why)
    }

    /// What it counts as.
    pub fn tally(&self) -> Tally {
        Tally {
            stalled: usize::from(self.stalled > 0),
            idle: usize::from(self.unused() > 0),
            expired: usize::from(self.expired.is_some()),
            unused: self.unused,
        }
    }

    /// A flow has no rate any more.
    pub fn unserve(&mut self, flow: u32) {
        if let Ok(place) = self.served.binary_search_by_key(&flow, |served| served.flow) {
            self.served.remove(place);
        }
    }

    /// Takes over a report. Whether it told anything new.
    pub fn report(&mut self, flow: u32, bytes: f64, wire: f64) -> bool {
        let Some(flow) = self.flows.get_mut(flow as usize) else { return false };
        if flow.stage == Stage::Ended || (bytes <= flow.sent && wire <= flow.wire) {
            return false;
        }
        self.attained += (wire - flow.wire).max(0.0);
        flow.sent = flow.sent.max(bytes);
        flow.wire = flow.wire.max(wire);
        self.longest = self.longest.max(wire);
        self.stale = true;
        true
    }
}

/// How many coflows and flows there are of which something is to be said.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Tally {
    /// Coflows with a stalled flow, with one that does not use what it is given, and that nobody keeps.
    pub stalled: usize,
    pub idle: usize,
    pub expired: usize,
    /// Flows that do not use what they are given, by [`Unused`].
    pub unused: [usize; 4],
}

impl Tally {
    /// A coflow counts as `after` now, and did as `before`.
    pub fn replace(&mut self, before: Tally, after: Tally) {
        self.stalled = self.stalled + after.stalled - before.stalled;
        self.idle = self.idle + after.idle - before.idle;
        self.expired = self.expired + after.expired - before.expired;
        for (k, all) in self.unused.iter_mut().enumerate() {
            *all = *all + after.unused[k] - before.unused[k];
        }
    }
}

/// The ports of flows, each once.
fn ports<'a>(flows: impl IntoIterator<Item = &'a Flow>) -> Vec<u32> {
    let mut ports: Vec<u32> = flows.into_iter().flat_map(|flow| [flow.src, flow.dst]).collect();
    ports.sort_unstable();
    ports.dedup();
    ports
}

/// A DAG of coflows.
#[derive(Debug, Default, Clone)]
pub(crate) struct Dag {
    /// Bytes sent by its coflows that have gone.
    pub bytes: f64,
    /// Its coflows that are present, or remembered.
    pub members: usize,
    /// Those that are present.
    pub present: BTreeSet<u64>,
}

/// All of them.
#[derive(Debug, Default)]
pub(crate) struct Coflows {
    pub present: BTreeMap<u64, Coflow>,
    pub gone: BTreeMap<u64, Summary>,
    /// Serial numbers by [`CoflowId`].
    pub serial: Vec<u64>,
    pub keys: BTreeMap<String, (u64, u64)>,
    pub dags: BTreeMap<u64, Dag>,
    pub next_id: u64,
    pub next_dag: u64,
    /// Those that are present, by port.
    by_port: Vec<BTreeSet<u64>>,
    /// What those that are present count as together.
    pub tally: Tally,
    /// Those of which what is left is to be written down before the next decision.
    pub stale: Vec<u64>,
    /// Those that agents report after so many bytes.
    pub grained: BTreeSet<u64>,
    /// Those that are present, by the time at which their leases are to be looked at: it is never too late.
    pub leases: BTreeSet<(Time, u64)>,
    /// Those that nobody keeps, by the time since when.
    pub expired: BTreeSet<(Time, u64)>,
    /// Those of which the journal is to hear for how long they are kept.
    pub kept_otherwise: BTreeSet<u64>,
    /// Those that have gone, in the order in which they did.
    pub went: VecDeque<u64>,
}

impl Coflows {
    pub fn serial(&self, id: CoflowId) -> u64 {
        self.serial[id.index()]
    }

    /// The present coflow behind a policy's number.
    pub fn of(&mut self, id: CoflowId) -> Option<&mut Coflow> {
        self.present.get_mut(self.serial.get(id.index())?)
    }

    /// The lineage of a coflow, present or remembered.
    pub fn lineage(&self, serial: u64) -> Option<Lineage> {
        let gone = || {
            let (external, internal) = self.gone.get(&serial)?.lineage;
            Some(Lineage { external, internal })
        };
        self.present.get(&serial).map(|coflow| coflow.lineage).or_else(gone)
    }

    pub fn insert(&mut self, serial: u64, coflow: Coflow) {
        let slot = coflow.id.index();
        if self.serial.len() <= slot {
            self.serial.resize(slot + 1, u64::MAX);
        }
        self.serial[slot] = serial;
        self.next_id = self.next_id.max(serial + 1);
        self.next_dag = self.next_dag.max(coflow.lineage.external + 1);
        let dag = self.dags.entry(coflow.lineage.external).or_default();
        dag.members += 1;
        dag.present.insert(serial);
        if let Some(key) = &coflow.key {
            self.keys.insert(key.key.clone(), (serial, key.digest));
        }
        self.leases.insert((coflow.next_look, serial));
        self.note_ports(serial, &coflow.flows);
        self.present.insert(serial, coflow);
    }

    /// Flows of a coflow are at their ports.
    pub fn note_ports(&mut self, serial: u64, flows: &[Flow]) {
        for port in ports(flows) {
            let port = port as usize;
            if self.by_port.len() <= port {
                self.by_port.resize_with(port + 1, BTreeSet::new);
            }
            self.by_port[port].insert(serial);
        }
    }

    /// Coflows that have, or had, a flow at a port.
    pub fn at_port(&self, port: u32) -> impl Iterator<Item = u64> {
        self.by_port.get(port as usize).into_iter().flatten().copied()
    }

    /// The lease of a present coflow is to be looked at then, and not before.
    pub fn look_at(&mut self, serial: u64, at: Time) {
        if let Some(coflow) = self.present.get_mut(&serial) {
            self.leases.remove(&(coflow.next_look, serial));
            coflow.next_look = at;
            self.leases.insert((at, serial));
        }
    }

    /// A coflow has gone: only what is said of it at the end stays, and not for ever.
    pub fn retire(&mut self, serial: u64, end_s: f64, removed: bool) -> Option<Coflow> {
        let coflow = self.present.remove(&serial)?;
        self.leases.remove(&(coflow.next_look, serial));
        if let Some(since) = coflow.expired {
            self.expired.remove(&(since, serial));
        }
        self.kept_otherwise.remove(&serial);
        self.grained.remove(&serial);
        self.tally.replace(coflow.tally(), Tally::default());
        for port in ports(&coflow.flows) {
            self.by_port[port as usize].remove(&serial);
        }
        if let Some(dag) = self.dags.get_mut(&coflow.lineage.external) {
            dag.bytes += coflow.attained;
            dag.present.remove(&serial);
        }
        let summary = Summary {
            id: serial,
            name: coflow.name.clone(),
            lineage: (coflow.lineage.external, coflow.lineage.internal),
            arrival_s: coflow.arrival_s,
            end_s,
            flows: coflow.flows.len(),
            bytes: coflow.attained,
            removed,
            key: coflow.key.clone(),
        };
        self.gone.insert(serial, summary);
        self.went.push_back(serial);
        Some(coflow)
    }

    /// Takes over what a compacted journal remembers.
    pub fn remember(&mut self, summary: Summary) {
        if let Some(key) = &summary.key {
            self.keys.insert(key.key.clone(), (summary.id, key.digest));
        }
        self.dags.entry(summary.lineage.0).or_default().members += 1;
        self.next_id = self.next_id.max(summary.id + 1);
        self.next_dag = self.next_dag.max(summary.lineage.0 + 1);
        self.went.push_back(summary.id);
        self.gone.insert(summary.id, summary);
    }

    /// Forgets those that went first, until there are at most so many that have gone, and none before that time.
    pub fn forget_gone(&mut self, most: usize, before: Time) {
        while let Some(first) = self.went.front() {
            let is_old = |summary: &Summary| Time::from_secs(summary.end_s) < before;
            if self.went.len() <= most && !self.gone.get(first).is_some_and(is_old) {
                return;
            }
            let summary = self.went.pop_front().and_then(|first| self.gone.remove(&first));
            let Some(summary) = summary else { continue };
            if let Some(key) = summary.key {
                self.keys.remove(&key.key);
            }
            if let Some(dag) = self.dags.get_mut(&summary.lineage.0) {
                dag.members -= 1;
                if dag.members == 0 {
                    self.dags.remove(&summary.lineage.0);
                }
            }
        }
    }
}
