//! Simulated and live drivers lead a policy to the same plans. The test passes the events of a
//! simulation to the live driver, which decides by itself which events the policy receives, and in
//! what order.

use crate::common::record::{Call, Change, Left, What, record};
use crate::common::{COMPRESSED, Kind, as_trace, policies, policy};
use covey_coordinator::Driver;
use covey_core::state::{FlowSpec, Registration};
use covey_core::{CoflowId, Event, Fabric, FlowId, PortId, Wake};
use covey_facebook_test::facebook_test;
use covey_trace::Workload;
use proptest::prelude::*;

/// Passes the recorded events to the live driver. Returns the first difference between the plans,
/// if any.
fn drive(calls: &[Call], workload: &Workload, fabric: &Fabric, spec: &str) -> Result<(), String> {
    let mut driver = Driver::new(fabric.clone(), policy(spec));
    // The simulator makes one call for each event of a round, which has one plan.
    for round in calls.split_inclusive(|call| matches!(call.what, What::Planned(..))) {
        let mut arriving = None;
        for (k, call) in round.iter().enumerate() {
            finish(&mut driver, &round[k..], workload);
            tell_progress(&mut driver, call);
            for change in &call.changes {
                match *change {
                    Change::Registered(id, registration) => {
                        arriving = Some((id, registration, Vec::new()));
                    }
                    Change::Started(flow) => match &mut arriving {
                        Some((id, _, starts)) if *id == flow.coflow => starts.push(flow.index),
                        _ => {}
                    },
                    Change::Ended(_) | Change::Retired(_) => {}
                }
            }
            let now = call.now;
            match call.what {
                What::Told(Event::CoflowArrived(_)) => {
                    if let Some((id, registration, starts)) = arriving.take() {
                        let id_here = arrive(&mut driver, workload, registration, &starts, call);
                        assert_eq!(id, id_here);
                    }
                }
                What::Told(Event::FlowsStarted(_)) => {
                    for change in &call.changes {
                        if let Change::Started(flow) = *change {
                            driver.start(flow, now);
                        }
                    }
                }
                What::Told(Event::FlowEnded(_))
                | What::Told(Event::PortDrained(..))
                | What::Told(Event::CoflowEnded(_)) => {
                    driver.tell_ends(|_| false, now);
                }
                What::Told(Event::BytesReached(id, bytes)) => {
                    driver.reached(Wake::WhenSent(id, bytes), now)
                }
                What::Told(Event::DagBytesReached(dag, bytes)) => {
                    driver.reached(Wake::WhenDagSent(dag, bytes), now);
                }
                What::Told(Event::FlowBytesReached(id, bytes)) => {
                    driver.reached(Wake::WhenFlowSent(id, bytes), now);
                }
                What::Told(Event::LinkBytesReached(id, link, bytes)) => {
                    driver.limit_reached(id, link, bytes, now);
                }
                What::Told(Event::Woke) => driver.wake(now),
                What::Told(Event::FlowRestarted(flow)) => driver.restart(flow, now),
                What::Told(Event::FlowMoved { .. } | Event::FlowsArrived) => {
                    unreachable!("no policy of this test sees that")
                }
                // The driver finds this event by itself.
                What::Dirty(_) => {}
                What::Planned(ref ranking, ref wakes) => {
                    driver.decide(now).map_err(|error| error.to_string())?;
                    if driver.ranking() != &**ranking || driver.wakes().all() != *wakes {
                        return Err(format!(
                            "at {now}\nfound    {:?} {:?}\nexpected {ranking:?} {wakes:?}",
                            driver.ranking(),
                            driver.wakes().all()
                        ));
                    }
                }
            }
        }
    }
    Ok(())
}

fn arrive(
    driver: &mut Driver,
    workload: &Workload,
    registration: Registration,
    starts: &[u32],
    call: &Call,
) -> CoflowId {
    let unsized_ = !driver.needs_sizes();
    let flows = workload.coflows[registration.seq as usize].flows.iter().map(|flow| FlowSpec {
        src: PortId(flow.src),
        dst: PortId(flow.dst),
        // A client that registers a coflow knows no sizes, except of flows without bytes.
        bytes: if unsized_ && flow.bytes > 0.0 { f64::NAN } else { flow.bytes },
    });
    driver.arrive(registration, flows, |index| starts.contains(&index), call.now)
}

/// Finishes the flows that have ended by the first of `calls`, in the order of the recorded ends of
/// flows, or else of coflows.
fn finish(driver: &mut Driver, calls: &[Call], workload: &Workload) {
    let reported = calls.iter().filter_map(|call| match call.what {
        What::Told(Event::FlowEnded(flow)) => Some(flow),
        _ => None,
    });
    let ended: Vec<FlowId> = calls[0]
        .changes
        .iter()
        .filter_map(|change| if let Change::Ended(flow) = change { Some(*flow) } else { None })
        .collect();
    let left = |id| {
        calls
            .iter()
            .position(|call| matches!(call.what, What::Told(Event::CoflowEnded(c)) if c == id))
    };
    let mut by_coflow = ended.clone();
    by_coflow.sort_by_key(|flow| left(flow.coflow).unwrap_or(calls.len()));
    let order: Vec<FlowId> = reported.chain(by_coflow).collect();
    for flow in order.into_iter().filter(|flow| ended.contains(flow)) {
        // Flows without bytes have ended by themselves.
        if driver.state().is_present(flow.coflow) {
            let coflow = driver.state().coflow(flow.coflow);
            let trace_index = coflow.registration.seq as usize;
            if coflow.demand().is_active(coflow.demand().position(flow.index)) {
                let bytes = workload.coflows[trace_index].flows[flow.index as usize].bytes;
                driver.finish(flow, bytes, bytes);
            }
        }
    }
}

/// Updates the bytes that agents would report.
fn tell_progress(driver: &mut Driver, call: &Call) {
    for &(id, bytes) in &call.attained {
        if driver.needs_progress() && driver.state().is_present(id) {
            driver.report(id, bytes, call.now);
        }
    }
    for (id, Left { flows, links }) in &call.left {
        if !links.is_empty() && driver.state().is_present(*id) {
            let (demand, progress) = driver.progress_mut(*id);
            for (flow, left) in flows {
                progress.left[demand.position(flow.index)] = *left;
            }
            progress.link_left.clone_from(links);
        }
    }
}

proptest! {
    #![proptest_config(crate::common::cases(250))]

    #[test]
    fn the_same_events_give_the_same_plans_in_simulation_and_live(
        workload in crate::common::workload(Kind::Ties), fabric in crate::common::fabric(),
    ) {
        // The live driver compresses nothing before it is sent, so `fvdf` behaves differently
        // there.
        let compressed = COMPRESSED.into_iter().filter(|spec| !spec.starts_with("fvdf"));
        let all = policies().chain(compressed).chain(["fvdf:codec=1bps:0.5,bandwidth=capacity"]);
        for spec in all.filter(|spec| !crate::common::looks_at_flows(spec)) {
            let calls = record(&workload, &fabric, spec);
            if let Err(difference) = drive(&calls, &workload, &fabric, spec) {
                panic!("{spec} {difference}\n{}", as_trace(&workload));
            }
        }
    }
}

#[facebook_test]
fn the_beginning_of_the_facebook_trace_gives_the_same_plans_live() {
    let workload = crate::common::facebook(10);
    let fabric = Fabric::big_switch(workload.ports, 125e6).unwrap();
    for spec in ["philae", "aalo", "sebf", "covey"] {
        let calls = record(&workload, &fabric, spec);
        assert!(calls.len() > workload.coflows.len());
        if let Err(difference) = drive(&calls, &workload, &fabric, spec) {
            panic!("{spec} {difference}");
        }
    }
}
