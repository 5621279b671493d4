//! Coflows that nobody keeps, and coflows that have gone.

use covey_api::{CoflowSpec, Flow as FlowSpec};
use covey_core::{Fabric, Time};
use covey_proto::FromAgent;

use super::super::{Config, CoordinatorState, Event, Output, Unused};
use super::helpers::*;
use crate::record::Record;
use crate::request::{Reply, Request};

/// A coordinator that has read these records, and begins at `start_s`.
fn begun(config: Config, records: Vec<Record>, start_s: f64) -> CoordinatorState {
    let fabric = Fabric::big_switch(PORTS, 1e6).expect("a fabric");
    let policy = covey_sched::build("covey").expect("a policy").policy;
    CoordinatorState::new(fabric, policy, config, 2, records, Time::from_secs(start_s))
}

fn leased(id: u64, lease_s: Option<f64>) -> Record {
    let flow = FlowSpec::new(0, 1, Some(1e9));
    Record::registered(id, 0.0, CoflowSpec { lease_s, ..CoflowSpec::of(vec![flow]) })
}

fn kept_s(core: &mut CoordinatorState, id: u64, now_s: f64) -> f64 {
    status(core, id, now_s).kept_s.expect("it is present")
}

#[test]
fn a_coflow_that_nobody_keeps_loses_its_share_and_much_later_its_name() {
    let mut core = core("covey", &[&[(0, 1)], &[(0, 1)]]);
    core.config.forget_after_s = 1000.0;
    let keep = |core: &mut CoordinatorState, lease_s, now_s| {
        let answer = answer(core, Request::Keep { id: 1, lease_s }, now_s);
        match answer {
            Ok(Reply::Coflow(status)) => status.kept_s,
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(keep(&mut core, Some(200.0), 50.0), Some(200.0));
    let (events, _) = settle(&mut core, 101.0);
    assert_eq!(events, [Event::Expired { id: 0 }, Event::Idle { id: 0, why: Unused::Expired }]);
    assert_eq!(status(&mut core, 0, 101.0).rate, 0.0);
    assert_eq!(core.population().expired, 1);
    // An agent that knows an application with its flows keeps it, as does somebody who asks for it.
    core.heard(0, FromAgent::Keeps(vec![0]), Time::from_secs(150.0));
    let (events, _) = settle(&mut core, 150.0);
    assert_eq!(events, [Event::Resumed { id: 0 }]);
    assert_eq!(core.population().expired, 0);
    settle(&mut core, 260.0);
    assert_eq!(core.population().expired, 2);
    assert_eq!(keep(&mut core, None, 270.0), Some(200.0));
    let (events, _) = settle(&mut core, 1262.0);
    assert!(events.contains(&Event::Removed { id: 0 }), "{events:?}");
    assert_eq!(core.population().coflows, 1);
    let refused = answer(&mut core, Request::Keep { id: 1, lease_s: Some(0.5) }, 1262.0);
    assert_eq!(refused.expect_err("too short").status, 422);
    assert_eq!(
        answer(&mut core, Request::Keep { id: 5, lease_s: None }, 1262.0)
            .expect_err("unknown")
            .status,
        404
    );
}

#[test]
fn a_start_renews_all_leases() {
    let flow = FlowSpec::new(0, 1, None);
    let record = Record::registered(0, 5.0, CoflowSpec::of(vec![flow]));
    let fabric = Fabric::big_switch(2, 1e6).expect("a fabric");
    let policy = covey_sched::build("covey").expect("a policy").policy;
    let config = Config { lease_s: 100.0, ..Config::default() };
    let start = Time::from_secs(1e6);
    let mut core = CoordinatorState::new(fabric, policy, config, 2, [record], start);
    settle(&mut core, 1e6 + 90.0);
    assert_eq!(core.population().expired, 0);
    settle(&mut core, 1e6 + 101.0);
    assert_eq!(core.population().expired, 1);
}

#[test]
fn a_registration_says_for_how_long_it_holds_and_a_start_leaves_what_was_left() {
    let config = Config { lease_s: 100.0, lost_after_s: f64::INFINITY, ..Config::default() };
    let mut core = begun(config, vec![leased(0, Some(40.0)), leased(1, None)], 0.0);
    let mut records = vec![leased(0, Some(40.0)), leased(1, None)];
    let mut until = |core: &mut CoordinatorState, now_s: f64| {
        let now = Time::from_secs(now_s);
        core.decide(now).expect("a plan");
        for output in core.take_outputs() {
            if let Output::Journal(lsn, record) = output {
                records.push(record);
                core.durable(lsn, now);
            }
        }
        records.clone()
    };
    until(&mut core, 10.0);
    assert_eq!((kept_s(&mut core, 0, 10.0), kept_s(&mut core, 1, 10.0)), (30.0, 90.0));
    // Half of its time is over for the first only: a start renews the other's.
    let found = until(&mut core, 30.0);
    let mut after = begun(config, found, 30.0);
    assert_eq!((kept_s(&mut after, 0, 30.0), kept_s(&mut after, 1, 30.0)), (10.0, 100.0));
    // The journal holds both renewals, with the lease that each names.
    core.keep(0, None);
    core.keep(1, Some(200.0));
    let found = until(&mut core, 31.5);
    let mut after = begun(config, found, 31.5);
    assert_eq!((kept_s(&mut after, 0, 31.5), kept_s(&mut after, 1, 31.5)), (40.0, 200.0));
    // An expired coflow stays expired, also in a rewritten journal.
    let found = until(&mut core, 50.5);
    let more = until(&mut core, 75.0);
    assert_eq!(more.len(), found.len(), "nothing is written of what has expired");
    let (known, _) = core.snapshot();
    for records in [more, known] {
        let mut after = begun(config, records, 75.0);
        assert_eq!(after.population().expired, 1);
        assert_eq!(kept_s(&mut after, 1, 75.0), 200.0);
        settle(&mut after, 75.0);
        assert_eq!(after.population().expired, 1);
    }
}

#[test]
fn of_coflows_that_nobody_keeps_so_many_stay_and_those_left_first_go() {
    let config = Config { lease_s: 10.0, max_expired: 3, ..Config::default() };
    let config = Config { lost_after_s: f64::INFINITY, ..config };
    let mut core = begun(config, Vec::new(), 0.0);
    for id in 0..10 {
        let flow = FlowSpec::new(0, 1, Some(1e9));
        let spec = CoflowSpec::of(vec![flow]);
        let now_s = id as f64;
        core.request(id, Request::Register { spec, key: None }, Time::from_secs(now_s));
        settle(&mut core, now_s);
    }
    core.request(99, Request::Keep { id: 2, lease_s: Some(500.0) }, Time::from_secs(9.5));
    for second in 10..40 {
        settle(&mut core, f64::from(second));
        assert!(core.population().expired <= 4, "at {second} s");
    }
    let left: Vec<u64> = core.coflows.range(0).map(|(id, _)| id).collect();
    assert_eq!(left, [2, 7, 8, 9]);
    assert_eq!(core.population().expired, 3);
    // One that is kept again is none of them.
    core.request(100, Request::Keep { id: 7, lease_s: None }, Time::from_secs(40.0));
    settle(&mut core, 40.0);
    assert_eq!((core.population().expired, core.coflows.leases.expired()), (2, 2));
}

#[test]
fn what_has_gone_is_remembered_in_the_order_of_its_end_and_not_for_ever() {
    let config = Config { max_gone: 2, forget_after_s: 50.0, ..Config::default() };
    let config = Config { lost_after_s: f64::INFINITY, ..config };
    let mut core = begun(config, (0..4).map(|id| leased(id, None)).collect(), 0.0);
    for (now_s, id) in [(1.0, 3), (2.0, 1), (3.0, 0)] {
        core.request(id, Request::Remove { id }, Time::from_secs(now_s));
        settle(&mut core, now_s);
    }
    // The first to go, not the least number.
    assert_eq!(core.coflows.gone.serials(), [0, 1]);
    let (known, _) = core.snapshot();
    let after = begun(config, known, 3.0);
    let order: Vec<u64> = after.coflows.gone.in_order().map(|summary| summary.id).collect();
    assert_eq!(order, [1, 0]);
    settle(&mut core, 52.5);
    assert_eq!(core.coflows.gone.serials(), [0]);
    settle(&mut core, 54.5);
    assert_eq!(core.coflows.gone.len(), 0);
}
