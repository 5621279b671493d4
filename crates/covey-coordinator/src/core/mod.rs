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

mod apply;
mod compress;
mod leases;
mod moment;
mod requests;
mod sessions;
mod tell;
mod uses;
mod waits;

use std::collections::{BTreeMap, BTreeSet};

use covey_core::alloc::PlanError;
use covey_core::{AnyPolicy, Codec, Fabric, LinkId, Time};
use covey_proto::{CodecName, FlowKey, Refusal};

use crate::coflows::{Coflows, Tally, Unused};
use crate::driver::Driver;
use crate::record::Record;
use crate::request::Answer;
use crate::slot::{Booked, SessionId, Slot};
use waits::Waits;

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
    /// After how many seconds a flow that has a rate and sends nothing gives it up.
    pub idle_after_s: f64,
    /// For how many seconds a coflow is kept by whoever does not say for how long.
    pub lease_s: f64,
    /// How many seconds later it is forgotten, and how many seconds after its end a coflow that has ended.
    pub forget_after_s: f64,
    /// How often agents report what flows have sent, in seconds, where the policy needs that.
    pub report_every_s: f64,
    /// Whether they do so whatever the policy needs.
    pub reports_always: bool,
    /// The most coflows that may be present.
    pub most_coflows: usize,
    /// The most flows of a coflow.
    pub most_flows: usize,
    /// The most changes that may wait for the journal.
    pub most_pending: usize,
    /// The most coflows that are remembered after they have gone: those that went first are forgotten.
    pub most_gone: usize,
    /// The most coflows present that nobody keeps: those that were left first are forgotten.
    pub most_expired: usize,
    /// What the policy has flows compressed with, if it does.
    pub codec: Option<CodecName>,
}

impl Default for Config {
    fn default() -> Config {
        Config {
            heartbeat_s: 1.0,
            lost_after_s: 5.0,
            idle_after_s: 1.0,
            lease_s: 600.0,
            forget_after_s: 86_400.0,
            report_every_s: 0.008,
            reports_always: false,
            most_coflows: 100_000,
            most_flows: 1_000_000,
            most_pending: 10_000,
            most_gone: 10_000,
            most_expired: 1_000,
            codec: None,
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
    /// Flows of a coflow do not use what they are given, and lose it.
    Idle {
        /// Its number.
        id: u64,
        /// Why, of most of them.
        why: Unused,
    },
    /// Nobody has kept a coflow in time.
    Expired {
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
    /// Coflows that were looked at, for these: whether bytes have come that are waited for, what else agents are to
    /// be told of rates and layers, how often they report.
    pub looked_at: u64,
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
    /// Agents refused because they know of a later epoch.
    pub epochs_ahead: u64,
    /// Flows in reports of agents whose coflows are not known: of another life of the journal, or forgotten.
    pub unknown: u64,
    /// Coflows registered and gone.
    pub registered: u64,
    /// See `registered`.
    pub gone: u64,
}

/// What there is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Population {
    /// Coflows present.
    pub coflows: usize,
    /// Those with a flow whose host is away.
    pub stalled: usize,
    /// Those with a flow that does not use what it is given.
    pub idle: usize,
    /// Those that nobody keeps.
    pub expired: usize,
    /// Flows that do not use what they are given, by [`Unused`].
    pub unused: [usize; 4],
    /// Agents that have joined.
    pub agents: usize,
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
    /// Until when flows may be on their way whose last bytes are, before they are served again.
    awaited: BTreeMap<FlowKey, Time>,
    /// Whether anything has happened since the last decision.
    stirred: bool,
    /// Ports whose hosts have come or gone since the last decision.
    hosts_changed: BTreeSet<u32>,
    /// Where bytes have been told that the policy may wait for.
    waits: Waits,
    /// The first time that the policy waits for.
    first_wake: Time,
    /// Whether the rates of all coflows must be looked at.
    publish_all: bool,
    /// The compressor as the policy was told, and whether a host has said something of its own since.
    codec: Option<Codec>,
    processors_changed: bool,
    /// When to look for silent agents.
    next_check: Time,
    /// By coflow and link, how many of the policy's limits have been reached.
    limits_reached: BTreeMap<(u64, LinkId), usize>,
    /// Whether anything was decided since [`Core::decide`] last said so, and what was wrong with it.
    decided: bool,
    failed: Option<PlanError>,
    counts: Counts,
    /// Whether the journal is being read.
    reads: bool,
}

/// After so many records of the journal the policy is asked for a plan.
const RECORDS_A_PLAN: usize = 256;

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
            coflows: Coflows::default(),
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
            awaited: BTreeMap::new(),
            stirred: true,
            hosts_changed: BTreeSet::new(),
            waits: Waits::default(),
            first_wake: Time::NEVER,
            publish_all: true,
            codec: None,
            processors_changed: config.codec.is_some(),
            next_check: start,
            limits_reached: BTreeMap::new(),
            decided: false,
            failed: None,
            counts: Counts::default(),
            reads: false,
        };
        core.agents.resize_with(ports, || Slot { heard: start, full: true, ..Slot::default() });
        core.read(records);
        core.outputs.clear();
        core.counts = Counts::default();
        core.now = core.now.max(start);
        core.keep_all();
        core.forget_gone();
        core
    }

    /// Applies what a journal says. The policy and the allocator keep what they hear until they are asked, so
    /// that they are, now and then; but nothing is served. Ticks mean nothing meanwhile.
    fn read(&mut self, records: impl IntoIterator<Item = Record>) {
        self.reads = true;
        for (k, record) in records.into_iter().enumerate() {
            self.apply(&record);
            if k % RECORDS_A_PLAN == RECORDS_A_PLAN - 1 {
                // A plan that cannot be carried out is told when one is made in earnest.
                let _ = self.driver.decide(self.now);
                self.note_fresh();
            }
            self.outputs.clear();
        }
        self.reads = false;
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

    /// What there is.
    pub fn population(&self) -> Population {
        let Tally { stalled, idle, expired, unused } = self.coflows.tally;
        let (coflows, agents) = (self.coflows.present.len(), self.sessions.len());
        Population { coflows, stalled, idle, expired, unused, agents }
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
        self.first_wake.min(self.next_check)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::request::Request;
    use covey_api::{CoflowSpec, Flow};

    fn settle(core: &mut Core, now: Time) {
        core.decide(now).expect("a plan");
        for output in core.take_outputs() {
            if let Output::Journal(lsn, _) = output {
                core.durable(lsn, now);
            }
        }
        core.decide(now).expect("a plan");
        core.take_outputs();
    }

    /// Entries of everything that has some for each flow or coflow.
    fn held(core: &Core) -> usize {
        let slot = |slot: &Slot| {
            let uses = slot.uses.len() + slot.unopened.len() + slot.over.len();
            uses + slot.flows.len() + slot.dirty.len() + slot.grains.len() + slot.settled.len()
        };
        let coflows = &core.coflows;
        let known = coflows.present.len() + coflows.gone.len() + coflows.dags.len();
        let leases = coflows.leases.len() + coflows.expired.len() + coflows.kept_otherwise.len();
        let known = known + leases + coflows.went.len();
        let listed = coflows.serial.len() + coflows.keys.len() + core.limits_reached.len();
        let waiting = core.pending.len() + core.pending_keys.len() + core.unwritten.len();
        let slots = core.agents.iter().map(slot).sum::<usize>();
        known + listed + waiting + core.waits.len() + core.awaited.len() + slots
    }

    #[test]
    fn of_flows_whose_ends_are_in_the_journal_no_agent_hears() {
        for policy in ["covey", "sebf", "fifo", "fair"] {
            let fabric = Fabric::big_switch(4, 100.0).expect("a fabric");
            let built = covey_sched::build(policy).expect("a policy");
            let mut records = Vec::new();
            for id in 0..2 * RECORDS_A_PLAN as u64 {
                let flow = Flow { src: 0, dst: 1, bytes: Some(1e9) };
                let spec = CoflowSpec::of(vec![flow]);
                records.push(Record::Registered {
                    id,
                    at_s: 0.0,
                    lineage: (id, 0),
                    key: None,
                    spec,
                });
                if id > 0 {
                    let (flows, compressed) = (vec![(0, 1e9)], Vec::new());
                    records.push(Record::Ended { id: id - 1, at_s: 0.0, flows, compressed });
                }
            }
            let config = Config::default();
            let mut core = Core::new(fabric, built.policy, config, 1, records, Time::ZERO);
            settle(&mut core, Time::ZERO);
            let wanted: Vec<u64> = core.agents[0].flows.keys().map(|key| key.coflow).collect();
            assert_eq!(wanted, [2 * RECORDS_A_PLAN as u64 - 1], "{policy}");
        }
    }

    #[test]
    fn coflows_that_went_before_any_agent_came_leave_nothing() {
        for policy in ["covey", "aalo", "philae", "saath", "sebf", "fifo", "fair"] {
            let fabric = Fabric::big_switch(4, 100.0).expect("a fabric");
            let built = covey_sched::build(policy).expect("a policy");
            let config = Config { most_gone: 1, ..Config::default() };
            let mut core = Core::new(fabric, built.policy, config, 1, [], Time::ZERO);
            let mut after_first = None;
            for id in 0..50 {
                let now = Time::from_secs(id as f64);
                let flow = Flow { src: 0, dst: 1, bytes: Some(1e9) };
                let spec = CoflowSpec::of(vec![flow, Flow { src: 2, dst: 1, ..flow }]);
                core.request(2 * id, Request::Register { spec, key: None }, now);
                settle(&mut core, now);
                core.request(2 * id + 1, Request::Remove { id }, now);
                settle(&mut core, now);
                assert_eq!(core.population().coflows, 0, "{policy}");
                let first = *after_first.get_or_insert(held(&core));
                assert_eq!(held(&core), first, "{policy}: after {} coflows", id + 1);
            }
        }
    }
}
