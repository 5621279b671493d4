//! What agents decide between two schedules, and the reservations that keep to it.

use covey_api::{CoflowSpec, Flow as FlowSpec};
use covey_core::{Fabric, Time};
use covey_proto::{
    CoflowTurn, Ended, FlowKey, FlowOpening, FromAgent, Hello, Passing, Schedule, Side, ToAgent,
    VERSION,
};

use super::super::{Config, CoordinatorState, Output};
use super::helpers::{PORTS, core, settle, status};
use crate::request::Request;

const POLICY: &str = "aalo:delta=0,queues=strict,q1=1GB";

fn key(coflow: u64) -> FlowKey {
    FlowKey { coflow, flow: 0 }
}

fn open(core: &mut CoordinatorState, port: u32, coflow: u64) -> Vec<ToAgent> {
    let opening = FlowOpening { key: key(coflow), side: Side::Sends, bytes: f64::INFINITY };
    core.heard(port.into(), FromAgent::Opened(vec![opening]), Time::ZERO);
    settle(core, 0.0).1
}

fn turns(messages: &[ToAgent]) -> Vec<CoflowTurn> {
    let turns = messages.iter().filter_map(|message| match message {
        ToAgent::Turns(turns) => Some(turns.clone()),
        _ => None,
    });
    turns.flatten().collect()
}

/// The schedules for a session that are to be sent now. Nobody applies them.
fn unapplied(core: &mut CoordinatorState) -> Vec<(u64, Schedule)> {
    core.decide(Time::ZERO).expect("a plan");
    let mut schedules = Vec::new();
    for output in core.take_outputs() {
        match output {
            Output::Journal(lsn, _) => core.durable(lsn, Time::ZERO),
            Output::Ready(session) => {
                let mut messages = Vec::new();
                core.take_messages(session, &mut messages);
                schedules.extend(messages.into_iter().filter_map(|message| match message {
                    ToAgent::Schedule(schedule) => Some((session, schedule)),
                    _ => None,
                }));
            }
            _ => {}
        }
    }
    schedules
}

fn rates(schedule: &Schedule) -> Vec<f64> {
    schedule.set.iter().map(|entry| entry.service.rate).collect()
}

#[test]
fn an_agent_hears_when_the_coflows_that_are_open_there_have_their_turns() {
    let mut core = core(POLICY, &[&[(0, 3)], &[(0, 3)]]);
    let first = turns(&open(&mut core, 0, 0));
    assert_eq!(first, [CoflowTurn { coflow: 0, layer: 0, dag: 0, depth: 0, left: 1e9 }]);
    assert_eq!(turns(&open(&mut core, 0, 1))[0].dag, 1);
    // The agent of another port has asked for nothing, and the one that sends hears of another
    // queue.
    let sent = covey_proto::Sent { key: key(0).into(), bytes: 1e9, wire: 1e9 };
    core.heard(0, FromAgent::Sent(vec![sent]), Time::ZERO);
    let fallen = turns(&settle(&mut core, 0.0).1);
    assert_eq!(fallen.len(), 1, "{fallen:?}");
    assert_eq!((fallen[0].coflow, fallen[0].layer, fallen[0].left), (0, 1, 9e9));
    // A policy whose order is another one says nothing.
    let mut core = self::core("sebf", &[&[(0, 3)]]);
    assert_eq!(turns(&open(&mut core, 0, 0)), []);
}

/// Coflows 0 and 1 are sent from port 0, coflow 2 from port 1, all to port 3. Coflow 0 has the
/// receiving port, and has passed it on to coflow 1 when it ended.
fn passed(is_last: bool) -> CoordinatorState {
    let mut core = core(POLICY, &[&[(0, 3)], &[(0, 3)], &[(1, 3)]]);
    for (port, coflow) in [(0, 0), (0, 1), (1, 2)] {
        open(&mut core, port, coflow);
    }
    if is_last {
        // Coflow 1 falls behind coflow 2.
        let sent = covey_proto::Sent { key: key(1).into(), bytes: 1e9, wire: 1e9 };
        core.heard(0, FromAgent::Sent(vec![sent]), Time::ZERO);
        settle(&mut core, 0.0);
    }
    let passing = Passing { from: key(0).into(), to: key(1).into() };
    core.heard(0, FromAgent::Passed(vec![passing]), Time::ZERO);
    let ended = Ended { key: key(0).into(), bytes: 1e9, wire: 1e9 };
    core.heard(0, FromAgent::Ended(vec![ended]), Time::ZERO);
    core
}

#[test]
fn a_rate_that_was_passed_on_is_confirmed_at_once() {
    let mut core = passed(false);
    let schedules = unapplied(&mut core);
    // One schedule gives the rate to the flow that has it already; nobody waits for the port.
    let [(0, schedule)] = &schedules[..] else { panic!("{schedules:?}") };
    assert_eq!((rates(schedule), schedule.removed.len()), (vec![1e6], 1));
    assert_eq!(core.counts().passed, 1);
}

#[test]
fn a_port_is_not_promised_again_before_the_agent_has_given_the_rate_back() {
    let mut core = passed(true);
    // The agent still has the rate: the other one has to wait.
    let schedules = unapplied(&mut core);
    let [(0, schedule)] = &schedules[..] else { panic!("{schedules:?}") };
    assert_eq!((rates(schedule), schedule.removed.len()), (vec![], 1));
    let (epoch, version) = (schedule.epoch, schedule.version);
    core.heard(0, FromAgent::Applied { epoch, version }, Time::ZERO);
    let schedules = unapplied(&mut core);
    let [(1, schedule)] = &schedules[..] else { panic!("{schedules:?}") };
    assert_eq!(rates(schedule), [1e6]);
}

#[test]
fn a_rate_that_nobody_has_any_more_is_free() {
    let mut core = passed(true);
    // The flow that has the rate ends before a schedule is made, and passes it on to nobody.
    let ended = Ended { key: key(1).into(), bytes: 1e9, wire: 1e9 };
    core.heard(0, FromAgent::Ended(vec![ended]), Time::ZERO);
    let schedules = unapplied(&mut core);
    assert!(schedules.iter().any(|(to, it)| *to == 1 && rates(it) == [1e6]), "{schedules:?}");
}

/// An agent that holds a third of a receiver, and never says that it has applied a schedule.
#[test]
fn an_agent_that_never_applies_a_schedule_holds_a_port_for_a_while_and_others_have_the_rest() {
    let fabric = Fabric::big_switch(PORTS, 1e6).expect("a fabric");
    let policy = covey_sched::build("fair").expect("a policy").policy;
    let config = Config { lost_after_s: 5.0, lease_s: 1e3, ..Config::default() };
    let mut core = CoordinatorState::new(fabric, policy, config, 1, [], Time::ZERO);
    let join = |core: &mut CoordinatorState, session: u64, port: u32, now_s: f64| {
        let hello = Hello { version: VERSION, port, holds: (0, 0), token: Vec::new() };
        core.heard(session, FromAgent::Hello(hello), Time::from_secs(now_s));
    };
    (0..PORTS).for_each(|port| join(&mut core, u64::from(port), port, 0.0));
    let register = |core: &mut CoordinatorState, src: u32, now_s: f64| {
        let spec = CoflowSpec::of(vec![FlowSpec::new(src, 3, Some(1e9))]);
        core.request(9, Request::Register { spec, key: None }, Time::from_secs(now_s));
    };
    // What the agents of the ports other than 0 hold, which apply what they are sent.
    let held = |core: &mut CoordinatorState, now_s: f64| {
        let (now, mut held) = (Time::from_secs(now_s), std::collections::BTreeMap::new());
        for _ in 0..10 {
            core.decide(now).expect("a plan");
            for output in core.take_outputs() {
                let session = match output {
                    Output::Journal(lsn, _) => {
                        core.durable(lsn, now);
                        continue;
                    }
                    Output::Ready(session) => session,
                    _ => continue,
                };
                let mut messages = Vec::new();
                core.take_messages(session, &mut messages);
                for message in messages {
                    let ToAgent::Schedule(schedule) = message else { continue };
                    let (epoch, version) = (schedule.epoch, schedule.version);
                    schedule
                        .set
                        .iter()
                        .for_each(|it| _ = held.insert((session, it.key), it.service.rate));
                    // The liar says so of the first one, which is empty.
                    if (1..4).contains(&session) || (session, version) == (0, 1) {
                        core.heard(session, FromAgent::Applied { epoch, version }, now);
                    }
                }
            }
        }
        held.into_iter()
            .filter(|((session, _), _)| (1..4).contains(session))
            .map(|it| it.1)
            .sum::<f64>()
    };
    register(&mut core, 0, 0.0);
    register(&mut core, 1, 0.0);
    register(&mut core, 2, 0.0);
    let near = |rate: f64, expected: f64| (rate - expected).abs() < 1.0;
    assert!(near(held(&mut core, 0.0), 2e6 / 3.0));
    // Each has a third. The liar's coflow ends and another one, so that the third should have all:
    // it has what is left.
    core.request(9, Request::Remove { id: 0 }, Time::from_secs(0.1));
    core.request(9, Request::Remove { id: 2 }, Time::from_secs(0.1));
    let mut rate = 0.0;
    let mut seconds = 0.1;
    while seconds < 8.0 {
        // It is alive all the time, as the others are.
        (0..4).for_each(|session| core.heard(session, FromAgent::Alive, Time::from_secs(seconds)));
        rate = f64::max(rate, held(&mut core, seconds));
        assert!(near(rate, 2e6 / 3.0) || seconds > 5.0, "{rate} at {seconds} s");
        seconds += 0.5;
    }
    assert!(near(rate, 1e6), "{rate}");
    // It joins again: it gets a schedule, and no rate before it has applied that.
    join(&mut core, 7, 0, seconds);
    register(&mut core, 0, seconds);
    core.decide(Time::from_secs(seconds)).expect("a plan");
    held(&mut core, seconds);
    assert_eq!(status(&mut core, 3, seconds).flows_stalled, 1);
    settle(&mut core, seconds);
    let version = core.agents.get(0).assignments.version();
    core.heard(7, FromAgent::Applied { epoch: 1, version }, Time::from_secs(seconds));
    settle(&mut core, seconds);
    assert_eq!(status(&mut core, 3, seconds).flows_stalled, 0);
}
