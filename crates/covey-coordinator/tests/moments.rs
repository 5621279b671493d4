//! A policy is called when a coflow has sent what it waits for, though every agent sees only its part, and
//! with few reports.

use covey_agent::{Agent, Progress};
use covey_coordinator::{CoflowSpec, Config, Core, Flow, Output, Request};
use covey_core::{Fabric, Time};
use covey_proto::{FlowKey, FromAgent, Sent, ToAgent};

/// Agents that hear and say everything at once.
struct World {
    core: Core,
    agents: Vec<Agent>,
    sent: Vec<(FlowKey, f64)>,
    now_s: f64,
    reports: usize,
}

impl World {
    fn new(policy: &str, ports: u32) -> World {
        let fabric = Fabric::big_switch(ports, 100.0).expect("a fabric");
        let policy = covey_sched::build(policy).unwrap_or_else(|error| panic!("{error}")).policy;
        // Nobody is lost who has nothing to say.
        let config = Config { lost_after_s: f64::INFINITY, ..Config::default() };
        let core = Core::new(fabric, policy, config, 1, [], Time::ZERO);
        let agents = (0..ports).map(|port| Agent::new(port, Vec::new())).collect();
        let mut world = World { core, agents, sent: Vec::new(), now_s: 0.0, reports: 0 };
        for port in 0..ports as usize {
            let hello = world.agents[port].hello();
            world.say(port, vec![hello]);
        }
        world.settle();
        world
    }

    fn say(&mut self, port: usize, messages: Vec<FromAgent>) {
        for message in messages {
            self.reports += usize::from(matches!(message, FromAgent::Sent(_)));
            self.core.heard(port as u64 + 1, message, Time::from_secs(self.now_s));
        }
    }

    /// Until nobody has anything to say.
    fn settle(&mut self) {
        loop {
            self.core.decide(Time::from_secs(self.now_s)).expect("a plan");
            let outputs = self.core.take_outputs();
            if outputs.is_empty() {
                return;
            }
            for output in outputs {
                match output {
                    Output::Journal(lsn, _) => self.core.durable(lsn, Time::from_secs(self.now_s)),
                    Output::Ready(session) => self.deliver(session),
                    Output::Close(session, refusal) => panic!("{session}: {refusal:?}"),
                    Output::Answer(..) | Output::Event(_) => {}
                }
            }
        }
    }

    fn deliver(&mut self, session: u64) {
        let mut messages: Vec<ToAgent> = Vec::new();
        self.core.take_messages(session, &mut messages);
        let port = session as usize - 1;
        let mut out = Vec::new();
        for message in messages {
            self.agents[port].heard(message, &mut out).expect("nothing is refused");
        }
        self.say(port, out);
    }

    fn register(&mut self, ends: &[(u32, u32)]) {
        let flows = ends.iter().map(|&(src, dst)| Flow { src, dst, bytes: None }).collect();
        let spec = CoflowSpec {
            name: None,
            parents: Vec::new(),
            weight: 1.0,
            deadline_s: None,
            open: false,
            flows,
        };
        let request = Request::Register { spec, key: None };
        self.core.request(0, request, Time::from_secs(self.now_s));
        self.settle();
    }

    /// All hosts send for a while as they are told.
    fn send(&mut self, seconds: f64) {
        self.now_s += seconds;
        for port in 0..self.agents.len() {
            let mut progress = Progress::default();
            for (&key, share) in self.agents[port].flows() {
                let at = self.sent.iter().position(|(flow, _)| *flow == key).unwrap_or_else(|| {
                    self.sent.push((key, 0.0));
                    self.sent.len() - 1
                });
                self.sent[at].1 += share.rate * seconds;
                progress.sent.push(Sent { key, bytes: self.sent[at].1 });
            }
            let mut out = Vec::new();
            self.agents[port].happened(&progress, self.now_s, &mut out);
            self.say(port, out);
        }
        self.settle();
    }

    fn sent_by(&self, coflow: u64) -> f64 {
        self.sent.iter().filter(|(key, _)| key.coflow == coflow).map(|(_, bytes)| bytes).sum()
    }

    fn rate_of(&self, coflow: u64) -> f64 {
        let flows = self.agents.iter().flat_map(Agent::flows);
        flows.filter(|(key, _)| key.coflow == coflow).map(|(_, share)| share.rate).sum()
    }
}

impl World {
    /// The layers of the flows that a host serves.
    fn layers_at(&self, port: usize) -> Vec<u32> {
        self.agents[port].flows().values().map(|share| share.layer).collect()
    }
}

/// Two coflows with the same flows. The first goes first until it has sent so many bytes that it is taken out
/// of the first queue; how many it had sent when its agents were told, and how often they had reported.
fn demoted_at(policy: &str, ends: &[(u32, u32)]) -> (f64, usize) {
    let mut world = World::new(policy, 4);
    world.register(ends);
    world.register(ends);
    assert_eq!((world.rate_of(0), world.rate_of(1)), (100.0, 0.0));
    for _ in 0..100_000 {
        world.send(0.01);
        if world.rate_of(0) == 0.0 {
            assert_eq!(world.rate_of(1), 100.0);
            return (world.sent_by(0), world.reports);
        }
    }
    panic!("the first coflow has sent {} bytes and goes on", world.sent_by(0));
}

#[test]
fn a_policy_hears_in_time_what_a_coflow_has_sent_in_all() {
    let (bytes, reports) =
        demoted_at("aalo:q1=10KB,K=2,queues=strict,delta=0", &[(0, 3), (1, 3), (2, 3)]);
    let goal = 10e3;
    assert!((goal..goal * 1.02).contains(&bytes), "{bytes}");
    assert!(reports < 60, "{reports}");
}

#[test]
fn a_node_hears_in_time_what_has_passed_through_its_links() {
    // All that is sent passes through the links of one sender and one receiver.
    let (bytes, reports) = demoted_at("aalo-local:q1=10KB,K=2,queues=strict", &[(0, 3), (0, 3)]);
    let goal = 10e3;
    assert!((goal..goal * 1.02).contains(&bytes), "{bytes}");
    assert!(reports < 60, "{reports}");
}

#[test]
fn a_policy_that_decides_on_ticks_does_though_clocks_are_late() {
    let mut world = World::new("aalo:q1=10KB,K=2,queues=strict,delta=8ms", 2);
    world.now_s = 0.0011;
    world.register(&[(0, 1)]);
    assert_eq!(world.rate_of(0), 0.0);
    // No tick is at this time.
    world.now_s = 0.0123;
    world.settle();
    assert_eq!(world.rate_of(0), 100.0);
}

#[test]
fn a_host_hears_of_another_layer_though_the_rate_stays() {
    let mut world = World::new("aalo:q1=10KB,K=2,queues=strict,delta=0", 4);
    world.register(&[(0, 1)]);
    while world.sent_by(0) < 11e3 {
        world.send(1.0);
    }
    assert_eq!((world.layers_at(0), world.rate_of(0)), (vec![0], 100.0));
    // It goes first elsewhere, and the first is in the second layer from now on.
    world.register(&[(2, 3)]);
    assert_eq!((world.layers_at(2), world.layers_at(0)), (vec![0], vec![1]));
    assert_eq!((world.rate_of(0), world.rate_of(1)), (100.0, 100.0));
}
