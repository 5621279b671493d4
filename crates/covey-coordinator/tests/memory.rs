//! What a coordinator holds does not grow with the coflows that it has had.

// A global allocator cannot be written without `unsafe`. This one is sound because it does nothing
// but count: every call goes to the system's allocator with its arguments as they came. Counting
// touches only a `Cell` in a thread-local that is initialised by a constant and has no destructor,
// so it neither allocates nor can it be gone.
#![allow(unsafe_code)]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use covey_api::{CoflowSpec, Flow};
use covey_coordinator::{Answer, Config, CoordinatorState, Key, Output, Record, Reply, Request};
use covey_core::{Fabric, Time};
use covey_proto::{Ended, FlowKey, FromAgent, Hello, Sent, ToAgent, Use, Uses, VERSION};

thread_local! {
    /// Bytes that this thread has asked for and not given back.
    static HELD: Cell<isize> = const { Cell::new(0) };
}

fn count(more: isize) {
    HELD.set(HELD.get() + more);
}

struct Counting;

// SAFETY: see the top of the file.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size() as isize);
        // SAFETY: the caller's promises are passed on.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        count(-(layout.size() as isize));
        // SAFETY: the caller's promises are passed on; `block` came from `System`.
        unsafe { System.dealloc(block, layout) }
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count(size as isize - layout.size() as isize);
        // SAFETY: the caller's promises are passed on; `block` came from `System`.
        unsafe { System.realloc(block, layout, size) }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

const PORTS: u32 = 4;
const POLICIES: [&str; 8] = ["covey", "aalo", "philae", "saath", "sebf", "fifo", "fair", "pfp"];

/// A coordinator whose journal takes everything at once.
struct World {
    core: CoordinatorState,
    now_s: f64,
    next: u64,
    records: Vec<Record>,
    keeps_records: bool,
}

impl World {
    fn new(policy: &str, config: Config, records: Vec<Record>) -> World {
        let fabric = Fabric::big_switch(PORTS, 1e6).expect("a fabric");
        let policy = covey_sched::build(policy).expect("a policy").policy;
        let core = CoordinatorState::new(fabric, policy, config, 1, records, Time::ZERO);
        World { core, now_s: 0.0, next: 0, records: Vec::new(), keeps_records: false }
    }

    fn join(&mut self) {
        for port in 0..PORTS {
            let hello = Hello { version: VERSION, port, holds: (0, 0), token: Vec::new() };
            self.say(port, FromAgent::Hello(hello));
        }
    }

    fn say(&mut self, port: u32, message: FromAgent) {
        self.core.heard(u64::from(port), message, Time::from_secs(self.now_s));
        self.settle();
    }

    /// Until there is nothing more to do. Returns the last answer.
    fn settle(&mut self) -> Option<Answer> {
        let (now, mut answered, mut messages) = (Time::from_secs(self.now_s), None, Vec::new());
        loop {
            self.core.decide(now).expect("a plan");
            let outputs = self.core.take_outputs();
            if outputs.is_empty() {
                return answered;
            }
            for output in outputs {
                match output {
                    Output::Journal(lsn, record) => {
                        if self.keeps_records {
                            self.records.push(record);
                        }
                        self.core.durable(lsn, now);
                    }
                    Output::Answer(_, answer) => answered = Some(answer),
                    Output::Ready(session) => {
                        self.core.take_messages(session, &mut messages);
                        for message in messages.drain(..) {
                            if let ToAgent::Schedule(schedule) = message {
                                let (epoch, version) = (schedule.epoch, schedule.version);
                                self.core.heard(
                                    session,
                                    FromAgent::Applied { epoch, version },
                                    now,
                                );
                            }
                        }
                    }
                    Output::Close(..) | Output::Event(_) => {}
                }
            }
        }
    }

    fn ask(&mut self, request: Request) -> Answer {
        self.next += 1;
        self.core.request(self.next, request, Time::from_secs(self.now_s));
        self.settle().expect("an answer")
    }

    /// Registers a coflow of two flows, with a key and a name.
    fn register(&mut self) -> u64 {
        let name = format!("coflow {}", self.next);
        let flow = |src| Flow::new(src, 1, Some(1e6));
        let flows = vec![flow(0), flow(2)];
        let spec = CoflowSpec { name: Some(name.clone()), ..CoflowSpec::of(flows) };
        match self.ask(Request::Register { spec, key: Some(Key { key: name, digest: 1.into() }) }) {
            Ok(Reply::Registered(status)) => status.id,
            other => panic!("{other:?}"),
        }
    }

    /// One coflow comes and goes, in one of several ways.
    fn churn(&mut self, way: u64) {
        self.now_s += 0.01;
        let id = self.register();
        let key = |flow| FlowKey { coflow: id, flow };
        match way {
            0 => {
                self.ask(Request::Remove { id }).expect("it is there");
            }
            1 => {
                for (port, flow) in [(0, 0), (2, 1)] {
                    let end = Ended { key: key(flow).into(), bytes: 1e6, wire: 1e6 };
                    self.say(port, FromAgent::Ended(vec![end]));
                }
            }
            2 => {
                let flows = vec![(key(0).into(), Use::Idle)];
                self.say(0, FromAgent::Uses(Uses { flows, ..Uses::default() }));
                let sent = Sent { key: key(1).into(), bytes: 1e5, wire: 1e5 };
                self.say(2, FromAgent::Sent(vec![sent]));
                self.ask(Request::Remove { id }).expect("it is there");
            }
            // Nobody keeps it.
            _ => {}
        }
    }
}

/// Asserts that what is held after `world` had twice as many coflows is what it was after `many`.
fn stays(world: &mut World, what: &str, many: u64, way: impl Fn(u64) -> u64) {
    let turns = |world: &mut World| {
        (0..many).for_each(|k| world.churn(way(k)));
        HELD.get()
    };
    let before = turns(world);
    let after = turns(world);
    // Maps may have some nodes more or less.
    let most = 8192;
    assert!(after - before < most, "{what}: {} bytes for {many} coflows", after - before);
}

fn config() -> Config {
    // The memory of coflows that have gone fills soon.
    Config { max_gone: 100, lost_after_s: f64::INFINITY, ..Config::default() }
}

#[test]
fn coflows_that_come_and_go_without_agents_leave_nothing() {
    for policy in POLICIES {
        let mut world = World::new(policy, config(), Vec::new());
        stays(&mut world, policy, 1_000, |_| 0);
    }
    // Where the hosts are taken for lost.
    for policy in POLICIES {
        let config = Config { lost_after_s: 5.0, ..config() };
        let mut world = World::new(policy, config, Vec::new());
        world.now_s = 10.0;
        stays(&mut world, policy, 1_000, |_| 0);
    }
}

#[test]
fn coflows_that_come_and_go_with_agents_leave_nothing() {
    for policy in POLICIES {
        let mut world = World::new(policy, config(), Vec::new());
        world.join();
        stays(&mut world, policy, 1_000, |k| k % 3);
    }
}

#[test]
fn ten_thousand_coflows_leave_nothing() {
    let mut world = World::new("covey", config(), Vec::new());
    world.join();
    stays(&mut world, "covey", 5_000, |k| k % 3);
}

#[test]
fn coflows_that_nobody_keeps_leave_nothing_when_there_are_many() {
    let config = Config { lease_s: 1.0, max_expired: 100, ..config() };
    for policy in POLICIES {
        let mut world = World::new(policy, config, Vec::new());
        world.join();
        stays(&mut world, policy, 1_000, |_| 3);
        assert!(world.core.population().coflows < 350, "{policy}: {:?}", world.core.population());
    }
}

/// What a coordinator holds that has read the journal of so many coflows which came and went.
fn held_after_start(policy: &str, many: u64) -> isize {
    let before = HELD.get();
    let mut world = World::new(policy, config(), Vec::new());
    world.keeps_records = true;
    world.join();
    (0..many).for_each(|k| world.churn(k % 2));
    let records = std::mem::take(&mut world.records);
    drop(world);
    let started = World::new(policy, config(), records);
    let held = HELD.get() - before;
    drop(started);
    held
}

#[test]
fn what_a_start_leaves_in_memory_does_not_depend_on_the_length_of_the_journal() {
    for policy in POLICIES {
        let (short, long) = (held_after_start(policy, 500), held_after_start(policy, 2_000));
        // Numbers have more digits later.
        assert!(long - short < 8192, "{policy}: {} bytes more", long - short);
    }
}
