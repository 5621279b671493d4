//! Ids of flows: given once, the same after each reading of a journal, and known to agents before
//! they are used.

use covey_api::{CoflowSpec, Flow, Move, Update};
use covey_core::{Fabric, Time};
use covey_proto::{Ended, FlowAnnouncement, FlowId, FlowKey, FlowName, FromAgent, Hello, ToAgent};

use super::super::{Config, CoordinatorState, Output};
use crate::record::Record;
use crate::request::Request;

const START: Time = Time::ZERO;

fn flow(src: u32, dst: u32) -> Flow {
    Flow::new(src, dst, Some(1e9))
}

fn begun(records: Vec<Record>) -> CoordinatorState {
    let fabric = Fabric::big_switch(4, 1e6).expect("a fabric");
    let policy = covey_sched::build("fifo").expect("a policy").policy;
    CoordinatorState::new(fabric, policy, Config::default(), 1, records, START)
}

/// Writes all records, and returns them.
fn settle(core: &mut CoordinatorState) -> Vec<Record> {
    let mut written = Vec::new();
    loop {
        core.decide(START).expect("a plan");
        let outputs = core.take_outputs();
        if outputs.is_empty() {
            return written;
        }
        for output in outputs {
            if let Output::Journal(lsn, record) = output {
                written.push(record);
                core.durable(lsn, START);
            }
        }
    }
}

fn ids(core: &CoordinatorState) -> Vec<(u64, u32, u64)> {
    let of = |(serial, coflow): (u64, &super::super::coflows::Coflow)| {
        let flows = coflow.flows.iter();
        flows.map(|(k, _)| (serial, k, coflow.flows.id_of(k).0)).collect::<Vec<_>>()
    };
    core.coflows.range(0).flat_map(of).collect()
}

/// Two coflows, of which the first gets a flow more, and then moves one.
fn changed() -> (CoordinatorState, Vec<Record>) {
    let mut core = begun(Vec::new());
    let two = CoflowSpec::of(vec![flow(0, 1), flow(1, 2)]);
    core.request(0, Request::Register { spec: two.clone(), key: None }, START);
    core.request(1, Request::Register { spec: two, key: None }, START);
    let mut written = settle(&mut core);
    let moved = vec![Move { flow: 1, to: flow(3, 2) }];
    let update = Update { add: vec![flow(2, 3)], moved, ..Update::default() };
    core.request(2, Request::Update { id: 0, update, revision: None }, START);
    written.extend(settle(&mut core));
    (core, written)
}

const CHANGED: [(u64, u32, u64); 6] =
    [(0, 0, 0), (0, 1, 1), (0, 2, 4), (0, 3, 5), (1, 0, 2), (1, 1, 3)];

#[test]
fn a_journal_and_its_compaction_give_flows_the_same_ids() {
    let (core, written) = changed();
    assert_eq!(ids(&core), CHANGED);
    let (compacted, _) = core.snapshot();
    for records in [written, compacted] {
        let mut after = begun(records);
        assert_eq!(ids(&after), CHANGED);
        // The next flow gets the next id.
        let spec = CoflowSpec::of(vec![flow(0, 1)]);
        after.request(0, Request::Register { spec, key: None }, START);
        settle(&mut after);
        assert_eq!(ids(&after).last(), Some(&(2, 0, 6)));
    }
}

#[test]
fn flows_of_a_journal_without_ids_get_them_in_reading_order() {
    let (_, mut written) = changed();
    for record in &mut written {
        if let Record::Registered { flow_ids, .. } | Record::Updated { flow_ids, .. } = record {
            flow_ids.clear();
        }
    }
    let (id, at_s, compressed) = (1, 0.0, Vec::new());
    written.push(Record::Ended { id, at_s, flows: vec![(1, 1e9)], compressed });
    let core = begun(written);
    assert_eq!(ids(&core), CHANGED);
    assert_eq!(core.coflows.get(1).expect("it is present").flows.ended(), 1);
}

/// What an agent of this version is sent after it has joined.
fn told(core: &mut CoordinatorState, version: u16) -> Vec<ToAgent> {
    let hello = Hello { version, port: 0, holds: (0, 0), token: Vec::new() };
    core.heard(u64::from(version), FromAgent::Hello(hello), START);
    settle(core);
    let mut messages = Vec::new();
    core.take_messages(u64::from(version), &mut messages);
    messages
}

#[test]
fn an_agent_hears_of_an_id_before_its_first_use_and_one_of_version_3_of_none() {
    let mut core = begun(Vec::new());
    let spec = CoflowSpec::of(vec![flow(1, 2), flow(0, 1)]);
    core.request(0, Request::Register { spec, key: None }, START);
    settle(&mut core);
    let (id, key) = (FlowId(1), FlowKey { coflow: 0, flow: 1 });
    let named = |messages: &[ToAgent]| match messages.last() {
        Some(ToAgent::Schedule(schedule)) => schedule.set[0].key,
        other => panic!("{other:?}"),
    };
    let messages = told(&mut core, 3);
    assert_eq!((messages.len(), named(&messages)), (2, key.into()));
    let messages = told(&mut core, 4);
    let announced = ToAgent::Flows(vec![FlowAnnouncement { id, member: Some(key.into()) }]);
    assert_eq!((&messages[1], named(&messages)), (&announced, FlowName::Id(id)));
    // The agent reports the end by the id; the journal holds the id.
    let ended = Ended { key: FlowName::Id(id), bytes: 1e9, wire: 1e9 };
    core.heard(4, FromAgent::Ended(vec![ended]), START);
    let written = settle(&mut core);
    let is_end = |record: &Record| matches!(record, Record::FlowsEnded { flows, .. } if *flows == [(1, 1e9)]);
    assert!(written.iter().any(is_end), "{written:?}");
    let mut messages = Vec::new();
    core.take_messages(4, &mut messages);
    // It is acknowledged by the name that the agent gave.
    let acknowledged = ToAgent::Acknowledged(vec![FlowName::Id(id)]);
    assert!(messages.contains(&acknowledged), "{messages:?}");
}

#[test]
fn the_end_of_a_flow_is_acknowledged_after_its_coflow_has_gone() {
    let mut core = begun(Vec::new());
    let spec = CoflowSpec::of(vec![flow(0, 1)]);
    core.request(0, Request::Register { spec, key: None }, START);
    settle(&mut core);
    told(&mut core, 4);
    core.request(1, Request::Remove { id: 0 }, START);
    settle(&mut core);
    let key = FlowName::Id(FlowId(0));
    core.heard(4, FromAgent::Ended(vec![Ended { key, bytes: 1e9, wire: 1e9 }]), START);
    settle(&mut core);
    let mut messages = Vec::new();
    core.take_messages(4, &mut messages);
    assert!(messages.contains(&ToAgent::Acknowledged(vec![key])), "{messages:?}");
    assert_eq!(core.counts().unknown, 0);
}
