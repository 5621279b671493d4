//! Flows that no application has named: agents report them, `coda` finds their coflows, agents hold
//! and serve them.

mod common;

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use covey_agent::{Agent, Progress};
use covey_api::FlowEnds;
use covey_coordinator::{
    Answer, Client, Config, CoordinatorState, List, Output, Registrant, Reply, Request,
};
use covey_core::{Fabric, Time};
use covey_proto::{Appearance, Ended, FlowName, FromAgent, Hello, Sent, Service, ToAgent};

use common::Wired;

/// Bytes per second of each port.
const RATE: f64 = 1e6;

/// Bytes per second of a flow that nobody schedules.
const FREE: f64 = RATE / 10.0;

fn address(port: usize) -> IpAddr {
    Ipv4Addr::new(10, 0, 0, port as u8 + 1).into()
}

/// A flow that is open.
#[derive(Debug, Clone, Copy)]
struct Flow {
    size: f64,
    sent: f64,
}

struct World {
    wired: Wired,
    /// By sending port and number.
    flows: BTreeMap<(usize, u64), Flow>,
    next: u64,
}

fn core(policy: &str, ports: usize, epoch: u64, lost_after_s: f64) -> CoordinatorState {
    let fabric = Fabric::big_switch(ports as u32, RATE).expect("a fabric");
    let built = covey_sched::build(policy).unwrap_or_else(|error| panic!("{error}"));
    let config = Config { lost_after_s, ..Config::default() };
    CoordinatorState::new(fabric, built.policy, config, epoch, [], Time::ZERO)
}

impl World {
    fn new(policy: &str, ports: usize) -> World {
        World::with(policy, ports, f64::INFINITY)
    }

    /// A host is lost after a silence of so many seconds.
    fn with(policy: &str, ports: usize, lost_after_s: f64) -> World {
        let agent = |port: usize| {
            let agent = Agent::new(port as u32, Vec::new()).with_watch();
            agent.with_addresses(vec![address(port)])
        };
        let agents = (0..ports).map(agent).collect();
        let mut wired = Wired::new(core(policy, ports, 1, lost_after_s), agents);
        // The policy has a tick at 0.
        wired.now_s = 0.001;
        (0..ports).for_each(|port| wired.join(port));
        World { wired, flows: BTreeMap::new(), next: 0 }
    }

    /// Flows of a size between ports begin now. Returns their names at their hosts.
    fn begin(&mut self, size: f64, ends: &[(usize, usize)]) -> Vec<(usize, FlowName)> {
        let mut names = Vec::new();
        for &(src, dst) in ends {
            let number = self.next;
            self.next += 1;
            self.flows.insert((src, number), Flow { size, sent: 0.0 });
            let from = SocketAddr::new(address(src), 40_000 + (number % 20_000) as u16);
            let to = SocketAddr::new(address(dst), 9000);
            let appearance = Appearance { number, protocol: 6, from, to, age_s: 0.0 };
            let progress = Progress { appeared: vec![appearance], ..Progress::default() };
            self.happened(src, &progress);
            names.push((src, FlowName::Number(number)));
        }
        self.wired.settle();
        names
    }

    fn happened(&mut self, port: usize, progress: &Progress) {
        let mut out = Vec::new();
        self.wired.agents[port].happened(progress, self.wired.now_s, &mut out);
        self.wired.say(port, out);
    }

    /// How a host serves a flow; `None`: nobody holds it.
    fn service(&self, (port, key): (usize, FlowName)) -> Option<f64> {
        self.wired.agents[port].served().get(&key).map(|service: &Service| service.rate)
    }

    /// All hosts send for a while as they are told.
    fn send(&mut self, seconds: f64) {
        self.wired.now_s += seconds;
        for port in 0..self.wired.agents.len() {
            let served = self.wired.agents[port].served().into_owned();
            let mut progress = Progress::default();
            for ((_, number), flow) in self.flows.range_mut((port, 0)..=(port, u64::MAX)) {
                let key = FlowName::Number(*number);
                let rate = served.get(&key).map_or(FREE, |service| service.rate);
                flow.sent = (flow.sent + rate * seconds).min(flow.size);
                let bytes = flow.sent;
                if bytes >= flow.size {
                    progress.ended.push(Ended { key, bytes, wire: bytes });
                } else if rate > 0.0 {
                    progress.sent.push(Sent { key, bytes, wire: bytes });
                }
            }
            let is_open = |(of, number): &(usize, u64)| {
                let key = FlowName::Number(*number);
                *of != port || progress.ended.iter().all(|ended| ended.key != key)
            };
            self.flows.retain(|name, _| is_open(name));
            self.happened(port, &progress);
        }
        self.wired.settle();
    }

    /// Sends for so long, in small steps.
    fn pass(&mut self, seconds: f64) {
        (0..(seconds / 0.01).round() as usize).for_each(|_| self.send(0.01));
    }
}

/// A first queue of a megabyte.
const CODA: &str = "coda:q1=1MB,flow_q1=10GB,delta=8ms";

#[test]
fn flows_that_begin_together_are_a_coflow_and_the_first_one_goes_first() {
    let mut world = World::new(CODA, 4);
    let first = world.begin(1e7, &[(0, 2), (1, 2)]);
    // Before the next round of the policy they belong to nothing, and nobody holds them.
    assert_eq!(first.iter().map(|&it| world.service(it)).collect::<Vec<_>>(), [None, None]);
    world.pass(0.5);
    assert_eq!(
        first.iter().map(|&it| world.service(it)).collect::<Vec<_>>(),
        [Some(RATE / 2.0); 2]
    );
    assert_eq!(world.wired.core.population().coflows, 1);
    let second = world.begin(1e7, &[(3, 2), (3, 2)]);
    world.pass(0.1);
    assert_eq!(world.wired.core.population().coflows, 2);
    let services = |world: &World, of: &[(usize, FlowName)]| {
        of.iter().map(|&it| world.service(it)).collect::<Vec<_>>()
    };
    assert_eq!(services(&world, &second), [Some(0.0); 2]);
    // The first has sent more than the limit of its queue: it is demoted, in a group of its new
    // queue.
    world.pass(1.0);
    assert_eq!(services(&world, &first), [Some(0.0); 2]);
    assert_eq!(services(&world, &second), [Some(RATE / 2.0); 2]);
    world.pass(40.0);
    assert!(world.flows.is_empty(), "{:?}", world.flows);
    let population = world.wired.core.population();
    assert_eq!((population.coflows, population.announced), (0, 0));
}

#[test]
fn a_coordinator_that_starts_again_hears_of_all_flows_and_groups_them_again() {
    let mut world = World::new(CODA, 4);
    let flows = world.begin(1e7, &[(0, 2), (1, 2)]);
    world.pass(0.2);
    let snapshot = world.wired.core.snapshot();
    assert_eq!(snapshot.0.len(), 2, "the journal hears nothing of them: {snapshot:?}");
    // While the coordinator is away nobody holds a flow.
    world.wired.agents.iter_mut().for_each(Agent::disconnected);
    assert_eq!(world.service(flows[0]), None);
    world.flows.insert((1, flows[1].1.number().unwrap()), Flow { size: 2e5, sent: 1.99e5 });
    world.wired.core = core(CODA, 4, 2, f64::INFINITY);
    (0..4).for_each(|port| world.wired.join(port));
    world.pass(0.1);
    assert_eq!(world.service(flows[0]), Some(RATE), "the other one has ended");
    let population = world.wired.core.population();
    assert_eq!((population.coflows, population.announced), (1, 1));
    world.pass(20.0);
    assert_eq!(world.wired.core.population().announced, 0);
}

#[test]
fn flows_that_are_older_than_the_clock_are_in_order() {
    let mut world = World::new(CODA, 4);
    let later = world.begin(1e7, &[(3, 2), (3, 2)]);
    // The other coflow began first, and its agents are heard last.
    let mut earlier = Vec::new();
    for (src, number) in [(0, 10), (1, 11)] {
        let (from, to) = (SocketAddr::new(address(src), 40_000), SocketAddr::new(address(2), 9000));
        let appearance = Appearance { number, protocol: 6, from, to, age_s: 5.0 };
        world.flows.insert((src, number), Flow { size: 1e7, sent: 0.0 });
        let progress = Progress { appeared: vec![appearance], ..Progress::default() };
        world.happened(src, &progress);
        earlier.push((src, FlowName::Number(number)));
    }
    world.pass(0.1);
    assert_eq!(world.wired.core.population().coflows, 2);
    assert_eq!([world.service(earlier[0]), world.service(earlier[1])], [Some(RATE / 2.0); 2]);
    assert_eq!([world.service(later[0]), world.service(later[1])], [Some(0.0); 2]);
}

#[test]
fn an_agent_that_joins_again_says_which_flows_are_left() {
    let mut world = World::new(CODA, 4);
    let flows = world.begin(1e7, &[(0, 2), (0, 3)]);
    world.pass(0.2);
    assert_eq!(world.service(flows[1]), Some(RATE / 2.0));
    // The agent is started anew: its enforcer sees one of the flows still, and gives it the same
    // number.
    let agent = Agent::new(0, Vec::new()).with_watch().with_addresses(vec![address(0)]);
    world.wired.agents[0] = agent;
    world.flows.remove(&(0, flows[1].1.number().unwrap()));
    let from = SocketAddr::new(address(0), 40_000);
    let to = SocketAddr::new(address(2), 9000);
    let appearance = Appearance { number: 0, protocol: 6, from, to, age_s: 0.2 };
    let progress = Progress { appeared: vec![appearance], ..Progress::default() };
    world.happened(0, &progress);
    world.wired.join(0);
    world.pass(0.1);
    assert_eq!(world.service(flows[0]), Some(RATE));
    assert_eq!(world.wired.core.population().announced, 1);
}

#[test]
fn a_flow_that_sends_nothing_for_a_minute_though_it_may_is_over() {
    let mut world = World::new(CODA, 4);
    let silent = world.begin(1e13, &[(0, 2)]);
    world.pass(0.1);
    assert_eq!(world.service(silent[0]), Some(RATE));
    // Its application writes nothing any more.
    world.flows.clear();
    world.pass(3.0);
    let other = world.begin(2e7, &[(0, 2)]);
    world.pass(1.0);
    assert_eq!(world.service(other[0]), Some(RATE), "an idle flow has no rate");
    assert_eq!(world.wired.core.population().announced, 2);
    world.pass(62.0);
    assert_eq!(world.wired.core.population().announced, 0);
    assert_eq!(world.service(silent[0]), None, "nobody holds it any more");
}

#[test]
fn a_flow_that_ends_at_once_leaves_nothing() {
    let mut world = World::new(CODA, 4);
    let (from, to) = (SocketAddr::new(address(0), 40_000), SocketAddr::new(address(2), 9000));
    let appearance = Appearance { number: 7, protocol: 6, from, to, age_s: 0.001 };
    let ended = Ended { key: FlowName::Number(7), bytes: 500.0, wire: 500.0 };
    let (appeared, ended) = (vec![appearance], vec![ended]);
    world.happened(0, &Progress { appeared, ended, ..Progress::default() });
    world.pass(0.1);
    assert_eq!(world.wired.core.population().announced, 0);
    assert_eq!(world.wired.agents[0].unacknowledged(), 0);
}

#[test]
fn a_flow_that_was_released_is_scheduled_when_it_sends_again() {
    let mut world = World::new(CODA, 4);
    let flow = world.begin(1e13, &[(0, 2)])[0];
    world.pass(0.1);
    let open = std::mem::take(&mut world.flows);
    world.pass(63.0);
    assert_eq!(world.service(flow), None);
    world.flows = open;
    world.pass(6.0);
    assert_eq!(world.service(flow), Some(RATE));
    assert_eq!(world.wired.core.population().announced, 1);
}

#[test]
fn flows_to_a_host_whose_agent_is_lost_are_let_go_until_it_is_back() {
    let mut world = World::with(CODA, 4, 5.0);
    let flow = world.begin(1e9, &[(0, 2)])[0];
    world.pass(0.1);
    assert_eq!(world.service(flow), Some(RATE));
    // Agent 2 says nothing any more, though its host receives.
    for _ in 0..80 {
        world.wired.now_s += 0.1;
        for port in [0, 1, 3] {
            world.wired.say(port, vec![FromAgent::Alive]);
        }
        world.send(0.0);
    }
    assert_eq!(world.service(flow), None);
    world.wired.join(2);
    world.pass(0.1);
    assert_eq!(world.service(flow), Some(RATE));
}

#[test]
fn an_agent_of_an_earlier_version_leaves_flows_alone() {
    let mut world = World::new(CODA, 4);
    world.begin(1e9, &[(0, 2), (1, 0)]);
    world.pass(0.1);
    let hello = Hello { version: 4, port: 0, holds: (0, 0), token: Vec::new() };
    world.wired.core.closed(1);
    world.wired.core.heard(1, FromAgent::Hello(hello), world.wired.now());
    let mut messages = Vec::new();
    world.wired.core.decide(world.wired.now()).expect("a plan");
    world.wired.core.take_messages(1, &mut messages);
    assert!(
        messages.iter().all(|it| !matches!(it, ToAgent::Taken(_) | ToAgent::Released(_))),
        "{messages:?}"
    );
    // The flow of the other host goes to a host whose agent does not speak of such flows.
    assert_eq!(world.wired.core.population().announced, 1);
}

#[test]
fn a_flow_that_has_to_wait_is_never_over() {
    let mut world = World::new(CODA, 4);
    world.begin(5e5, &[(0, 2)]);
    let waits = world.begin(1e8, &[(1, 2)]);
    // The small coflows of the first queue go first all the time.
    for _ in 0..100 {
        world.begin(9.9e5, &[(0, 2)]);
        world.pass(1.0);
    }
    assert!(world.service(waits[0]).is_some());
    assert!(world.flows.contains_key(&(1, waits[0].1.number().unwrap())));
}

#[test]
fn a_flow_to_a_host_that_nobody_knows_is_left_alone_until_its_agent_comes() {
    let mut world = World::new(CODA, 3);
    let agent =
        Agent::new(2, Vec::new()).with_addresses(vec!["10.9.9.9".parse().expect("an address")]);
    world.wired.agents[2] = agent;
    world.wired.join(2);
    let flows = world.begin(1e7, &[(0, 1), (0, 2)]);
    world.pass(0.1);
    assert_eq!([world.service(flows[0]), world.service(flows[1])], [Some(RATE), None]);
    // The host has the address after all.
    world.wired.agents[2] = Agent::new(2, Vec::new()).with_watch().with_addresses(vec![address(2)]);
    world.wired.join(2);
    world.pass(1.0);
    assert!(world.service(flows[1]).is_some());
    // Another host may not claim an address while its holder is there.
    world.wired.agents[1] = Agent::new(1, Vec::new()).with_addresses(vec![address(1), address(2)]);
    world.wired.join(1);
    let other = world.begin(1e7, &[(0, 2)]);
    world.pass(0.1);
    assert!(world.service(other[0]).is_some());
    world.pass(100.0);
    let population = world.wired.core.population();
    assert_eq!((population.coflows, population.announced), (0, 0));
}

#[test]
fn a_coordinator_that_hears_of_coflows_does_not_ask_for_flows() {
    let mut world = World::new("aalo", 4);
    let flows = world.begin(5e5, &[(0, 2), (1, 2)]);
    world.pass(10.0);
    assert_eq!(world.service(flows[0]), None);
    assert!(world.flows.is_empty());
    assert_eq!(world.wired.core.population().announced, 0);
    assert_eq!(world.wired.agents[0].unacknowledged(), 0);
}

#[test]
fn coflows_are_not_registered_where_they_are_found() {
    let mut world = World::new(CODA, 4);
    world.begin(1e7, &[(0, 2)]);
    world.pass(0.1);
    let list = List::Coflows { from: 0, limit: 10, all: false };
    let page = world.wired.core.list(&list, |_| None)();
    let page = format!("{page:?}");
    let serial = 1_u64 << 31;
    assert!(page.contains(&format!("id: {serial}")), "{page}");
    for request in [
        Request::Register { spec: covey_api::CoflowSpec::of(Vec::new()), key: None },
        Request::Remove { id: serial },
    ] {
        let Output::Answer(_, Err(problem)) = asked(&mut world, request) else {
            panic!("it is refused")
        };
        assert_eq!(problem.status, 409);
    }
}

fn asked(world: &mut World, request: Request) -> Output {
    asked_by(world, Client::own(), request)
}

fn asked_by(world: &mut World, client: Client, request: Request) -> Output {
    world.wired.core.request_of(1, client, request, Time::from_secs(world.wired.now_s));
    world.wired.core.take_outputs().remove(0)
}

/// A linear congruential generator.
struct Dice(u64);

impl Dice {
    fn below(&mut self, n: u64) -> u64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % n
    }
}

#[test]
fn whatever_comes_and_goes_no_port_is_given_too_much_and_nothing_is_left() {
    for seed in 0..6 {
        let mut dice = Dice(seed);
        let mut world = World::new("coda:q1=500KB,flow_q1=300KB,E=2,K=4,delta=8ms,d=3,eps=1", 5);
        for step in 0..600 {
            if step < 400 && dice.below(6) == 0 {
                let count = 1 + dice.below(6);
                let ends: Vec<(usize, usize)> = (0..count)
                    .map(|_| {
                        let src = dice.below(5) as usize;
                        (src, (src + 1 + dice.below(4) as usize) % 5)
                    })
                    .collect();
                let size = 1e4 * (1 + dice.below(300)) as f64;
                world.begin(size, &ends);
            }
            if dice.below(80) == 0 {
                // An application takes a flow back, or its agent joins again.
                let port = dice.below(5) as usize;
                world.wired.join(port);
            }
            if dice.below(60) == 0
                && let Some((&(port, number), flow)) = world.flows.iter().next()
            {
                let (key, bytes) = (FlowName::Number(number), flow.sent);
                let ended = vec![Ended { key, bytes, wire: bytes }];
                world.flows.remove(&(port, number));
                world.happened(port, &Progress { ended, ..Progress::default() });
            }
            world.pass(0.01 * (1 + dice.below(20)) as f64);
            let (mut out, mut into) = (vec![0.0; 5], vec![0.0; 5]);
            let mut names = 0;
            let list = List::Schedule { from: (0, 0), limit: 10_000 };
            let Reply::Schedule(page) = world.wired.core.list(&list, |_| None)() else {
                panic!("a schedule")
            };
            for rate in page.items {
                out[rate.src as usize] += rate.rate;
                into[rate.dst as usize] += rate.rate;
                names += 1;
            }
            let most = out.iter().chain(&into).copied().fold(0.0, f64::max);
            assert!(most <= RATE * (1.0 + 1e-9), "{seed}, {step}: {out:?} {into:?}");
            assert!(names > 0 || world.flows.is_empty(), "{seed}, {step}: nobody sends");
        }
        world.pass(300.0);
        assert!(world.flows.is_empty(), "{seed}: {:?}", world.flows);
        let population = world.wired.core.population();
        assert_eq!((population.coflows, population.announced), (0, 0), "{seed}");
        let unacknowledged = world.wired.agents.iter().map(Agent::unacknowledged);
        assert_eq!(unacknowledged.sum::<usize>(), 0, "{seed}");
    }
}

/// What a coordinator answers that is told of the community of flows from port 0 to port 2 with
/// these numbers.
fn tell(world: &mut World, community: u32, numbers: &[u64]) -> Answer {
    tell_as(world, Client::own(), community, numbers)
}

/// The same by this client.
fn tell_as(world: &mut World, client: Client, community: u32, numbers: &[u64]) -> Answer {
    let flow = |number: &u64| FlowEnds {
        from: SocketAddr::new(address(0), 40_000 + (*number % 20_000) as u16),
        to: SocketAddr::new(address(2), 9000),
    };
    let flows = numbers.iter().map(flow).collect();
    let told = Request::Community { community, flows };
    let Output::Answer(_, answer) = asked_by(world, client, told) else { panic!("an answer") };
    answer
}

#[test]
fn the_same_number_is_another_community_for_each_tenant() {
    let mut world = World::new("coda:q1=1GB,delta=8ms,labels=told", 3);
    let client = |token: &str, tenant: &str| Client {
        registrant: Some(Registrant { token: token.to_owned(), tenant: tenant.to_owned() }),
        operates: false,
    };
    for (client, flow) in [
        (client("anna", "lab"), 0),
        (client("berta", "ward"), 1),
        (client("other", "lab"), 2),
        (Client::default(), 3),
        (Client::own(), 4),
    ] {
        assert!(tell_as(&mut world, client, 7, &[flow]).is_ok());
    }
    world.begin(1e9, &[(0, 2); 5]);
    world.pass(0.1);
    let groups = world.wired.core.population().coflows;
    assert_eq!(groups, 3, "those of the lab, those of the ward, and those of nobody");
    // A flow that has appeared without a community keeps to the same rule.
    world.begin(1e9, &[(0, 2); 2]);
    assert!(tell_as(&mut world, client("berta", "ward"), u32::MAX, &[5]).is_ok());
    assert!(tell_as(&mut world, client("anna", "lab"), u32::MAX, &[6]).is_ok());
    world.pass(0.1);
    assert_eq!(world.wired.core.population().coflows, 5);
}

#[test]
fn flows_whose_communities_are_told_are_coflows_whenever_they_begin() {
    let mut world = World::new("coda:q1=1GB,delta=8ms,labels=told", 3);
    // Two coflows begin at the same time, and one of them goes on later. A fifth flow is in none.
    assert!(tell(&mut world, 5, &[0, 2]).is_ok());
    assert!(tell(&mut world, 6, &[1, 3]).is_ok());
    world.begin(1e9, &[(0, 2), (0, 2)]);
    world.pass(0.1);
    assert_eq!(world.wired.core.population().coflows, 2);
    world.pass(3.0);
    world.begin(1e9, &[(0, 2), (0, 2)]);
    world.pass(0.1);
    assert_eq!(world.wired.core.population().coflows, 2);
    world.begin(1e9, &[(0, 2)]);
    world.pass(1.0);
    // That one is left alone, and takes nothing from the others.
    let services = |world: &World| world.wired.agents[0].served().into_owned();
    assert_eq!(world.wired.core.population().coflows, 2);
    assert_eq!(world.service((0, FlowName::Number(4))), None);
    assert_eq!(services(&world).values().map(|service| service.rate).sum::<f64>(), RATE);
    // Its community is told late.
    assert!(tell(&mut world, 6, &[4, 4]).is_ok());
    world.pass(1.0);
    assert_eq!(world.wired.core.population().coflows, 2);
    assert_eq!(world.wired.core.population().announced, 5);
    assert!(world.service((0, FlowName::Number(4))).is_some());
    assert_eq!(services(&world).values().map(|service| service.rate).sum::<f64>(), RATE);
    // The community of a flow does not change.
    assert!(tell(&mut world, 5, &[4]).is_ok());
    world.pass(0.1);
    assert_eq!(world.wired.core.population().coflows, 2);

    let mut aalo = World::new("aalo", 3);
    assert_eq!(tell(&mut aalo, 1, &[0]).expect_err("no use").status, 409);
}

#[test]
fn an_end_by_the_name_that_a_flow_had_before_its_community_was_told_is_one() {
    let mut world = World::new("coda:q1=1GB,delta=8ms,labels=told", 3);
    world.begin(1e9, &[(0, 2), (0, 2)]);
    world.pass(0.1);
    // Both messages are on their way at the same time.
    let ended = Ended { key: FlowName::Number(0), bytes: 5e5, wire: 5e5 };
    let progress = Progress { ended: vec![ended], ..Progress::default() };
    let mut said = Vec::new();
    world.wired.agents[0].happened(&progress, world.wired.now_s, &mut said);
    world.flows.remove(&(0, 0));
    assert!(tell(&mut world, 6, &[0, 1]).is_ok());
    world.wired.say(0, said);
    world.wired.settle();
    world.pass(0.1);
    let population = world.wired.core.population();
    assert_eq!((population.coflows, population.announced), (1, 1));
    assert_eq!(world.service((0, FlowName::Number(1))), Some(RATE));
    assert_eq!(world.wired.agents[0].unacknowledged(), 0);
}
