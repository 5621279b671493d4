//! Histories of concurrent clients, agents, failures of the journal and crashes are linearizable:
//! each operation takes effect at one instant between its call and its answer (Herlihy and Wing,
//! 1990). The search is that of Wing and Gong (1993), with the memory of Lowe (2017).

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use covey_api::{CoflowSpec, Flow as FlowSpec, Move, Update};
use covey_core::{Fabric, SplitMix, Time};
use covey_proto::{Ended, FlowKey, FlowName, FromAgent, Hello, ToAgent, VERSION};

use super::super::{Config, CoordinatorState, Output};
use crate::record::{Key, Record};
use crate::request::{Answer, Reply, Request};

const PORTS: u32 = 4;

/// What somebody does.
#[derive(Debug, Clone, PartialEq)]
enum What {
    /// With a key, and whether flows may be added later.
    Register(u64, bool),
    /// Of a coflow, for the revision that the client has seen.
    Change(u64, Option<u64>, Change),
    Remove(u64),
    Get(u64),
    /// The flow that was registered as this one has ended.
    End(FlowKey),
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Change {
    Add,
    Move(u32),
    Restart(u32),
    Cancel(u32),
    /// The flow with this id.
    Take(u64),
    Close,
}

/// What somebody sees of the answer.
#[derive(Debug, Clone, PartialEq)]
enum Seen {
    Present { id: u64, revision: u64, flows: usize, ended: usize },
    Gone(u64),
    Removed,
    Refused(u16),
    Acknowledged,
}

/// One operation of a history. Instants are counted; an operation may be answered at the instant of
/// its call, and no other operation is called then.
#[derive(Debug, Clone)]
struct Operation {
    what: What,
    called: usize,
    /// When the answer came, and what it was.
    answer: Option<(usize, Seen)>,
}

/// What the coordinator should do, one operation after the other.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord)]
struct Model {
    coflows: BTreeMap<u64, Modelled>,
    keys: BTreeMap<u64, u64>,
}

/// A coflow that is present; nothing is left of others.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Modelled {
    is_present: bool,
    is_open: bool,
    revision: u64,
    /// Whether each flow has ended, and its name if it was registered with the coflow.
    flows: Vec<(bool, Option<(u64, u32)>)>,
}

const FLOWS: u32 = 3;

impl Model {
    /// `id` is that of a new coflow. `ids` has the names of flows by their ids.
    fn take_effect(
        &mut self,
        what: &What,
        id: Option<u64>,
        ids: &BTreeMap<u64, (u64, u32)>,
    ) -> Seen {
        match *what {
            What::Register(key, is_open) => {
                let Some(id) = self.keys.get(&key).copied().or(id) else { return Seen::Removed };
                self.keys.insert(key, id);
                let flows = (0..FLOWS).map(|index| (false, Some((id, index)))).collect();
                let new = Modelled { is_present: true, is_open, revision: 0, flows };
                self.coflows.entry(id).or_insert(new);
                self.seen(id)
            }
            What::Get(id) => self.seen(id),
            What::Remove(id) => {
                self.coflow(id).is_present = false;
                Seen::Removed
            }
            What::End(FlowKey { coflow, flow }) => {
                let at = self.place((coflow, flow));
                if let Some((of, index)) = at {
                    self.coflow(of).flows[index].0 = true;
                    self.go_if_over(of);
                }
                Seen::Acknowledged
            }
            What::Change(id, revision, change) => self.change(id, revision, change, ids),
        }
    }

    fn change(
        &mut self,
        id: u64,
        revision: Option<u64>,
        change: Change,
        ids: &BTreeMap<u64, (u64, u32)>,
    ) -> Seen {
        let coflow = self.coflow(id).clone();
        if !coflow.is_present {
            return Seen::Refused(409);
        }
        if revision.is_some_and(|revision| revision != coflow.revision) {
            return Seen::Refused(412);
        }
        let named = match change {
            Change::Move(index) | Change::Restart(index) | Change::Cancel(index) => Some(index),
            _ => None,
        };
        match named.map(|index| coflow.flows.get(index as usize)) {
            Some(None) => return Seen::Refused(422),
            Some(Some((true, _))) => return Seen::Refused(409),
            _ => {}
        }
        let mut left = None;
        match change {
            Change::Add => self.coflow(id).flows.push((false, None)),
            Change::Move(index) => {
                self.coflow(id).flows[index as usize].0 = true;
                self.coflow(id).flows.push((false, None));
            }
            Change::Restart(_) => {}
            Change::Cancel(index) => self.coflow(id).flows[index as usize].0 = true,
            Change::Take(flow) => match self.place(ids[&flow]) {
                Some((from, index)) if from != id && !self.coflow(from).flows[index].0 => {
                    self.coflow(from).flows[index] = (true, None);
                    self.coflow(id).flows.push((false, Some(ids[&flow])));
                    left = Some(from);
                }
                _ => return Seen::Refused(409),
            },
            Change::Close => self.coflow(id).is_open = false,
        }
        self.coflow(id).revision += 1;
        left.into_iter().chain([id]).for_each(|coflow| self.go_if_over(coflow));
        self.seen(id)
    }

    fn coflow(&mut self, id: u64) -> &mut Modelled {
        self.coflows.get_mut(&id).expect("only coflows are named whose registration was answered")
    }

    /// Where a flow is, if its coflow is present.
    fn place(&self, name: (u64, u32)) -> Option<(u64, usize)> {
        let present = self.coflows.iter().filter(|(_, coflow)| coflow.is_present);
        let mut places = present.filter_map(|(&id, coflow)| {
            Some((id, coflow.flows.iter().position(|(_, of)| *of == Some(name))?))
        });
        places.next()
    }

    fn go_if_over(&mut self, id: u64) {
        let coflow = self.coflow(id);
        coflow.is_present &= coflow.is_open || coflow.flows.iter().any(|(ended, _)| !ended);
    }

    fn seen(&self, id: u64) -> Seen {
        let Modelled { is_present, revision, flows, .. } = &self.coflows[&id];
        if !is_present {
            return Seen::Gone(id);
        }
        let ended = flows.iter().filter(|(ended, _)| *ended).count();
        Seen::Present { id, revision: *revision, flows: flows.len(), ended }
    }
}

/// Whether the operations can have taken effect one after the other.
fn is_linearizable(history: &[Operation], ids: &BTreeMap<u64, (u64, u32)>) -> bool {
    let answered = history.iter().enumerate().filter(|(_, it)| it.answer.is_some());
    let all = answered.fold(0_u128, |set, (k, _)| set | 1 << k);
    // The coflow of a key. A registration that was not answered may have had its effect all the
    // same.
    let coflow_of = |key: u64| {
        let of_key =
            history.iter().filter(|it| matches!(it.what, What::Register(of, _) if of == key));
        let mut coflows = of_key.filter_map(|it| match it.answer.as_ref()?.1 {
            Seen::Present { id, .. } | Seen::Gone(id) => Some(id),
            _ => None,
        });
        coflows.next()
    };
    let mut tried = BTreeSet::new();
    let mut to_try = vec![(0_u128, Model::default())];
    while let Some((done, model)) = to_try.pop() {
        if done & all == all {
            return true;
        }
        let left = || (0..history.len()).filter(|k| done & 1 << k == 0);
        let answer_at = |k: &usize| history[*k].answer.as_ref().map(|(at, _)| *at);
        let first = left().filter_map(|k| answer_at(&k)).min();
        let mut next: Vec<usize> =
            left().filter(|&k| first.is_none_or(|first| history[k].called <= first)).collect();
        // What was answered first is tried first.
        next.sort_by_key(|k| std::cmp::Reverse(answer_at(k).unwrap_or(usize::MAX)));
        for k in next {
            let Operation { what, answer, .. } = &history[k];
            let id = match what {
                What::Register(key, _) => coflow_of(*key),
                _ => None,
            };
            let mut after = model.clone();
            let seen = after.take_effect(what, id, ids);
            let is_wrong = answer.as_ref().is_some_and(|(_, answer)| *answer != seen);
            // One that was not answered need not take effect.
            if is_wrong || (answer.is_none() && after == model) {
                continue;
            }
            let after = (done | 1 << k, after);
            if tried.insert(after.clone()) {
                to_try.push(after);
            }
        }
    }
    false
}

/// A coordinator whose journal is written when the test says so.
struct World {
    core: CoordinatorState,
    epoch: u64,
    /// What a start would read.
    on_disk: Vec<Record>,
    /// What is to be written.
    to_write: VecDeque<(u64, Record)>,
    history: Vec<Operation>,
    now: usize,
    /// Ids of flows of registered coflows.
    ids: BTreeMap<u64, (u64, u32)>,
    /// Revisions that clients have seen.
    revisions: BTreeMap<u64, u64>,
}

impl World {
    fn new(policy: &str) -> World {
        let core = start(policy, 1, &[]);
        World {
            core,
            epoch: 1,
            on_disk: Vec::new(),
            to_write: VecDeque::new(),
            history: Vec::new(),
            now: 0,
            ids: BTreeMap::new(),
            revisions: BTreeMap::new(),
        }
    }

    fn time(&self) -> Time {
        Time::from_secs(self.now as f64 * 1e-3)
    }

    /// Somebody does something. The place in the history is the number of the request.
    fn call(&mut self, what: What) {
        let request = self.history.len() as u64;
        self.history.push(Operation { what: what.clone(), called: self.now, answer: None });
        self.say(request, &what);
    }

    fn say(&mut self, request: u64, what: &What) {
        let now = self.time();
        let asked = match *what {
            What::Register(key, open) => {
                let flow = |k: u32| FlowSpec::new(k, (k + 1) % PORTS, Some(1e9));
                let spec = CoflowSpec { open, ..CoflowSpec::of((0..FLOWS).map(flow).collect()) };
                let key = Some(Key { key: key.to_string(), digest: 0.into() });
                Request::Register { spec, key }
            }
            What::Change(id, revision, change) => {
                let mut update = Update::default();
                let to = FlowSpec::new(3, 1, Some(1e9));
                match change {
                    Change::Add => update.add.push(to),
                    Change::Move(flow) => update.moved.push(Move { flow, to }),
                    Change::Restart(flow) => update.restart.push(flow),
                    Change::Cancel(flow) => update.cancel.push(flow),
                    Change::Take(id) => update.take.push(id),
                    Change::Close => update.open = Some(false),
                }
                Request::Update { id, update, revision }
            }
            What::Remove(id) => Request::Remove { id },
            What::Get(id) => Request::Get { id },
            What::End(key) => {
                let ended = Ended { key: key.into(), bytes: 1e9, wire: 1e9 };
                self.core.heard(u64::from(key.flow), FromAgent::Ended(vec![ended]), now);
                return self.follow();
            }
        };
        self.core.request(request, asked, now);
        self.follow();
    }

    /// Takes what the coordinator wants done.
    fn follow(&mut self) {
        for output in self.core.take_outputs() {
            match output {
                Output::Journal(lsn, record) => self.to_write.push_back((lsn, record)),
                Output::Answer(request, answer) => self.answered(request as usize, &answer),
                _ => {}
            }
        }
        for session in 0..u64::from(PORTS) {
            let mut messages = Vec::new();
            self.core.take_messages(session, &mut messages);
            for message in messages {
                if let ToAgent::Acknowledged(keys) = message {
                    keys.into_iter()
                        .filter_map(FlowName::key)
                        .for_each(|key| self.acknowledged(key));
                }
            }
        }
    }

    fn answered(&mut self, request: usize, answer: &Answer) {
        let seen = match answer {
            Ok(Reply::Registered(status) | Reply::Coflow(status)) if status.is_over() => {
                Seen::Gone(status.id)
            }
            Ok(Reply::Registered(status) | Reply::Coflow(status)) => {
                if let What::Register(..) = self.history[request].what
                    && status.revision == 0
                {
                    let ids = status.flow_ids.iter();
                    let ids = ids.flat_map(|&(first, count)| first..first + u64::from(count));
                    self.ids
                        .extend((0..FLOWS).zip(ids).map(|(index, id)| (id, (status.id, index))));
                }
                self.revisions.insert(status.id, status.revision);
                let (id, revision) = (status.id, status.revision);
                Seen::Present { id, revision, flows: status.flows, ended: status.flows_ended }
            }
            Ok(Reply::Removed) => Seen::Removed,
            Err(problem) if problem.status == 503 => return,
            Err(problem) => Seen::Refused(problem.status),
            Ok(other) => panic!("{other:?}"),
        };
        self.history[request].answer.get_or_insert((self.now, seen));
    }

    fn acknowledged(&mut self, key: FlowKey) {
        let now = self.now;
        let ends = self.history.iter_mut().filter(|it| it.what == What::End(key));
        ends.for_each(|it| _ = it.answer.get_or_insert((now, Seen::Acknowledged)));
    }

    /// The disk has the first records.
    fn write(&mut self, count: usize) {
        let written: Vec<(u64, Record)> = self.to_write.drain(..count).collect();
        let Some(last) = written.last().map(|(lsn, _)| *lsn) else { return };
        self.on_disk.extend(written.into_iter().map(|(_, record)| record));
        self.core.durable(last, self.time());
        self.follow();
    }

    /// A turn of the coordinator: a piece of a change that is unfinished, or a decision.
    fn decide(&mut self) {
        self.core.decide(self.time()).expect("a plan");
        self.follow();
    }

    /// Writes and decides until no record waits for the disk, and every change has had its whole
    /// effect.
    fn write_all(&mut self) {
        while !self.to_write.is_empty() || self.core.has_unfinished() {
            self.write(self.to_write.len());
            self.decide();
        }
    }

    /// The disk is full.
    fn fail(&mut self) {
        let ends = self.to_write.front().zip(self.to_write.back());
        let Some((first, last)) = ends.map(|(first, last)| (first.0, last.0)) else { return };
        self.to_write.clear();
        self.core.not_durable(first, last, "it is full");
        self.follow();
    }

    /// The journal becomes what is known, and what is under way.
    fn compact(&mut self) {
        let (known, under_way) = self.core.snapshot();
        self.on_disk = known;
        self.on_disk.extend(under_way.into_iter().map(|(_, record)| record));
        let last = self.to_write.back().map(|(lsn, _)| *lsn);
        self.to_write.clear();
        if let Some(last) = last {
            self.core.durable(last, self.time());
        }
        self.follow();
    }

    /// The process is killed when the disk has so many more records. Agents tell the next one what
    /// was not acknowledged.
    fn crash(&mut self, policy: &str, count: usize) {
        self.on_disk.extend(self.to_write.drain(..count).map(|(_, record)| record));
        self.to_write.clear();
        self.epoch += 1;
        self.core = start(policy, self.epoch, &self.on_disk);
        self.report_again();
    }

    /// Another policy begins, without a crash.
    fn switch(&mut self, policy: &str) {
        self.core.announce_start();
        self.follow();
        self.write_all();
        self.epoch += 1;
        let built = covey_sched::build(policy).expect("a policy").policy;
        let fabric = Fabric::big_switch(PORTS, 1e6).expect("a fabric");
        self.core = self.core.start_again(fabric, built, self.core.config());
        assert_eq!(self.core.epoch(), self.epoch);
        let now = self.time();
        join(&mut self.core, now);
        self.report_again();
    }

    /// Agents say again what was not acknowledged.
    fn report_again(&mut self) {
        let ends = self.history.iter().filter(|it| it.answer.is_none());
        let ends = ends.filter(|it| matches!(it.what, What::End(_)));
        let ends: Vec<What> = ends.map(|it| it.what.clone()).collect();
        ends.iter().for_each(|what| self.say(0, what));
    }
}

fn start(policy: &str, epoch: u64, records: &[Record]) -> CoordinatorState {
    let fabric = Fabric::big_switch(PORTS, 1e6).expect("a fabric");
    let policy = covey_sched::build(policy).expect("a policy").policy;
    let config = Config { lost_after_s: f64::INFINITY, piece: 1, ..Config::default() };
    let at = records.iter().filter_map(Record::at_s).fold(0.0, f64::max);
    let start = Time::from_secs(at);
    let mut core =
        CoordinatorState::new(fabric, policy, config, epoch, records.iter().cloned(), start);
    join(&mut core, start);
    core
}

fn join(core: &mut CoordinatorState, now: Time) {
    for port in 0..PORTS {
        let hello = Hello { version: VERSION, port, holds: (0, 0), token: Vec::new() };
        core.heard(u64::from(port), FromAgent::Hello(hello), now);
    }
}

/// What somebody does next.
fn choose(world: &World, random: &mut SplitMix) -> What {
    let known: Vec<u64> = world.revisions.keys().copied().collect();
    // A key is used again now and then, also after a crash.
    if known.is_empty() || random.below(6) == 0 {
        return What::Register(random.below(4), random.below(2) == 0);
    }
    let id = known[random.below(known.len() as u64) as usize];
    let index = random.below(u64::from(FLOWS) + 1) as u32;
    let ids: Vec<u64> = world.ids.keys().copied().collect();
    let change = match random.below(12) {
        0 => return What::Get(id),
        1 if random.below(2) == 0 => return What::Remove(id),
        1..=4 => return What::End(FlowKey { coflow: id, flow: index.min(FLOWS - 1) }),
        5 | 6 => Change::Add,
        7 => Change::Move(index),
        8 => Change::Restart(index),
        9 => Change::Cancel(index),
        10 if !ids.is_empty() => Change::Take(ids[random.below(ids.len() as u64) as usize]),
        _ => Change::Close,
    };
    let revision = (random.below(2) == 0).then(|| world.revisions[&id]);
    What::Change(id, revision, change)
}

fn history(policy: &str, seed: u64) -> World {
    let mut random = SplitMix::new(seed);
    let mut world = World::new(policy);
    let length = 20 + random.below(20) as usize;
    while world.history.len() < length {
        world.now += 1;
        let waiting = world.to_write.len() as u64;
        match random.below(20) {
            0 => world.crash(policy, random.below(waiting + 1) as usize),
            1 => world.compact(),
            2 => world.fail(),
            3..=7 => world.write(random.below(waiting + 1) as usize),
            // To another one, and back.
            9 if random.below(4) == 0 => {
                world.switch("fifo");
                world.switch(policy);
            }
            8 | 10 => world.decide(),
            _ => {
                let what = choose(&world, &mut random);
                world.call(what);
            }
        }
    }
    world.now += 1;
    world.write_all();
    world
}

#[test]
fn every_history_is_linearizable() {
    for (policy, count) in [("fair", 600), ("aalo", 200), ("covey", 200)] {
        for seed in 0..count {
            let world = history(policy, seed);
            let all: Vec<String> = world.history.iter().map(|it| format!("{it:?}")).collect();
            assert!(
                is_linearizable(&world.history, &world.ids),
                "{policy}, seed {seed}:\n{}",
                all.join("\n")
            );
        }
    }
}

#[test]
fn a_history_with_a_lost_update_is_not_linearizable() {
    let seen = |revision, flows| Seen::Present { id: 0, revision, flows, ended: 0 };
    let operation = |what, called, answer| Operation { what, called, answer: Some(answer) };
    let add = || What::Change(0, Some(0), Change::Add);
    let history = |second: Seen| {
        vec![
            operation(What::Register(0, true), 0, (1, seen(0, 3))),
            operation(add(), 2, (5, seen(1, 4))),
            operation(add(), 3, (4, second)),
        ]
    };
    assert!(is_linearizable(&history(Seen::Refused(412)), &BTreeMap::new()));
    assert!(!is_linearizable(&history(seen(1, 4)), &BTreeMap::new()));
    assert!(!is_linearizable(&history(seen(2, 5)), &BTreeMap::new()));
}
