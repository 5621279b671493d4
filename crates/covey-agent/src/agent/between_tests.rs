//! What an agent decides between two schedules.

use covey_proto::{
    CoflowTurn, Ended, Entry, FlowFacts, FlowKey, FlowName, FlowOpening, FromAgent, OpeningAnswer,
    Passing, Schedule, Service, Side, ToAgent, VERSION, Welcome,
};

use super::Agent;
use crate::progress::Progress;

const A: FlowName = FlowName::Key(FlowKey { coflow: 1, flow: 0 });
const B: FlowName = FlowName::Key(FlowKey { coflow: 1, flow: 1 });

fn tell(agent: &mut Agent, message: ToAgent) -> Vec<FromAgent> {
    let mut out = Vec::new();
    agent.heard(message, &mut out).expect("nothing is refused");
    out
}

fn welcome(version: u16) -> ToAgent {
    let (report_every_s, heartbeat_s, idle_after_s) = (0.0, 1.0, 1.0);
    let (epoch, codec, groups) = (1, None, false);
    let welcome =
        Welcome { version, epoch, report_every_s, heartbeat_s, codec, idle_after_s, groups };
    ToAgent::Welcome(welcome)
}

fn entry(key: FlowName, rate: f64) -> Entry {
    Entry { key, service: Service { layer: 0, rate, codec: None } }
}

fn schedule(version: u64, base: u64, set: &[(FlowName, f64)], removed: &[FlowName]) -> ToAgent {
    let set = set.iter().map(|&(key, rate)| entry(key, rate)).collect();
    ToAgent::Schedule(Schedule { epoch: 1, version, base, set, removed: removed.to_vec() })
}

const C: FlowName = FlowName::Key(FlowKey { coflow: 2, flow: 0 });
const D: FlowName = FlowName::Key(FlowKey { coflow: 3, flow: 0 });

/// An agent with flows that are open: A goes to port 7 and has a rate, C and D go there, too, and
/// wait; B goes to port 8 and waits.
fn in_turn() -> Agent {
    let mut agent = Agent::new(0, Vec::new()).with_watch();
    tell(&mut agent, welcome(VERSION));
    tell(&mut agent, schedule(1, 0, &[(A, 1e6)], &[]));
    let receivers = [(A, 7), (B, 8), (C, 7), (D, 7)];
    let opening = |name: FlowName| FlowOpening {
        key: name.key().unwrap(),
        side: Side::Sends,
        bytes: f64::INFINITY,
    };
    let progress = Progress {
        openings: receivers.iter().map(|(key, _)| opening(*key)).collect(),
        opened: receivers.iter().map(|(key, _)| (*key, true)).collect(),
        ..Progress::default()
    };
    let mut out = Vec::new();
    agent.happened(&progress, 0.0, &mut out);
    assert_eq!(out[0], FromAgent::Opened(progress.openings));
    let answer = |&(key, peer): &(FlowName, u32)| {
        let facts = FlowFacts { peer, bytes: f64::INFINITY };
        OpeningAnswer { key: key.key().unwrap(), side: Side::Sends, found: Ok(facts) }
    };
    tell(&mut agent, ToAgent::Openings(receivers.iter().map(answer).collect()));
    let left = f64::INFINITY;
    let turn = |coflow| CoflowTurn { coflow, layer: 0, dag: coflow, depth: 0, left };
    tell(&mut agent, ToAgent::Turns(vec![turn(1), turn(3), turn(2)]));
    agent
}

fn end(agent: &mut Agent, key: FlowName) -> Vec<FromAgent> {
    let ended = vec![Ended { key, bytes: 9.0, wire: 9.0 }];
    let mut out = Vec::new();
    agent.happened(&Progress { ended, ..Progress::default() }, 0.1, &mut out);
    out
}

fn served(agent: &Agent) -> Vec<(FlowName, f64)> {
    agent.served().iter().map(|(key, service)| (*key, service.rate)).collect()
}

#[test]
fn at_the_end_of_a_flow_the_next_one_to_the_same_receiver_has_its_rate() {
    let mut agent = in_turn();
    let said = end(&mut agent, A);
    // The agent says that A has passed its rate on before it says that A has ended. So the
    // receiver's port stays promised.
    assert_eq!(said[0], FromAgent::Passed(vec![Passing { from: A, to: C }]));
    assert!(matches!(said[1], FromAgent::Ended(_)), "{said:?}");
    assert_eq!(served(&agent), [(C, 1e6)]);
    // What the coordinator has decided before it heard of the end: the rate of A is that of C.
    tell(&mut agent, schedule(2, 1, &[(A, 4e5), (B, 1e5)], &[]));
    assert_eq!(served(&agent), [(B, 1e5), (C, 4e5)]);
    let said = end(&mut agent, C);
    assert_eq!(said[0], FromAgent::Passed(vec![Passing { from: C, to: D }]));
    assert_eq!(served(&agent), [(B, 1e5), (D, 4e5)]);
    // A schedule that was made for C is that of D now, until one removes C.
    tell(&mut agent, schedule(3, 2, &[(C, 3e5)], &[A]));
    assert_eq!(served(&agent), [(B, 1e5), (D, 3e5)]);
    tell(&mut agent, schedule(4, 3, &[(D, 2e5)], &[C]));
    assert_eq!(served(&agent), [(B, 1e5), (D, 2e5)]);
    // Nobody waits for port 8 or 7 any more.
    for key in [B, D] {
        assert!(matches!(end(&mut agent, key)[0], FromAgent::Ended(_)));
    }
    assert_eq!(served(&agent), []);
}

#[test]
fn what_was_passed_on_is_said_again_after_a_join_and_ends_with_the_schedule() {
    let mut agent = in_turn();
    end(&mut agent, A);
    // The coordinator is away. What is known goes on being used.
    agent.disconnected();
    end(&mut agent, C);
    assert_eq!(served(&agent), [(D, 1e6)]);
    let said = tell(&mut agent, welcome(VERSION));
    let passings = vec![Passing { from: A, to: C }, Passing { from: C, to: D }];
    let at = |message: &FromAgent| said.iter().position(|it| it == message);
    let passed = at(&FromAgent::Passed(passings)).expect("it is said");
    let ended = said.iter().position(|it| matches!(it, FromAgent::Ended(_))).expect("ends");
    assert!(passed < ended);
    tell(&mut agent, schedule(2, 0, &[(B, 1e6)], &[]));
    assert_eq!(served(&agent), [(B, 1e6)]);
    tell(&mut agent, ToAgent::Acknowledged(vec![A, C]));
    let said = tell(&mut agent, welcome(VERSION));
    assert!(!said.iter().any(|it| matches!(it, FromAgent::Passed(_))), "{said:?}");
}

#[test]
fn a_rate_is_passed_on_only_where_the_coordinator_says_turns() {
    let mut agent = in_turn();
    tell(&mut agent, welcome(6));
    assert!(matches!(end(&mut agent, A)[0], FromAgent::Ended(_)));
    assert_eq!(served(&agent), []);
}
