//! What agents decide between two schedules, and the reservations that keep to it.

use covey_core::Time;
use covey_proto::{
    CoflowTurn, Ended, FlowKey, FlowOpening, FromAgent, Passing, Schedule, Side, ToAgent,
};

use super::super::{CoordinatorState, Output};
use super::helpers::{core, settle};

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
    schedule.set.iter().map(|entry| entry.rate).collect()
}

#[test]
fn an_agent_hears_when_the_coflows_that_are_open_there_have_their_turns() {
    let mut core = core(POLICY, &[&[(0, 3)], &[(0, 3)]]);
    let first = turns(&open(&mut core, 0, 0));
    assert_eq!(first, [CoflowTurn { coflow: 0, layer: 0, dag: 0, depth: 0, left: 1e9 }]);
    assert_eq!(turns(&open(&mut core, 0, 1))[0].dag, 1);
    // The agent of another port has asked for nothing, and the one that sends hears of another queue.
    let sent = covey_proto::Sent { key: key(0), bytes: 1e9, wire: 1e9 };
    core.heard(0, FromAgent::Sent(vec![sent]), Time::ZERO);
    let fallen = turns(&settle(&mut core, 0.0).1);
    assert_eq!(fallen.len(), 1, "{fallen:?}");
    assert_eq!((fallen[0].coflow, fallen[0].layer, fallen[0].left), (0, 1, 9e9));
    // A policy whose order is another one says nothing.
    let mut core = self::core("sebf", &[&[(0, 3)]]);
    assert_eq!(turns(&open(&mut core, 0, 0)), []);
}

/// Coflows 0 and 1 are sent from port 0, coflow 2 from port 1, all to port 3. Coflow 0 has the receiving port, and has
/// passed it on to coflow 1 when it ended.
fn passed(is_last: bool) -> CoordinatorState {
    let mut core = core(POLICY, &[&[(0, 3)], &[(0, 3)], &[(1, 3)]]);
    for (port, coflow) in [(0, 0), (0, 1), (1, 2)] {
        open(&mut core, port, coflow);
    }
    if is_last {
        // Coflow 1 falls behind coflow 2.
        let sent = covey_proto::Sent { key: key(1), bytes: 1e9, wire: 1e9 };
        core.heard(0, FromAgent::Sent(vec![sent]), Time::ZERO);
        settle(&mut core, 0.0);
    }
    let passing = Passing { from: key(0), to: key(1) };
    core.heard(0, FromAgent::Passed(vec![passing]), Time::ZERO);
    let ended = Ended { key: key(0), bytes: 1e9, wire: 1e9 };
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
    let ended = Ended { key: key(1), bytes: 1e9, wire: 1e9 };
    core.heard(0, FromAgent::Ended(vec![ended]), Time::ZERO);
    let schedules = unapplied(&mut core);
    assert!(schedules.iter().any(|(to, it)| *to == 1 && rates(it) == [1e6]), "{schedules:?}");
}
