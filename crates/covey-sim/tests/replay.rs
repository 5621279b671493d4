//! A policy cannot tell its drivers apart. The test records the events of a simulation, and a
//! driver of another kind passes them to a new policy; the plans are the same. This driver does not
//! use the simulator. It keeps its own state from the record, and may get reports late.

use crate::common::record::{Call, Change, What, record};
use crate::common::{Kind, as_trace, policies, policy};
use covey_core::state::{FlowSpec, State};
use covey_core::{AnyPolicy, Event, Fabric, Knowledge, Plan, Policy, PortId, Time, View, Wake};
use covey_trace::Workload;
use proptest::prelude::*;

// Replay.

/// The times of reports of bytes sent.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Reports {
    /// As in the simulation.
    AtOnce,
    /// This many calls later.
    Late(usize),
}

/// Replays the record to `policy`. Returns the first difference between its plans and the recorded
/// ones, if any.
fn replay<K: Knowledge>(
    calls: &[Call],
    workload: &Workload,
    fabric: &Fabric,
    policy: &mut dyn Policy<K>,
    reports: Reports,
) -> Result<(), String> {
    let mut state = State::new(fabric.clone());
    let mut plan = Plan::default();
    let mut result = Ok(());
    for (number, call) in calls.iter().enumerate() {
        for change in &call.changes {
            apply(change, &mut state, workload);
        }
        let delay = if let Reports::Late(calls) = reports { calls } else { 0 };
        if let Some(report) = number.checked_sub(delay).map(|earlier| &calls[earlier]) {
            for &(id, bytes) in &report.attained {
                // The report may be for an ended coflow that had the same id.
                if state.is_present(id) && state.coflow(id).registration.arrival <= report.now {
                    state.report(id, bytes, report.now);
                }
            }
        }
        for (id, left) in &call.left {
            let (demand, progress) = state.progress_mut(*id);
            if !left.links.is_empty() {
                left.flows.iter().for_each(|(flow, left)| {
                    progress.left[demand.position(flow.index)] = *left;
                });
                progress.link_left.clone_from(&left.links);
            }
        }
        if let What::Dirty(dirty) = &call.what {
            state.clear_dirty();
            dirty.iter().for_each(|&id| state.mark_dirty(id));
        }
        let view = View::new(&state, call.now);
        match &call.what {
            What::Dirty(_) => {}
            What::Told(event) => {
                if let Some(wake) = wake_of(*event, &plan, call.now) {
                    plan.wakes_mut().take(wake);
                }
                policy.event(*event, &view);
                if let Event::CoflowEnded(id) = *event {
                    state.release(id);
                }
            }
            What::Planned(ranking, wakes) => {
                policy.plan(&view, &mut plan);
                if result.is_ok() && (plan.ranking() != &**ranking || plan.wakes().all() != *wakes)
                {
                    result = Err(format!(
                        "at {}\nfound    {:?} {:?}\nexpected {ranking:?} {wakes:?}",
                        call.now,
                        plan.ranking(),
                        plan.wakes().all()
                    ));
                }
            }
        }
    }
    result
}

/// The wake-up that an event answers, if it answers one.
fn wake_of<K: Knowledge>(event: Event, plan: &Plan<K>, now: Time) -> Option<Wake> {
    match event {
        Event::BytesReached(id, bytes) => Some(Wake::WhenSent(id, bytes)),
        Event::DagBytesReached(external, bytes) => Some(Wake::WhenDagSent(external, bytes)),
        Event::FlowBytesReached(id, bytes) => Some(Wake::WhenFlowSent(id, bytes)),
        Event::Woke => plan.wakes().times().find(|time| time.due(now)).map(Wake::At),
        _ => None,
    }
}

fn apply(change: &Change, state: &mut State, workload: &Workload) {
    match *change {
        Change::Registered(expected, registration) => {
            let coflow = &workload.coflows[registration.seq as usize];
            let flows = coflow.flows.iter().map(|flow| FlowSpec {
                src: PortId(flow.src),
                dst: PortId(flow.dst),
                bytes: flow.bytes,
            });
            assert_eq!(state.register(registration, flows), expected);
        }
        Change::Started(flow) => state.start(flow),
        Change::Ended(flow) => {
            let position = state.coflow(flow.coflow).demand().position(flow.index);
            state.finish(flow.coflow, position, |_| {});
        }
        Change::Retired(id) => state.retire(id),
    }
}

/// Replays into a fresh policy; see [`replay`].
fn replay_into(
    spec: &str,
    calls: &[Call],
    workload: &Workload,
    fabric: &Fabric,
    reports: Reports,
) -> Result<(), String> {
    match policy(spec) {
        AnyPolicy::Clairvoyant(mut policy) => {
            replay(calls, workload, fabric, &mut *policy, reports)
        }
        AnyPolicy::NonClairvoyant(mut policy) => {
            replay(calls, workload, fabric, &mut *policy, reports)
        }
        AnyPolicy::Unlabelled(_) => unreachable!("{spec} looks at flows"),
    }
}

fn wants_attained(spec: &str) -> bool {
    policy(spec).wants().attained
}

proptest! {
    #![proptest_config(crate::common::cases(100))]

    #[test]
    fn policies_make_the_same_plans_under_another_driver(
        workload in crate::common::workload(Kind::Ties), fabric in crate::common::fabric(),
    ) {
        for spec in policies().filter(|spec| !crate::common::looks_at_flows(spec)) {
            let calls = record(&workload, &fabric, spec);
            let same = replay_into(spec, &calls, &workload, &fabric, Reports::AtOnce);
            if let Err(difference) = same {
                panic!("{spec} {difference}\n{}", as_trace(&workload));
            }
        }
    }

    #[test]
    fn late_reports_change_plans_only_of_policies_that_ask_for_reports(
        workload in crate::common::workload(Kind::Ties),
        fabric in crate::common::fabric(),
        calls_late in 1..6_usize,
    ) {
        for spec in policies().filter(|spec| !crate::common::looks_at_flows(spec)) {
            let calls = record(&workload, &fabric, spec);
            // Policies that do ask for reports may make other plans, but still run to the end.
            let late = replay_into(spec, &calls, &workload, &fabric, Reports::Late(calls_late));
            if let (Err(difference), false) = (late, wants_attained(spec)) {
                panic!("{spec} {difference}\n{}", as_trace(&workload));
            }
        }
    }
}

#[test]
fn a_late_report_matters_to_a_policy_that_asks_for_it() {
    // The policy orders by bytes left: without the report X seems to have more left than it has.
    let spec = "covey:prior=1B";
    let many = |bytes| vec![crate::common::flow(0, 0, bytes); 8];
    let coflows = vec![
        covey_trace::Coflow::new("X".to_owned(), 0.0, many(4.0)),
        covey_trace::Coflow::new("Y".to_owned(), 24.0, many(1.0)),
    ];
    let (workload, fabric) = (Workload::new(1, coflows), Fabric::big_switch(1, 1.0).unwrap());
    let calls = record(&workload, &fabric, spec);
    let replay = |reports| replay_into(spec, &calls, &workload, &fabric, reports);
    assert_eq!(replay(Reports::AtOnce), Ok(()));
    assert!(replay(Reports::Late(5)).is_err());
}
