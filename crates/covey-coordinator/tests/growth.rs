//! What happens to a coflow costs what it touches, however many others are present.

use covey_api::{CoflowSpec, Flow};
use covey_coordinator::{Config, CoordinatorState, Output, Request};
use covey_core::{Fabric, Time};
use covey_proto::{Ended, FlowKey, FromAgent, Hello, Sent, ToAgent, VERSION};

const PORTS: u32 = 20;
const BYTES: f64 = 1e9;

/// A coordinator whose journal takes everything at once, and whose agents apply what they are sent.
struct World {
    core: CoordinatorState,
    now_s: f64,
    requests: u64,
    messages: u64,
}

/// What something has cost.
#[derive(Debug, Clone, Copy)]
struct Cost {
    looked_at: u64,
    messages: u64,
}

impl World {
    fn new(policy: &str, coflows: u64) -> World {
        let fabric = Fabric::big_switch(PORTS, 1e6).expect("a fabric");
        let policy = covey_sched::build(policy).expect("a policy").policy;
        let config = Config { lost_after_s: f64::INFINITY, ..Config::default() };
        let core = CoordinatorState::new(fabric, policy, config, 1, [], Time::ZERO);
        let mut world = World { core, now_s: 0.0, requests: 0, messages: 0 };
        for port in 0..PORTS {
            let hello = Hello { version: VERSION, port, holds: (0, 0), token: Vec::new() };
            world.say(port, FromAgent::Hello(hello));
        }
        for k in 0..coflows {
            world.ask(register(k));
            if k % 1000 == 999 {
                world.settle();
            }
        }
        world
    }

    fn ask(&mut self, request: Request) {
        self.requests += 1;
        self.core.request(self.requests, request, Time::from_secs(self.now_s));
    }

    fn say(&mut self, port: u32, message: FromAgent) {
        self.core.heard(u64::from(port), message, Time::from_secs(self.now_s));
    }

    /// Until there is nothing more to do, and what waits for a tick has had one.
    fn settle(&mut self) {
        for _ in 0..2 {
            while self.step() {}
            self.now_s += 0.01;
        }
    }

    fn step(&mut self) -> bool {
        let now = Time::from_secs(self.now_s);
        self.core.decide(now).expect("a plan");
        let (outputs, mut messages) = (self.core.take_outputs(), Vec::new());
        for output in &outputs {
            match output {
                Output::Journal(lsn, _) => self.core.durable(*lsn, now),
                Output::Ready(session) => self.core.take_messages(*session, &mut messages),
                Output::Answer(_, answer) => assert!(answer.is_ok(), "{answer:?}"),
                Output::Close(..) | Output::Event(_) => {}
            }
            self.messages += messages.len() as u64;
            for message in messages.drain(..) {
                if let (ToAgent::Schedule(schedule), Output::Ready(session)) = (message, output) {
                    let (epoch, version) = (schedule.epoch, schedule.version);
                    self.core.heard(*session, FromAgent::Applied { epoch, version }, now);
                }
            }
        }
        !outputs.is_empty()
    }

    /// What it costs that one coflow in the middle reports, one ends, one is deregistered and one
    /// comes.
    fn turn(&mut self, of: u64) -> Cost {
        let before = (self.core.counts().looked_at, self.messages);
        let key = |coflow| FlowKey { coflow, flow: 0 };
        let port = |coflow: u64| (coflow % u64::from(PORTS)) as u32;
        let sent = Sent { key: key(of).into(), bytes: 1e6, wire: 1e6 };
        self.say(port(of), FromAgent::Sent(vec![sent]));
        self.settle();
        let ended = Ended { key: key(of).into(), bytes: BYTES, wire: BYTES };
        self.say(port(of), FromAgent::Ended(vec![ended]));
        self.settle();
        self.ask(Request::Remove { id: of + 1 });
        self.settle();
        self.ask(register(of));
        self.settle();
        Cost {
            looked_at: self.core.counts().looked_at - before.0,
            messages: self.messages - before.1,
        }
    }
}

/// Coflows of one flow, at all pairs of ports.
fn register(k: u64) -> Request {
    let (src, turn) = ((k % u64::from(PORTS)) as u32, k as u32 / PORTS);
    let dst = (src + 1 + turn % (PORTS - 1)) % PORTS;
    let spec = CoflowSpec::of(vec![Flow::new(src, dst, Some(BYTES))]);
    Request::Register { spec, key: None }
}

#[test]
fn what_happens_to_a_coflow_costs_what_it_touches() {
    for policy in ["fifo", "sebf", "aalo", "aalo:delta=0", "covey"] {
        // More than are walked over one by one.
        let [few, many] = [5_000, 20_000].map(|coflows| {
            let mut world = World::new(policy, coflows);
            let turns: Vec<Cost> = (1..10).map(|k| world.turn(2 * k * coflows / 20)).collect();
            let most = |of: fn(&Cost) -> u64| turns.iter().map(of).max().expect("some turns");
            Cost { looked_at: most(|it| it.looked_at), messages: most(|it| it.messages) }
        });
        // Another coflow may be next at a port.
        let most = |few: u64| few + 8;
        assert!(many.looked_at <= most(few.looked_at), "{policy}: {few:?} {many:?}");
        assert!(many.messages <= most(few.messages), "{policy}: {few:?} {many:?}");
        assert!(many.looked_at < 100, "{policy}: {many:?}");
    }
}
