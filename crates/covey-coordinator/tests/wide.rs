//! Whatever happens to a coflow costs in proportion to its flows.
//!
//! `wide_coflows` prints the table of docs/measurements/coordinator.md:
//!
//! ```sh
//! cargo test --release -p covey-coordinator --test wide -- --ignored --nocapture
//! ```

use covey_api::{CoflowSpec, Flow, Update};
use covey_coordinator::{Config, CoordinatorState, List, Output, Record, Reply, Request};
use covey_core::{AnyPolicy, Fabric, Time};
use covey_proto::{Ended, FlowKey, FromAgent, Hello, ToAgent, VERSION};

/// Each flow has a sender and a receiver of these many.
const PORTS: u32 = 1000;
const BYTES: f64 = 1e6;

/// Flows of the narrower of two coflows that are compared, or coflows of the shorter of two
/// journals.
const FEW: u32 = 1000;

/// Less CPU than this says nothing, in seconds.
const LEAST_S: f64 = 2e-3;

/// Ten times as much costs at most this many times as much.
const MOST: f64 = 18.0;

/// A coordinator whose journal takes everything at once, and whose agents apply what they are sent.
struct World {
    core: CoordinatorState,
    now_s: f64,
    requests: u64,
    records: Vec<Record>,
    /// The most CPU seconds that others have waited for.
    longest_s: f64,
}

impl World {
    /// One that knows what `records` say.
    fn new(policy: &str, records: Vec<Record>) -> World {
        let fabric = Fabric::big_switch(PORTS, 1e9).expect("a fabric");
        let policy = covey_sched::build(policy).expect("a policy").policy;
        let config = Config { lost_after_s: f64::INFINITY, lease_s: 86_400.0, ..Config::default() };
        let core = CoordinatorState::new(fabric, policy, config, 1, records, Time::ZERO);
        World { core, now_s: 0.0, requests: 0, records: Vec::new(), longest_s: 0.0 }
    }

    fn join(&mut self) {
        for port in 0..PORTS {
            let hello = Hello { version: VERSION, port, holds: (0, 0), token: Vec::new() };
            self.say(port, FromAgent::Hello(hello));
        }
        self.settle();
    }

    fn now(&self) -> Time {
        Time::from_secs(self.now_s)
    }

    /// Does something after which others are served before anything else.
    fn turn<T>(&mut self, work: impl FnOnce(&mut CoordinatorState) -> T) -> T {
        let before = cpu_s();
        let result = work(&mut self.core);
        self.longest_s = self.longest_s.max(cpu_s() - before);
        result
    }

    /// What this costs.
    fn cost(&mut self, what: &'static str, work: impl FnOnce(&mut World)) -> Cost {
        self.longest_s = 0.0;
        let all_s = timed(|| work(self));
        Cost { what, all_s, longest_s: self.longest_s }
    }

    fn say(&mut self, port: u32, message: FromAgent) {
        let now = self.now();
        self.turn(|core| core.heard(u64::from(port), message, now));
    }

    /// Asks, and has the answer. The decision comes later.
    fn ask(&mut self, request: Request) {
        self.requests += 1;
        let (id, now) = (self.requests, self.now());
        self.turn(|core| core.request(id, request, now));
        self.outputs();
    }

    fn outputs(&mut self) -> bool {
        let (outputs, mut messages) = (self.core.take_outputs(), Vec::new());
        let (now, is_silent) = (self.now(), outputs.is_empty());
        for output in outputs {
            match output {
                Output::Journal(lsn, record) => {
                    self.records.push(record);
                    self.turn(|core| core.durable(lsn, now));
                }
                Output::Ready(session) => {
                    self.turn(|core| core.take_messages(session, &mut messages));
                    for message in messages.drain(..) {
                        if let ToAgent::Schedule(schedule) = message {
                            let (epoch, version) = (schedule.epoch, schedule.version);
                            self.core.heard(session, FromAgent::Applied { epoch, version }, now);
                        }
                    }
                }
                Output::Answer(_, answer) => assert!(answer.is_ok(), "{answer:?}"),
                Output::Close(..) | Output::Event(_) => {}
            }
        }
        !is_silent
    }

    /// Until there is nothing more to do.
    fn settle(&mut self) {
        loop {
            let now = self.now();
            self.turn(|core| core.decide(now)).expect("a plan");
            if !self.outputs() && !self.core.has_unfinished() {
                return;
            }
        }
    }

    /// All agents report at once that their flows have ended. Compression has made them smaller.
    fn end_all(&mut self, coflow: u64, flows: u32) {
        (0..PORTS.min(flows.div_ceil(PORTS))).for_each(|src| self.end_some(coflow, src, flows));
        self.outputs();
    }

    /// The agent of a port reports that its flows have ended, of so many in all.
    fn end_some(&mut self, coflow: u64, src: u32, flows: u32) {
        let of_port = (0..flows).skip((src * PORTS) as usize).take(PORTS as usize);
        let key = |flow| FlowKey { coflow, flow };
        let end = |flow| Ended { key: key(flow).into(), bytes: BYTES, wire: BYTES / 2.0 };
        self.say(src, FromAgent::Ended(of_port.map(end).collect()));
    }

    fn is_empty(&self) -> bool {
        self.core.population().coflows == 0
    }
}

/// A flow from each of some ports to each port.
fn spec(flows: u32) -> CoflowSpec {
    let flow = |k: u32| Flow::new(k / PORTS % PORTS, k % PORTS, Some(BYTES));
    CoflowSpec::of((0..flows).map(flow).collect())
}

/// CPU seconds of this thread that something has taken.
#[derive(Debug)]
struct Cost {
    what: &'static str,
    all_s: f64,
    /// The longest part of it between which and the next one others are served.
    longest_s: f64,
}

fn register(flows: u32) -> Request {
    Request::Register { spec: spec(flows), key: None }
}

/// What comes to a coflow of so many flows, and a start that reads all of it.
fn costs(policy: &str, flows: u32) -> Vec<Cost> {
    let mut world = World::new(policy, Vec::new());
    world.join();
    let registered = world.cost("register", |world| world.ask(register(flows)));
    let decided = world.cost("first decision", World::settle);
    let ended = world.cost("end of all", |world| {
        world.end_all(0, flows);
        world.settle();
    });
    assert!(world.is_empty());
    world.ask(register(flows));
    world.settle();
    let removed = world.cost("DELETE", |world| {
        world.ask(Request::Remove { id: 1 });
        world.settle();
    });
    assert!(world.is_empty());
    let records = std::mem::take(&mut world.records);
    let replayed = world.cost("replay of all that", |world| {
        assert!(world.turn(|_| World::new(policy, records).is_empty()));
    });
    vec![registered, decided, ended, removed, replayed]
}

/// What clients cancel, and a start that reads a journal which was compacted.
fn other_costs(policy: &str, flows: u32) -> Vec<Cost> {
    let update = |flows| Update { cancel: (0..flows).collect(), ..Update::default() };
    let cancel = |flows| Request::Update { id: 0, update: update(flows), revision: None };
    let mut world = World::new(policy, Vec::new());
    world.join();
    world.ask(register(flows));
    world.settle();
    let cancelled = world.cost("PATCH cancels all", |world| {
        world.ask(cancel(flows));
        world.settle();
    });
    assert!(world.is_empty());
    // A quarter of the flows has been cancelled, and another one has ended.
    let mut world = World::new(policy, Vec::new());
    world.join();
    world.ask(register(flows));
    world.ask(cancel(flows / 4));
    world.end_all(0, flows / 2);
    let (records, _) = world.core.snapshot();
    let started = world.cost("start, half ended", |_| {
        assert!(!World::new(policy, records).is_empty());
    });
    // All flows are attempts of one transfer.
    let mut attempts = spec(flows);
    attempts.flows.iter_mut().skip(1).for_each(|flow| flow.attempt = Some(0));
    let mut world = World::new(policy, Vec::new());
    let request = Request::Register { spec: attempts, key: None };
    let attempted = world.cost("attempts", |world| world.ask(request));
    vec![cancelled, started, attempted]
}

/// Fails unless ten times as much costs about ten times as much. Other programs disturb: one time
/// of three is enough.
fn check(what: &str, costs: impl Fn(u32) -> Vec<Cost>, few: u32) {
    let mut excess = Vec::new();
    for _ in 0..3 {
        let costs = costs(few).into_iter().zip(costs(10 * few));
        excess = costs.filter(|(few, many)| many.all_s > MOST * few.all_s.max(LEAST_S)).collect();
        if excess.is_empty() {
            return;
        }
    }
    panic!("{what}: {excess:?}");
}

fn timed(what: impl FnOnce()) -> f64 {
    let before = cpu_s();
    what();
    cpu_s() - before
}

fn cpu_s() -> f64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 * 1e-9
}

/// The policies that coordinators run on registered coflows.
fn policies() -> Vec<&'static str> {
    let names = covey_sched::policies().iter().map(|info| info.name);
    let runs = |name: &&str| {
        let policy = covey_sched::build(name).expect("a policy").policy;
        let wants = policy.wants();
        !matches!(policy, AnyPolicy::Unlabelled(_)) && !wants.regroups && !wants.progress
    };
    names.filter(runs).collect()
}

/// How many flows of coflow 0 have ended, as a list says; `None` if it has gone.
fn ended_of_first(world: &World) -> Option<usize> {
    let list = List::Coflows { from: 0, limit: 1, all: false };
    match world.core.list(&list, |_| None)() {
        Reply::Coflows(page) => {
            page.items.first().filter(|first| first.id == 0).map(|first| first.flows_ended)
        }
        other => panic!("{other:?}"),
    }
}

/// Another client registers a coflow, reads it and removes it. Each is answered before the next
/// turn.
fn serve_another(world: &mut World) {
    let next = |world: &mut World, request: Request| {
        let (id, now) = (world.requests + 1, world.now());
        world.requests = id;
        world.core.request(id, request, now);
        let mut answer = None;
        for _ in 0..2 {
            for output in world.core.take_outputs() {
                match output {
                    Output::Journal(lsn, _) => world.core.durable(lsn, now),
                    Output::Answer(of, reply) if of == id => answer = Some(reply),
                    _ => {}
                }
            }
        }
        answer.expect("an answer before the next turn").expect("what was asked for")
    };
    let Reply::Registered(status) = next(world, register(1)) else { panic!("not registered") };
    next(world, Request::Get { id: status.id });
    next(world, Request::Remove { id: status.id });
}

/// Has coflow 0 go in turns of which none ends more flows than a piece has. Returns how many turns
/// that takes.
fn go_in_pieces(world: &mut World, mut turn: impl FnMut(&mut World) -> bool) -> usize {
    let (mut turns, mut before) = (0, ended_of_first(world).expect("a coflow"));
    while turn(world) {
        turns += 1;
        serve_another(world);
        let Some(ended) = ended_of_first(world) else { break };
        assert!(ended - before <= Config::default().piece, "{before} and then {ended}");
        before = ended;
    }
    assert_eq!(ended_of_first(world), None);
    turns
}

fn others_are_served_while_a_wide_coflow_goes(flows: u32) {
    let pieces = flows as usize / Config::default().piece;
    let mut world = World::new("fifo", Vec::new());
    world.join();
    world.ask(register(flows));
    world.settle();
    // Agents report all ends.
    let mut senders = 0..PORTS.min(flows.div_ceil(PORTS));
    let turns = go_in_pieces(&mut world, |world| {
        let Some(src) = senders.next() else { return false };
        world.end_some(0, src, flows);
        true
    });
    assert!(turns >= pieces);
    // The same coflow is deregistered.
    let mut world = World::new("fifo", Vec::new());
    world.join();
    world.ask(register(flows));
    world.settle();
    world.ask(Request::Remove { id: 0 });
    let turns = go_in_pieces(&mut world, |world| {
        let has_more = world.core.has_unfinished();
        world.core.decide(world.now()).expect("a plan");
        has_more
    });
    assert!(turns >= pieces);
}

#[test]
fn others_are_served_while_a_coflow_of_200_000_flows_goes() {
    others_are_served_while_a_wide_coflow_goes(200_000);
}

#[test]
#[ignore = "takes a minute without optimisation"]
fn others_are_served_while_a_coflow_of_a_million_flows_goes() {
    others_are_served_while_a_wide_coflow_goes(1_000_000);
}

#[test]
fn what_happens_to_a_coflow_costs_in_proportion_to_its_flows() {
    for policy in ["fifo", "covey"] {
        check(policy, |flows| costs(policy, flows), 3 * FEW);
        check(policy, |flows| other_costs(policy, flows), 3 * FEW);
    }
}

#[test]
fn so_it_does_under_every_policy() {
    // With this parameter it keeps a number for each flow.
    let all = policies().into_iter().chain(["saath:dynamics=true"]);
    all.for_each(|policy| check(policy, |flows| costs(policy, flows), FEW));
}

#[test]
fn a_start_costs_in_proportion_to_the_coflows_that_it_finds() {
    let mut world = World::new("fifo", Vec::new());
    for k in 0..10 * FEW {
        let flows = vec![Flow::new(k % PORTS, (k + 1) % PORTS, Some(BYTES))];
        world.ask(Request::Register { spec: CoflowSpec::of(flows), key: None });
    }
    for policy in policies() {
        let start = |coflows: u32| {
            let records = world.records[..coflows as usize].to_vec();
            let all_s = timed(|| _ = World::new(policy, records));
            vec![Cost { what: "start", all_s, longest_s: all_s }]
        };
        check(policy, start, FEW);
    }
}

#[test]
#[ignore = "measures for minutes"]
fn wide_coflows() {
    let given = |name: &str, default: &str| std::env::var(name).unwrap_or(default.to_owned());
    let sizes = given("FLOWS", "10000,100000,1000000");
    let sizes: Vec<u32> = sizes.split(',').map(|it| it.parse().expect("a number")).collect();
    let wanted = given("POLICIES", "");
    let mut has_head = false;
    for policy in policies() {
        if !wanted.is_empty() && !wanted.split(',').any(|it| it == policy) {
            continue;
        }
        for &flows in &sizes {
            let all = costs(policy, flows);
            if !std::mem::replace(&mut has_head, true) {
                let names: Vec<&str> = all.iter().map(|cost| cost.what).collect();
                println!("| policy | flows | {} |", names.join(" | "));
                println!("|---|--:|{}", "--:|".repeat(names.len()));
            }
            let cell = |cost: &Cost| format!("{:.3} ({:.3}) s", cost.all_s, cost.longest_s);
            let all: Vec<String> = all.iter().map(cell).collect();
            println!("| `{policy}` | {flows} | {} |", all.join(" | "));
        }
    }
}
