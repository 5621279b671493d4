//! Coflows that wait for their parents.

use covey_api::{CoflowSpec, Flow};
use covey_core::Time;
use covey_proto::{Ended, FlowKey, FromAgent};

use super::super::{Config, CoordinatorState};
use super::helpers::{answer, core, settle, waiting};
use crate::request::Request;

fn child(core: &mut CoordinatorState, parents: Vec<u64>, barrier: bool, request: u64) {
    let flows = vec![Flow::new(2, 3, Some(1e9))];
    let spec = CoflowSpec { parents, barrier, ..CoflowSpec::of(flows) };
    core.request(request, Request::Register { spec, key: None }, Time::ZERO);
    settle(core, 0.0);
}

fn rate(core: &CoordinatorState, coflow: u64) -> f64 {
    let served = core.coflows.get(coflow).map(|coflow| coflow.served.clone());
    served.into_iter().flat_map(|served| served.into_values()).map(|served| served.rate).sum()
}

fn why(core: &CoordinatorState) -> Vec<String> {
    waiting(core, 0, 10).0.iter().map(|it| it.why.to_string()).collect()
}

#[test]
fn flows_wait_for_the_parents_only_where_that_is_asked_for() {
    for (barrier, waits) in [(false, 0), (true, 1)] {
        let mut core = core("aalo:delta=0", &[&[(0, 1)], &[(1, 0)]]);
        child(&mut core, vec![0, 1], barrier, 7);
        assert_eq!(rate(&core, 2) == 0.0, barrier);
        assert_eq!(why(&core), vec!["parents"; waits]);
        core.request(8, Request::Remove { id: 0 }, Time::ZERO);
        settle(&mut core, 0.0);
        assert_eq!(rate(&core, 2) == 0.0, barrier, "one parent is left");
        let ended = Ended { key: FlowKey { coflow: 1, flow: 0 }.into(), bytes: 1e9, wire: 1e9 };
        core.heard(1, FromAgent::Ended(vec![ended]), Time::ZERO);
        settle(&mut core, 0.0);
        assert_eq!(rate(&core, 2), 1e6);
        // Parents that have ended are waited for no more.
        child(&mut core, vec![0], barrier, 9);
        assert_eq!(core.coflows.get(3).expect("present").waits_for.len(), 0);
    }
}

#[test]
fn a_barrier_without_parents_is_refused_and_one_is_found_in_the_journal_again() {
    let mut core = core("fifo", &[&[(0, 1)]]);
    let flows = vec![Flow::new(2, 3, Some(1e9))];
    let spec = CoflowSpec { barrier: true, ..CoflowSpec::of(flows) };
    let refused = answer(&mut core, Request::Register { spec, key: None }, 0.0);
    assert!(refused.is_err_and(|problem| problem.detail.starts_with("barrier: expected")));
    child(&mut core, vec![0], true, 7);
    let records = core.snapshot().0;
    let fabric = covey_core::Fabric::big_switch(super::helpers::PORTS, 1e6).expect("a fabric");
    let policy = covey_sched::build("fifo").expect("a policy").policy;
    let mut again =
        CoordinatorState::new(fabric, policy, Config::default(), 2, records, Time::ZERO);
    assert_eq!(again.coflows.get(1).expect("present").waits_for.len(), 1);
    again.request(1, Request::Remove { id: 0 }, Time::ZERO);
    settle(&mut again, 0.0);
    assert_eq!(again.coflows.get(1).expect("present").waits_for.len(), 0);
}
