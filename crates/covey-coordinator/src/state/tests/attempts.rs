//! Flows that are cancelled, and several attempts of one transfer.

use covey_api::{CoflowSpec, CoflowState, Flow, Move, Update};
use covey_core::{Fabric, Time};
use covey_proto::{
    Ended, FlowKey, FlowName, FlowOpening, FromAgent, Hello, Sent, Side, ToAgent, VERSION,
};

use super::super::{Config, CoordinatorState, Event, Output};
use super::helpers::{answer, core, settle, status};
use crate::record::Record;
use crate::request::{Reply, Request};

const A: FlowKey = FlowKey { coflow: 0, flow: 0 };
const B: FlowKey = FlowKey { coflow: 0, flow: 1 };

fn change(core: &mut CoordinatorState, update: Update, now_s: f64) -> (Vec<Event>, Vec<ToAgent>) {
    let what = Request::Update { id: 0, update, revision: None };
    core.request(9, what, Time::from_secs(now_s));
    settle(core, now_s)
}

fn refusal(core: &mut CoordinatorState, update: Update) -> (u16, String) {
    let what = Request::Update { id: 0, update, revision: None };
    let problem = answer(core, what, 1.0).expect_err("it is refused");
    (problem.status, problem.detail)
}

fn copy(of: u32, src: u32, dst: u32) -> Flow {
    Flow { attempt: Some(of), ..Flow::new(src, dst, None) }
}

fn end(core: &mut CoordinatorState, port: u32, key: FlowKey, now_s: f64) -> Vec<ToAgent> {
    let ended = Ended { key: key.into(), bytes: 1e9, wire: 1e9 };
    core.heard(u64::from(port), FromAgent::Ended(vec![ended]), Time::from_secs(now_s));
    settle(core, now_s).1
}

fn acknowledged(messages: &[ToAgent]) -> Vec<FlowKey> {
    let keys = messages.iter().filter_map(|message| match message {
        ToAgent::Acknowledged(keys) => Some(keys.clone()),
        _ => None,
    });
    keys.flatten().filter_map(FlowName::key).collect()
}

#[test]
fn a_flow_that_is_cancelled_ends_with_what_it_has_sent_and_its_agent_is_told() {
    let mut core = core("fifo", &[&[(0, 1), (2, 3)]]);
    let sent = Sent { key: A.into(), bytes: 5.0, wire: 5.0 };
    core.heard(0, FromAgent::Sent(vec![sent]), Time::from_secs(1.0));
    let (_, messages) = change(&mut core, Update { cancel: vec![0], ..Update::default() }, 1.0);
    // First the flow leaves the schedule.
    let removes =
        |message: &ToAgent| matches!(message, ToAgent::Schedule(it) if it.removed.len() == 1);
    let at = messages.iter().position(removes).expect("the flow had a rate");
    assert_eq!(acknowledged(&messages[..at]), []);
    assert_eq!(acknowledged(&messages[at..]), [A]);
    let now = status(&mut core, 0, 1.0);
    assert_eq!((now.state, now.flows_ended, now.bytes_sent), (CoflowState::Active, 1, 5.0));
    // Its end was under way: it counts as it was, and is acknowledged.
    assert_eq!(acknowledged(&end(&mut core, 0, A, 1.5)), [A]);
    assert_eq!(status(&mut core, 0, 1.5).bytes_sent, 5.0);
    // With its last flow the coflow goes.
    let (events, _) = change(&mut core, Update { cancel: vec![1], ..Update::default() }, 2.0);
    assert!(events.contains(&Event::Ended { id: 0 }), "{events:?}");
    assert_eq!(status(&mut core, 0, 2.0).state, CoflowState::Ended);
}

#[test]
fn the_flows_of_a_coflow_that_is_given_up_are_cancelled() {
    let mut core = core("fifo", &[&[(0, 1), (2, 3)], &[(0, 1)]]);
    end(&mut core, 2, B, 0.5);
    core.request(9, Request::Remove { id: 0 }, Time::from_secs(1.0));
    assert_eq!(acknowledged(&settle(&mut core, 1.0).1), [A]);
    assert_eq!(status(&mut core, 0, 1.0).state, CoflowState::Removed);
    // An agent that was away names its open flows again.
    let opening = |coflow| FlowOpening {
        key: FlowKey { coflow, ..A },
        side: Side::Sends,
        bytes: f64::INFINITY,
    };
    let opened = FromAgent::Opened(vec![opening(0), opening(1)]);
    core.heard(0, opened, Time::from_secs(2.0));
    assert_eq!(acknowledged(&settle(&mut core, 2.0).1), [A]);
}

#[test]
fn a_flow_whose_host_is_lost_begins_again_when_the_host_is_back() {
    let fabric = Fabric::big_switch(4, 1e6).expect("a fabric");
    let policy = covey_sched::build("fifo").expect("a policy").policy;
    let config = Config { lost_after_s: 10.0, ..Config::default() };
    let mut core = CoordinatorState::new(fabric, policy, config, 1, [], Time::ZERO);
    let hello = |port| Hello { version: VERSION, port, holds: (0, 0), token: Vec::new() };
    let join = |core: &mut CoordinatorState, port: u32, session: u64, now_s: f64| {
        core.heard(session, FromAgent::Hello(hello(port)), Time::from_secs(now_s));
    };
    (0..4).for_each(|port| join(&mut core, port, u64::from(port), 0.0));
    let spec = CoflowSpec::of(vec![Flow::new(0, 1, Some(1e9))]);
    core.request(0, Request::Register { spec, key: None }, Time::ZERO);
    settle(&mut core, 0.0);
    let sent = Sent { key: A.into(), bytes: 5.0, wire: 5.0 };
    core.heard(0, FromAgent::Sent(vec![sent]), Time::from_secs(1.0));
    core.closed(0);
    (1..4).for_each(|port| core.heard(port, FromAgent::Alive, Time::from_secs(11.5)));
    settle(&mut core, 11.5);
    assert_eq!(status(&mut core, 0, 11.5).state, CoflowState::Stalled);
    change(&mut core, Update { restart: vec![0], ..Update::default() }, 12.0);
    let flow = core.coflows.flow(A).expect("it is registered");
    assert_eq!((flow.stage, flow.sent), (super::super::flows::Stage::Stalled, 0.0));
    join(&mut core, 0, 9, 13.0);
    settle(&mut core, 13.0);
    let flow = core.coflows.flow(A).expect("it is registered");
    assert_eq!((flow.stage, flow.sent), (super::super::flows::Stage::Active, 0.0));
    assert_eq!(status(&mut core, 0, 13.0).state, CoflowState::Active);
}

#[test]
fn the_first_attempt_that_ends_makes_the_others_needless() {
    for winner in [0, 1] {
        let mut core = core("fifo", &[&[(0, 1)]]);
        // Its size is that of the flow.
        change(&mut core, Update { add: vec![copy(0, 2, 1)], ..Update::default() }, 1.0);
        let (key, loser) = if winner == 0 { (A, B) } else { (B, A) };
        let port = |key: FlowKey| 2 * key.flow;
        let messages = end(&mut core, port(key), key, 2.0);
        let mut told = acknowledged(&messages);
        told.sort_unstable();
        assert_eq!(told, [A, B], "{messages:?}");
        let now = status(&mut core, 0, 2.0);
        assert_eq!((now.state, now.bytes_sent), (CoflowState::Ended, 1e9));
        assert_eq!(acknowledged(&end(&mut core, port(loser), loser, 3.0)), [loser]);
    }
}

#[test]
fn an_attempt_that_is_cancelled_or_moved_leaves_the_others_alone() {
    let mut core = core("fifo", &[&[(0, 1), (0, 2)]]);
    let add = vec![copy(0, 2, 1), copy(0, 3, 1)];
    change(&mut core, Update { add, ..Update::default() }, 1.0);
    change(&mut core, Update { cancel: vec![2], ..Update::default() }, 2.0);
    assert_eq!(status(&mut core, 0, 2.0).flows_ended, 1);
    // What moves is still an attempt.
    let moved = vec![Move { flow: 3, to: Flow::new(1, 0, None) }];
    change(&mut core, Update { moved, ..Update::default() }, 3.0);
    let now = status(&mut core, 0, 3.0);
    assert_eq!((now.flows, now.flows_ended), (5, 2));
    end(&mut core, 1, FlowKey { coflow: 0, flow: 4 }, 4.0);
    assert_eq!(status(&mut core, 0, 4.0).flows_ended, 4);
    // The transfer is done: another attempt of it ends at once.
    change(&mut core, Update { add: vec![copy(0, 3, 1)], ..Update::default() }, 5.0);
    assert_eq!(status(&mut core, 0, 5.0).flows_ended, 5);
}

#[test]
fn what_cannot_be_cancelled_or_attempted_is_refused() {
    let mut core = core("fifo", &[&[(0, 1), (0, 2)]]);
    change(&mut core, Update { cancel: vec![0], ..Update::default() }, 1.0);
    let cancel = |flows: &[u32]| Update { cancel: flows.to_vec(), ..Update::default() };
    assert_eq!(refusal(&mut core, cancel(&[7])).1, "cancel[0]: coflow 0 has no flow 7");
    let twice = "cancel[1]: flow 1 is named twice";
    assert_eq!(refusal(&mut core, cancel(&[1, 1])).1, twice);
    let has_ended = (409, "cancel[0]: flow 0 of coflow 0 has ended".to_owned());
    assert_eq!(refusal(&mut core, cancel(&[0])), has_ended);
    let add = |flow| Update { add: vec![flow], ..Update::default() };
    let unknown = "add[0].attempt: expected the index of an earlier flow, found 2";
    assert_eq!(refusal(&mut core, add(copy(2, 0, 1))).1, unknown);
    let other = Flow { bytes: Some(5.0), ..copy(1, 0, 1) };
    let sizes = "add[0].attempt: flow 1 has 1000000000 bytes, this one 5";
    assert_eq!(refusal(&mut core, add(other)).1, sizes);
    let negative = "add[0].ratio: expected above 0, and at most 1, found -1";
    assert_eq!(refusal(&mut core, add(Flow { ratio: Some(-1.0), ..copy(1, 0, 1) })).1, negative);
    let moved = vec![Move { flow: 1, to: copy(0, 3, 2) }];
    let moved = Update { moved, ..Update::default() };
    let stays = "move[0].to.attempt: a flow that moves stays the attempt that it is";
    assert_eq!(refusal(&mut core, moved).1, stays);
}

/// Writes all records, and returns them.
fn written(core: &mut CoordinatorState) -> Vec<Record> {
    let mut written = Vec::new();
    loop {
        core.decide(Time::ZERO).expect("a plan");
        let outputs = core.take_outputs();
        if outputs.is_empty() {
            return written;
        }
        for output in outputs {
            if let Output::Journal(lsn, record) = output {
                written.push(record);
                core.durable(lsn, Time::ZERO);
            }
        }
    }
}

#[test]
fn a_journal_and_its_compaction_keep_attempts_and_what_was_cancelled() {
    let begun = |records: Vec<Record>| {
        let fabric = Fabric::big_switch(4, 1e6).expect("a fabric");
        let policy = covey_sched::build("fifo").expect("a policy").policy;
        CoordinatorState::new(fabric, policy, Config::default(), 1, records, Time::ZERO)
    };
    let mut core = begun(Vec::new());
    let of = |src, dst| Flow::new(src, dst, Some(1e9));
    let small = Flow { ratio: Some(0.25), ..of(0, 1) };
    let flows = vec![small, of(2, 3), copy(0, 0, 1), copy(1, 0, 3), of(0, 2), copy(4, 1, 2)];
    let spec = CoflowSpec { open: true, ..CoflowSpec::of(flows) };
    core.request(0, Request::Register { spec, key: None }, Time::ZERO);
    let mut records = written(&mut core);
    let hello = |port| Hello { version: VERSION, port, holds: (0, 0), token: Vec::new() };
    core.heard(2, FromAgent::Hello(hello(2)), Time::ZERO);
    let ended = Ended { key: B.into(), bytes: 1e9, wire: 1e9 };
    core.heard(2, FromAgent::Ended(vec![ended]), Time::ZERO);
    let update = Update { cancel: vec![0], ..Update::default() };
    core.request(1, Request::Update { id: 0, update, revision: None }, Time::ZERO);
    records.extend(written(&mut core));
    let facts = |core: &CoordinatorState| {
        let flows = &core.coflows.get(0).expect("it is open").flows;
        let ended: Vec<u32> = flows
            .iter()
            .filter(|(_, it)| it.stage == super::super::flows::Stage::Ended)
            .map(|(k, _)| k)
            .collect();
        let ratios: Vec<Option<f64>> = flows.iter().map(|(_, it)| it.ratio).collect();
        (ended, flows.cancelled().clone(), flows.attempts.clone(), flows.attained(), ratios)
    };
    let expected = facts(&core);
    // A further attempt carries the same bytes.
    assert_eq!(expected.4, [Some(0.25), None, Some(0.25), None, None, None]);
    assert_eq!((expected.0.as_slice(), expected.1.len()), (&[0, 1, 3][..], 2));
    let (compacted, _) = core.snapshot();
    for records in [records, compacted] {
        let mut after = begun(records);
        assert_eq!(facts(&after), expected);
        // An agent that joins is told what it may have missed.
        after.heard(0, FromAgent::Hello(hello(0)), Time::ZERO);
        let (_, messages) = settle(&mut after, 0.0);
        assert_eq!(acknowledged(&messages), [A, FlowKey { coflow: 0, flow: 3 }]);
        // An agent whose application opens such a flow later is told, too.
        let sent = Sent { key: A.into(), bytes: 5.0, wire: 5.0 };
        after.heard(0, FromAgent::Sent(vec![sent]), Time::ZERO);
        assert_eq!(acknowledged(&settle(&mut after, 0.0).1), [A]);
        assert_eq!(status(&mut after, 0, 0.0).bytes_sent, 1e9);
        let update = Update { cancel: vec![2, 4, 5], open: Some(false), ..Update::default() };
        assert!(matches!(
            answer(&mut after, Request::Get { id: 0 }, 0.0),
            Ok(Reply::Coflow(status)) if status.flows_ended == 3
        ));
        change(&mut after, update, 1.0);
        assert_eq!(status(&mut after, 0, 1.0).state, CoflowState::Ended);
    }
}
