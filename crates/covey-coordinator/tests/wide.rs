//! Whatever happens to a coflow costs in proportion to its flows.
//!
//! `wide_coflows` prints the table of docs/measurements/wide-coflows.md:
//!
//! ```sh
//! cargo test --release -p covey-coordinator --test wide -- --ignored --nocapture
//! ```

use covey_api::{CoflowSpec, Flow, Update};
use covey_coordinator::{Config, CoordinatorState, Output, Record, Request};
use covey_core::{AnyPolicy, Fabric, Time};
use covey_proto::{Ended, FlowKey, FromAgent, Hello, ToAgent, VERSION};

/// Each flow has a sender and a receiver of these many.
const PORTS: u32 = 1000;
const BYTES: f64 = 1e6;

/// Flows of the narrower of two coflows that are compared, or coflows of the shorter of two journals.
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
}

impl World {
    /// One that knows what `records` say.
    fn new(policy: &str, records: Vec<Record>) -> World {
        let fabric = Fabric::big_switch(PORTS, 1e9).expect("a fabric");
        let policy = covey_sched::build(policy).expect("a policy").policy;
        let config = Config { lost_after_s: f64::INFINITY, lease_s: 86_400.0, ..Config::default() };
        let core = CoordinatorState::new(fabric, policy, config, 1, records, Time::ZERO);
        World { core, now_s: 0.0, requests: 0, records: Vec::new() }
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

    fn say(&mut self, port: u32, message: FromAgent) {
        self.core.heard(u64::from(port), message, self.now());
    }

    /// Asks, and has the answer. The decision comes later.
    fn ask(&mut self, request: Request) {
        self.requests += 1;
        self.core.request(self.requests, request, self.now());
        self.outputs();
    }

    fn outputs(&mut self) -> bool {
        let (outputs, mut messages) = (self.core.take_outputs(), Vec::new());
        let (now, is_silent) = (self.now(), outputs.is_empty());
        for output in outputs {
            match output {
                Output::Journal(lsn, record) => {
                    self.records.push(record);
                    self.core.durable(lsn, now);
                }
                Output::Ready(session) => {
                    self.core.take_messages(session, &mut messages);
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
            self.core.decide(self.now()).expect("a plan");
            if !self.outputs() {
                return;
            }
        }
    }

    /// All agents report at once that their flows have ended. Compression has made them smaller.
    fn end_all(&mut self, coflow: u64, flows: u32) {
        for src in 0..PORTS.min(flows.div_ceil(PORTS)) {
            let of_port = (0..flows).skip((src * PORTS) as usize).take(PORTS as usize);
            let key = |flow| FlowKey { coflow, flow };
            let end = |flow| Ended { key: key(flow), bytes: BYTES, wire: BYTES / 2.0 };
            self.say(src, FromAgent::Ended(of_port.map(end).collect()));
        }
        self.outputs();
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

/// CPU seconds of this thread that each of some operations took.
type Costs = Vec<(&'static str, f64)>;

fn register(flows: u32) -> Request {
    Request::Register { spec: spec(flows), key: None }
}

/// What comes to a coflow of so many flows, and a start that reads all of it.
fn costs(policy: &str, flows: u32) -> Costs {
    let mut world = World::new(policy, Vec::new());
    world.join();
    let registered = timed(|| world.ask(register(flows)));
    let decided = timed(|| world.settle());
    let ended = timed(|| {
        world.end_all(0, flows);
        world.settle();
    });
    assert!(world.is_empty());
    world.ask(register(flows));
    world.settle();
    let removed = timed(|| {
        world.ask(Request::Remove { id: 1 });
        world.settle();
    });
    assert!(world.is_empty());
    let records = std::mem::take(&mut world.records);
    let replayed = timed(|| assert!(World::new(policy, records).is_empty()));
    vec![
        ("register", registered),
        ("first decision", decided),
        ("end of all", ended),
        ("DELETE", removed),
        ("replay of all that", replayed),
    ]
}

/// What clients cancel, and a start that reads a journal which was compacted.
fn other_costs(policy: &str, flows: u32) -> Costs {
    let update = |flows| Update { cancel: (0..flows).collect(), ..Update::default() };
    let cancel = |flows| Request::Update { id: 0, update: update(flows), revision: None };
    let mut world = World::new(policy, Vec::new());
    world.join();
    world.ask(register(flows));
    world.settle();
    let cancelled = timed(|| {
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
    let started = timed(|| assert!(!World::new(policy, records).is_empty()));
    // All flows are attempts of one transfer.
    let mut attempts = spec(flows);
    attempts.flows.iter_mut().skip(1).for_each(|flow| flow.attempt = Some(0));
    let mut world = World::new(policy, Vec::new());
    let attempted = timed(|| world.ask(Request::Register { spec: attempts, key: None }));
    vec![("PATCH cancels all", cancelled), ("start, half ended", started), ("attempts", attempted)]
}

/// Fails unless ten times as much costs about ten times as much. Other programs disturb: one time of three is enough.
fn check(what: &str, costs: impl Fn(u32) -> Costs, few: u32) {
    let mut excess = Vec::new();
    for _ in 0..3 {
        let costs = costs(few).into_iter().zip(costs(10 * few));
        excess = costs.filter(|((_, few), (_, many))| *many > MOST * few.max(LEAST_S)).collect();
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
            vec![("start", timed(|| _ = World::new(policy, records)))]
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
                let names: Vec<&str> = all.iter().map(|(name, _)| *name).collect();
                println!("| policy | flows | {} |", names.join(" | "));
                println!("|---|--:|{}", "--:|".repeat(names.len()));
            }
            let all: Vec<String> = all.iter().map(|(_, s)| format!("{s:.3} s")).collect();
            println!("| `{policy}` | {flows} | {} |", all.join(" | "));
        }
    }
}
