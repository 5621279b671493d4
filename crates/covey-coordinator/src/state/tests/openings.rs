//! Flows that are opened otherwise than they are registered.

use covey_api::{CoflowSpec, Flow, Update};
use covey_core::Time;
use covey_proto::{
    FlowFacts, FlowKey, FlowOpening, FromAgent, Hello, OpeningError, Side, ToAgent, VERSION,
};

use super::super::CoordinatorState;
use super::super::early_openings::MAX_EARLY;
use super::helpers::{core, settle};
use crate::request::Request;

const UNKNOWN: f64 = f64::INFINITY;

fn key(coflow: u64, flow: u32) -> FlowKey {
    FlowKey { coflow, flow }
}

fn answers(messages: Vec<ToAgent>) -> Vec<Result<FlowFacts, OpeningError>> {
    let answers = messages.into_iter().filter_map(|message| match message {
        ToAgent::Openings(answers) => Some(answers),
        _ => None,
    });
    answers.flatten().map(|answer| answer.found).collect()
}

/// What the agent of a port is answered.
fn open(
    core: &mut CoordinatorState,
    port: u32,
    (key, side, bytes): (FlowKey, Side, f64),
) -> Vec<Result<FlowFacts, OpeningError>> {
    let opened = FromAgent::Opened(vec![FlowOpening { key, side, bytes }]);
    core.heard(port.into(), opened, Time::ZERO);
    answers(settle(core, 0.0).1)
}

#[test]
fn each_way_to_open_a_flow_wrongly_has_its_answer() {
    let (sends, receives) = (Side::Sends, Side::Receives);
    let mut core = core("fifo", &[&[(0, 1)], &[(2, 3)]]);
    let right = |peer| Ok(FlowFacts { peer, bytes: 1e9 });
    for (port, opening, found) in [
        (0, (key(0, 0), sends, 1e9), right(1)),
        (0, (key(0, 0), sends, UNKNOWN), right(1)),
        (1, (key(0, 0), receives, UNKNOWN), right(0)),
        // From another host, or with the two ends swapped.
        (2, (key(0, 0), sends, UNKNOWN), Err(OpeningError::OtherHost(0))),
        (1, (key(0, 0), sends, UNKNOWN), Err(OpeningError::OtherHost(0))),
        (0, (key(0, 0), receives, UNKNOWN), Err(OpeningError::OtherHost(1))),
        (0, (key(0, 1), sends, UNKNOWN), Err(OpeningError::NoFlow(1))),
        (0, (key(9, 0), sends, UNKNOWN), Err(OpeningError::Unregistered)),
        (1, (key(9, 0), receives, UNKNOWN), Err(OpeningError::Unregistered)),
        (0, (key(0, 0), sends, 2e9), Err(OpeningError::TooMany(1e9))),
        // An end that says less says nothing wrong: the coordinator hears what was sent.
        (0, (key(0, 0), sends, 1e3), right(1)),
    ] {
        assert_eq!(open(&mut core, port, opening), [found], "{port} {opening:?}");
    }
    let removed = Request::Remove { id: 1 };
    core.request(77, removed, Time::ZERO);
    settle(&mut core, 0.0);
    let over = Err(OpeningError::CoflowOver);
    assert_eq!(open(&mut core, 2, (key(1, 0), sends, UNKNOWN)), [over]);
    // The end of a small flow may be known before its receiver is.
    let late = open(&mut core, 3, (key(1, 0), receives, UNKNOWN));
    assert!(late[0].is_ok(), "{late:?}");
    let counts = core.counts().opened_wrongly;
    let of = |error: OpeningError| counts[error.place()];
    assert_eq!(of(OpeningError::OtherHost(0)), 3);
    assert_eq!([OpeningError::Unregistered, OpeningError::CoflowOver].map(of), [2, 1]);
    assert_eq!(counts.iter().sum::<u64>(), 8);
}

#[test]
fn a_flow_that_has_ended_is_not_opened_again_and_its_bytes_are_compared() {
    let mut core = core("fifo", &[&[(0, 1), (0, 2), (0, 3)]]);
    for (flow, bytes) in [(0, 1e9), (1, 1e3)] {
        let ended = covey_proto::Ended { key: key(0, flow).into(), bytes, wire: bytes };
        core.heard(0, FromAgent::Ended(vec![ended]), Time::ZERO);
    }
    settle(&mut core, 0.0);
    assert_eq!(core.counts().other_bytes, [1, 0]);
    let again = open(&mut core, 0, (key(0, 0), Side::Sends, UNKNOWN));
    assert_eq!(again, [Err(OpeningError::FlowOver)]);
}

#[test]
fn a_flow_of_an_open_coflow_may_be_added_later() {
    let mut core = core("fifo", &[]);
    let flow = |src, dst| Flow::new(src, dst, None);
    let spec = CoflowSpec { open: true, ..CoflowSpec::of(vec![flow(0, 1)]) };
    core.request(0, Request::Register { spec, key: None }, Time::ZERO);
    settle(&mut core, 0.0);
    let (early, never) = ((key(0, 1), Side::Sends, UNKNOWN), (key(0, 2), Side::Sends, UNKNOWN));
    assert_eq!(open(&mut core, 2, early), []);
    assert_eq!(open(&mut core, 2, never), []);
    let update = |update| Request::Update { id: 0, update, revision: None };
    let add = Update { add: vec![flow(2, 3)], ..Update::default() };
    core.request(1, update(add), Time::ZERO);
    assert_eq!(answers(settle(&mut core, 0.0).1), [Ok(FlowFacts { peer: 3, bytes: UNKNOWN })]);
    let close = Update { open: Some(false), ..Update::default() };
    core.request(2, update(close), Time::ZERO);
    assert_eq!(answers(settle(&mut core, 0.0).1), [Err(OpeningError::NoFlow(2))]);
}

#[test]
fn what_one_agent_opens_early_takes_no_room_from_another() {
    let mut core = core("fifo", &[]);
    let flow = |src, dst| Flow::new(src, dst, None);
    let open_coflow = || CoflowSpec { open: true, ..CoflowSpec::of(vec![flow(0, 1)]) };
    for k in 0..2 {
        core.request(k, Request::Register { spec: open_coflow(), key: None }, Time::ZERO);
    }
    settle(&mut core, 0.0);
    // The agent of port 3 opens what there will never be, of two coflows of somebody else.
    let never =
        |k: u32| FlowOpening { key: key((k % 2).into(), 7 + k), side: Side::Sends, bytes: 1.0 };
    let many: Vec<FlowOpening> = (0..MAX_EARLY as u32 + 5).map(never).collect();
    core.heard(3, FromAgent::Opened(many), Time::ZERO);
    let refused = answers(settle(&mut core, 0.0).1);
    assert_eq!(refused, [Err(OpeningError::NoFlow(0)); 5]);
    // Port 2 has its room. What is opened twice has two answers.
    let early = (key(0, 1), Side::Sends, UNKNOWN);
    assert_eq!([open(&mut core, 2, early), open(&mut core, 2, early)], [[], []]);
    let add = Update { add: vec![flow(2, 3)], ..Update::default() };
    core.request(2, Request::Update { id: 0, update: add, revision: None }, Time::ZERO);
    let found = answers(settle(&mut core, 0.0).1);
    assert_eq!(found, [Ok(FlowFacts { peer: 3, bytes: UNKNOWN }); 2]);
    // The end of a coflow gives room again, and so does another session.
    core.request(3, Request::Remove { id: 0 }, Time::ZERO);
    let over = answers(settle(&mut core, 0.0).1);
    assert_eq!(over, vec![Err(OpeningError::CoflowOver); MAX_EARLY / 2]);
    let of_the_other = FromAgent::Opened((0..MAX_EARLY as u32).map(|k| never(2 * k + 1)).collect());
    core.heard(3, of_the_other.clone(), Time::ZERO);
    assert_eq!(answers(settle(&mut core, 0.0).1).len(), MAX_EARLY / 2);
    let hello = Hello { version: VERSION, port: 3, holds: (0, 0), token: Vec::new() };
    core.heard(9, FromAgent::Hello(hello), Time::ZERO);
    core.heard(9, of_the_other, Time::ZERO);
    assert_eq!(answers(settle(&mut core, 0.0).1), []);
}
