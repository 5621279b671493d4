//! A policy is called when a coflow has sent what it waits for, though every agent sees only its
//! part, and with few reports.

mod common;

use covey_agent::{Agent, Progress};
use covey_api::{CoflowSpec, Flow, Move, Update};
use covey_coordinator::{Config, CoordinatorState, Request};
use covey_core::{Fabric, Time};
use covey_proto::{CodecName, Compressor, FlowName, FromAgent, Links, Sent};

use common::Wired;

struct World {
    wired: Wired,
    sent: Vec<(FlowName, f64)>,
}

impl World {
    fn new(policy: &str, ports: u32) -> World {
        let fabric = Fabric::big_switch(ports, 100.0).expect("a fabric");
        let built = covey_sched::build(policy).unwrap_or_else(|error| panic!("{error}"));
        let codec = built.compression.and_then(|it| CodecName::named(it.codec.name()?));
        // Nobody is lost who has nothing to say.
        let config = Config { lost_after_s: f64::INFINITY, codec, ..Config::default() };
        let core = CoordinatorState::new(fabric, built.policy, config, 1, [], Time::ZERO);
        // At 100 bytes a second compressing takes 150 away on host 0, and twice as many on the
        // others.
        let agent = |port: u32| {
            let speed = if port == 0 { 300.0 } else { 600.0 };
            let compressor = Compressor { codec: CodecName::Lz4, speed, ratio: 0.5 };
            Agent::new(port, Vec::new()).with_compressors(vec![compressor])
        };
        let mut wired = Wired::new(core, (0..ports).map(agent).collect());
        (0..ports as usize).for_each(|port| wired.join(port));
        World { wired, sent: Vec::new() }
    }

    fn register(&mut self, ends: &[(u32, u32)]) {
        self.register_sized(ends, None);
    }

    fn register_sized(&mut self, ends: &[(u32, u32)], bytes: Option<f64>) {
        let flows = ends.iter().map(|&(src, dst)| Flow::new(src, dst, bytes)).collect();
        self.register_spec(CoflowSpec::of(flows));
    }

    fn register_spec(&mut self, spec: CoflowSpec) {
        let request = Request::Register { spec, key: None };
        let now = self.wired.now();
        self.wired.core.request(0, request, now);
        self.wired.settle();
    }

    /// All hosts send for a while as they are told.
    fn send(&mut self, seconds: f64) {
        self.wired.now_s += seconds;
        for port in 0..self.wired.agents.len() {
            let mut progress = Progress::default();
            for (&key, service) in self.wired.agents[port].flows() {
                let at = self.sent.iter().position(|(flow, _)| *flow == key).unwrap_or_else(|| {
                    self.sent.push((key, 0.0));
                    self.sent.len() - 1
                });
                self.sent[at].1 += service.rate * seconds;
                let wire = self.sent[at].1;
                let bytes = if service.codec.is_some() { 2.0 * wire } else { wire };
                progress.sent.push(Sent { key, bytes, wire });
            }
            let mut out = Vec::new();
            self.wired.agents[port].happened(&progress, self.wired.now_s, &mut out);
            self.wired.say(port, out);
        }
        self.wired.settle();
    }

    fn sent_by(&self, coflow: u64) -> f64 {
        self.sent
            .iter()
            .filter(|(key, _)| key.coflow() == Some(coflow))
            .map(|(_, bytes)| bytes)
            .sum()
    }

    fn rate_of(&self, coflow: u64) -> f64 {
        let flows = self.wired.agents.iter().flat_map(Agent::flows);
        flows.filter(|(key, _)| key.coflow() == Some(coflow)).map(|(_, service)| service.rate).sum()
    }
}

impl World {
    /// The layers of the flows that a host serves.
    fn layers_at(&self, port: usize) -> Vec<u32> {
        self.wired.agents[port].flows().values().map(|service| service.layer).collect()
    }
}

/// Two coflows with the same flows. The first goes first until it has sent so many bytes that it is
/// taken out of the first queue; how many it had sent when its agents were told, and how often they
/// had reported.
fn demoted_at(policy: &str, ends: &[(u32, u32)]) -> (f64, usize) {
    let mut world = World::new(policy, 4);
    world.register(ends);
    world.register(ends);
    assert_eq!((world.rate_of(0), world.rate_of(1)), (100.0, 0.0));
    for _ in 0..100_000 {
        world.send(0.01);
        if world.rate_of(0) == 0.0 {
            assert_eq!(world.rate_of(1), 100.0);
            return (world.sent_by(0), world.wired.reports);
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
    world.wired.now_s = 0.0011;
    world.register(&[(0, 1)]);
    assert_eq!(world.rate_of(0), 0.0);
    // No tick is at this time.
    world.wired.now_s = 0.0123;
    world.wired.settle();
    assert_eq!(world.rate_of(0), 100.0);
}

#[test]
fn a_host_hears_of_another_layer_though_the_rate_stays() {
    let mut world = World::new("aalo:q1=10KB,K=2,queues=strict,delta=0", 4);
    world.register(&[(0, 1)]);
    assert_eq!((world.layers_at(0), world.rate_of(0)), (vec![0], 100.0));
    while world.sent_by(0) < 11e3 {
        world.send(1.0);
    }
    // It has left the first queue, and nobody is there to take its rate.
    assert_eq!((world.layers_at(0), world.rate_of(0)), (vec![1], 100.0));
    // Another goes first elsewhere.
    world.register(&[(2, 3)]);
    assert_eq!((world.layers_at(2), world.layers_at(0)), (vec![0], vec![1]));
    assert_eq!((world.rate_of(0), world.rate_of(1)), (100.0, 100.0));
}

impl World {
    fn idle(&mut self, port: usize, share: f64) {
        let mut out = Vec::new();
        self.wired.agents[port].idle(share, &mut out);
        self.wired.say(port, out);
        self.wired.settle();
    }

    /// What each host compresses the flows with that it serves.
    fn codecs(&self) -> Vec<Vec<Option<CodecName>>> {
        let of = |agent: &Agent| agent.flows().values().map(|service| service.codec).collect();
        self.wired.agents.iter().map(of).collect()
    }
}

#[test]
fn flows_are_compressed_where_a_processor_is_idle_and_faster_than_the_network() {
    let lz4 = || vec![Some(CodecName::Lz4)];
    let none = || vec![None];
    for policy in ["fvdf", "fvdf:overlap=true", "sebf:compress=lz4", "fair:compress=lz4"] {
        let mut world = World::new(policy, 4);
        world.register_sized(&[(0, 2), (1, 3)], Some(1e6));
        // Nobody has said that a processor is idle.
        assert_eq!(world.codecs()[..2], [none(), none()], "{policy}");
        world.idle(0, 1.0);
        assert_eq!(world.codecs()[..2], [lz4(), none()], "{policy}");
        // It takes two thirds of the slow processor, and a third of the fast one.
        world.idle(0, 0.6);
        world.idle(1, 0.6);
        assert_eq!(world.codecs()[..2], [none(), lz4()], "{policy}");
        world.idle(1, 0.3);
        assert_eq!(world.codecs()[..2], [none(), none()], "{policy}");
        // Rates are of bytes on the wire, and stay.
        assert_eq!(world.rate_of(0), 200.0, "{policy}");
    }
}

#[test]
fn compressing_is_compared_with_what_coflows_before_leave() {
    // The first coflow shares a receiver and leaves half of host 0's link, of which 60 % of a slow
    // processor is faster.
    for (policy, second) in [("fvdf", Some(CodecName::Lz4)), ("fvdf:bandwidth=capacity", None)] {
        let mut world = World::new(policy, 4);
        world.idle(0, 0.6);
        world.register_sized(&[(0, 2), (1, 2)], Some(1e6));
        world.register_sized(&[(0, 3)], Some(2e6));
        assert_eq!(world.codecs()[0], [None, second], "{policy}");
    }
}

impl World {
    /// An agent reports what its host's links carry.
    fn links(&mut self, port: usize, sent: f64, received: f64) {
        self.wired.say(port, vec![FromAgent::Links(Links { sent, received })]);
        self.wired.settle();
    }
}

#[test]
fn compressing_is_compared_with_what_other_traffic_leaves() {
    let lz4 = Some(CodecName::Lz4);
    for (policy, loaded) in [("fvdf", lz4), ("fvdf:bandwidth=capacity", None)] {
        let mut world = World::new(policy, 4);
        // Compressing takes 90 bytes a second away, and the link carries 100.
        world.idle(0, 0.6);
        world.register_sized(&[(0, 2)], Some(1e9));
        let mut with = |port, sent, received| {
            world.send(1.0);
            world.links(port, 100.0 + sent, received);
            world.codecs()[0][0]
        };
        // What the flow itself sends is no other traffic.
        assert_eq!(with(0, 0.0, 0.0), None, "{policy}");
        assert_eq!(with(0, 40.0, 0.0), loaded, "{policy}");
        assert_eq!(with(0, 35.0, 0.0), loaded, "{policy}");
        assert_eq!(with(0, 0.0, 0.0), None, "{policy}");
        // The other direction of the link is of no use to it.
        assert_eq!(with(0, 0.0, 100.0), None, "{policy}");
        // At the receiver.
        assert_eq!(with(2, -100.0, 140.0), loaded, "{policy}");
        assert_eq!(with(2, -100.0, 100.0), None, "{policy}");
    }
}

#[test]
fn only_a_coordinator_that_compresses_hears_what_links_carry() {
    for (policy, asks) in [("fvdf", true), ("sebf", false)] {
        let world = World::new(policy, 4);
        assert_eq!(world.wired.agents[0].tells_of_links(), asks, "{policy}");
    }
}

#[test]
fn what_is_not_compressible_is_not_compressed() {
    let codec = |change: &dyn Fn(&mut CoflowSpec)| {
        let mut world = World::new("fvdf", 4);
        world.idle(0, 1.0);
        let mut spec = CoflowSpec::of(vec![Flow::new(0, 1, Some(1e6))]);
        change(&mut spec);
        world.register_spec(spec);
        world.codecs()[0][0]
    };
    assert_eq!(codec(&|_| ()), Some(CodecName::Lz4));
    assert_eq!(codec(&|spec| spec.ratio = Some(0.6)), Some(CodecName::Lz4));
    // At 300 bytes a second to 70 % compressing takes 90 away, and the link carries 100.
    assert_eq!(codec(&|spec| spec.ratio = Some(0.7)), None);
    assert_eq!(codec(&|spec| spec.compress = false), None);
    // A flow knows better than its coflow, but not than its application.
    assert_eq!(codec(&|spec| spec.flows[0].ratio = Some(1.0)), None);
    let own = |spec: &mut CoflowSpec| (spec.ratio, spec.flows[0].ratio) = (Some(1.0), Some(0.5));
    assert_eq!(codec(&own), Some(CodecName::Lz4));
    let off = |spec: &mut CoflowSpec| (spec.compress, spec.flows[0].ratio) = (false, Some(0.5));
    assert_eq!(codec(&off), None);
}

impl World {
    fn change(&mut self, id: u64, update: Update) {
        let now = self.wired.now();
        self.wired.core.request(0, Request::Update { id, update, revision: None }, now);
        self.wired.settle();
    }
}

#[test]
fn flows_keep_their_ratios_wherever_they_go() {
    let (lz4, none) = (|| vec![Some(CodecName::Lz4)], || vec![None]);
    let mut world = World::new("fvdf", 4);
    (0..3).for_each(|port| world.idle(port, 1.0));
    let flow = |src, ratio| Flow { ratio, ..Flow::new(src, 3, Some(1e6)) };
    world.register_spec(CoflowSpec::of(vec![flow(0, Some(1.0))]));
    assert_eq!(world.codecs()[0], none());
    // Another attempt carries the same bytes, and a flow that moves, too.
    let attempt = Flow { attempt: Some(0), bytes: None, ..flow(1, None) };
    world.change(0, Update { add: vec![attempt], ..Update::default() });
    assert_eq!(world.codecs()[1], none());
    let moved = vec![Move { flow: 0, to: flow(2, None) }];
    world.change(0, Update { moved, ..Update::default() });
    assert_eq!(world.codecs()[2], none());
    // A flow that another coflow takes has the ratio of the coflow that it leaves.
    let mut world = World::new("fvdf", 4);
    world.idle(0, 1.0);
    world.register_spec(CoflowSpec { ratio: Some(1.0), ..CoflowSpec::of(vec![flow(0, None)]) });
    world.register_spec(CoflowSpec { open: true, ..CoflowSpec::of(Vec::new()) });
    world.change(1, Update { take: vec![0], ..Update::default() });
    assert_eq!(world.codecs()[0], none());
    // What is added may have a ratio, whatever its coflow's.
    world.change(1, Update { add: vec![flow(0, Some(0.5))], ..Update::default() });
    assert_eq!(world.codecs()[0].last(), lz4().last());
}

#[test]
fn flows_are_compressed_only_if_the_policy_asks_for_it() {
    let mut world = World::new("sebf", 4);
    world.register_sized(&[(0, 2)], Some(1e6));
    world.idle(0, 1.0);
    assert_eq!(world.codecs()[..1], [vec![None]], "nobody asks for it");
}

#[test]
fn what_is_left_are_own_bytes_and_what_is_attained_are_those_on_the_wire() {
    // Two bottlenecks of the same length; the one whose flow has been compressed for a while is
    // shorter then.
    let mut world = World::new("sebf:compress=lz4", 4);
    world.idle(0, 1.0);
    world.register_sized(&[(0, 2)], Some(1000.0));
    world.send(1.0);
    world.register_sized(&[(1, 2)], Some(850.0));
    // 200 of 1000 bytes have been sent as 100.
    assert_eq!((world.rate_of(0), world.rate_of(1)), (100.0, 0.0));

    // A queue is left after 10,000 bytes on the wire.
    let mut world = World::new("aalo:q1=10KB,K=2,queues=strict,delta=0,compress=lz4", 4);
    world.idle(0, 1.0);
    world.register(&[(0, 2)]);
    world.register(&[(1, 2)]);
    assert_eq!(world.codecs()[0], [Some(CodecName::Lz4)]);
    while world.rate_of(0) > 0.0 {
        world.send(0.1);
    }
    assert!((10e3..10.3e3).contains(&world.sent_by(0)), "{}", world.sent_by(0));
}
