//! Changes of wide coflows, in pieces.

use covey_api::{CoflowSpec, CoflowState, Flow as FlowSpec, Update};
use covey_core::{Fabric, Time};
use covey_proto::{Ended, FlowKey, FromAgent};

use super::super::{Config, CoordinatorState, Output};
use super::helpers::{PORTS, answer, core, settle, status};
use crate::record::{Key, Record};
use crate::request::{Answer, Reply, Request};

const WIDE: u32 = 10;
const PIECE: usize = 3;

/// A coordinator with a coflow of ten flows, and one of one flow.
fn wide(policy: &str) -> CoordinatorState {
    let ends: Vec<(u32, u32)> = (0..WIDE).map(|k| (k % PORTS, (k + 1) % PORTS)).collect();
    let mut core = core(policy, &[&ends, &[(0, 1)]]);
    core.set_config(Config { piece: PIECE, ..core.config() });
    core
}

/// Asks for something that is to be written, and has the disk take it.
fn change(core: &mut CoordinatorState, id: u64, request: Request) {
    core.request(id, request, Time::ZERO);
    write(core);
}

/// Has the disk take what is to be written. Returns the answers.
fn write(core: &mut CoordinatorState) -> Vec<(u64, Answer)> {
    let mut answers = Vec::new();
    for output in core.take_outputs() {
        match output {
            Output::Journal(lsn, _) => core.durable(lsn, Time::ZERO),
            Output::Answer(id, answer) => answers.push((id, answer)),
            _ => {}
        }
    }
    answers
}

fn ended(core: &CoordinatorState, id: u64) -> usize {
    core.coflows.get(id).map_or(0, |coflow| coflow.flows.ended())
}

fn turn(core: &mut CoordinatorState) -> Vec<(u64, Answer)> {
    core.decide(Time::ZERO).expect("a plan");
    write(core)
}

/// One that starts with what another one would write into a compacted journal.
fn started(of: &CoordinatorState, policy: &str) -> CoordinatorState {
    let (known, under_way) = of.snapshot();
    let under_way = under_way.into_iter().map(|(_, record)| record);
    let records: Vec<Record> = known.into_iter().chain(under_way).collect();
    let fabric = Fabric::big_switch(PORTS, 1e6).expect("a fabric");
    let policy = covey_sched::build(policy).expect("a policy").policy;
    CoordinatorState::new(fabric, policy, of.config(), 2, records, Time::ZERO)
}

#[test]
fn a_wide_coflow_is_removed_in_pieces_and_others_are_served_between() {
    for policy in ["fair", "fifo", "covey", "sebf", "pfp"] {
        let mut core = wide(policy);
        change(&mut core, 7, Request::Remove { id: 0 });
        assert_eq!((ended(&core, 0), core.pending()), (0, 1), "nothing before the first turn");
        for turns in 1..=3 {
            assert!(turn(&mut core).is_empty(), "no answer before the last piece");
            assert_eq!(ended(&core, 0), turns * PIECE);
            // Others register, change and read.
            let spec = CoflowSpec::of(vec![FlowSpec::new(1, 2, Some(1e9))]);
            core.request(20, Request::Register { spec, key: None }, Time::ZERO);
            let outputs = write(&mut core);
            assert!(outputs.is_empty());
            let answers = write(&mut core);
            assert!(matches!(&answers[..], [(20, Ok(Reply::Registered(_)))]), "{answers:?}");
            assert_eq!(status(&mut core, 1, 0.0).state, CoflowState::Active);
            // A start would finish what this one has begun.
            let mut next = started(&core, policy);
            assert_eq!(status(&mut next, 0, 0.0).state, CoflowState::Removed);
            assert_eq!(next.coflows.len(), core.coflows.len() - 1);
        }
        let answers = turn(&mut core);
        assert!(matches!(&answers[..], [(7, Ok(Reply::Removed))]), "{answers:?}");
        assert_eq!((core.pending(), core.has_unfinished()), (0, false));
        assert_eq!(status(&mut core, 0, 0.0).state, CoflowState::Removed);
        settle(&mut core, 0.0);
        assert_eq!(core.coflows.len(), 4);
    }
}

#[test]
fn nobody_sees_a_part_of_a_change() {
    let mut core = wide("fair");
    let cancel: Vec<u32> = (0..8).collect();
    let add = vec![FlowSpec::new(0, 1, Some(1e9))];
    let update = Update { cancel, add, ..Update::default() };
    change(&mut core, 7, Request::Update { id: 0, update, revision: Some(0) });
    assert!(turn(&mut core).is_empty());
    assert_eq!(ended(&core, 0), PIECE);
    // A reader, another change and an end of a flow wait until all has happened.
    core.request(8, Request::Get { id: 0 }, Time::ZERO);
    let update = Update { open: Some(true), ..Update::default() };
    core.request(9, Request::Update { id: 0, update, revision: Some(0) }, Time::ZERO);
    let key = FlowKey { coflow: 0, flow: 9 };
    core.heard(
        1,
        FromAgent::Ended(vec![Ended { key: key.into(), bytes: 1e9, wire: 1e9 }]),
        Time::ZERO,
    );
    assert!(turn(&mut core).is_empty());
    assert_eq!(ended(&core, 0), 2 * PIECE);
    let mut next = started(&core, "fair");
    let seen = status(&mut next, 0, 0.0);
    assert_eq!((seen.flows, seen.flows_ended, seen.revision), (11, 8, 1));
    let answers = turn(&mut core);
    let Some((7, Ok(Reply::Coflow(changed)))) = answers.first() else { panic!("{answers:?}") };
    assert_eq!((changed.flows, changed.flows_ended, changed.revision), (11, 8, 1));
    let Some((8, Ok(Reply::Coflow(read)))) = answers.get(1) else { panic!("{answers:?}") };
    assert_eq!((read.flows, read.flows_ended, read.revision), (11, 8, 1));
    assert!(matches!(answers.get(2), Some((9, Err(problem))) if problem.status == 412));
    assert_eq!(status(&mut core, 0, 0.0).flows_ended, 9);
}

#[test]
fn whoever_registers_with_the_key_of_a_coflow_that_goes_waits_too() {
    let mut core = core("fair", &[]);
    core.set_config(Config { piece: 1, ..core.config() });
    let register = || {
        let flows = vec![FlowSpec::new(0, 1, Some(1e9)), FlowSpec::new(1, 2, Some(1e9))];
        let key = Key { key: "a".to_owned(), digest: 0.into() };
        Request::Register { spec: CoflowSpec::of(flows), key: Some(key) }
    };
    change(&mut core, 1, register());
    change(&mut core, 2, Request::Remove { id: 0 });
    turn(&mut core);
    core.request(3, register(), Time::ZERO);
    assert!(core.take_outputs().is_empty());
    let answers = turn(&mut core);
    let [(2, Ok(Reply::Removed)), (3, Ok(Reply::Registered(status)))] = &answers[..] else {
        panic!("{answers:?}")
    };
    assert_eq!((status.id, status.state), (0, CoflowState::Removed));
    let again = answer(&mut core, Request::Remove { id: 0 }, 0.0);
    assert!(matches!(again, Ok(Reply::Removed)));
}
