//! The promise of `sebf:mode=deadline`: an admitted coflow ends in time, whatever the others do.

use std::ops::ControlFlow;

use crate::common::{Kind, cases, ccts, flow, policy, run};
use covey_core::Fabric;
use covey_sim::{Observer, Round, simulate};
use covey_trace::{Coflow, Workload};
use proptest::prelude::*;

const EXACT: &str = "sebf:mode=deadline,padding=0,min=0,work_conservation=none";

/// Coflows that are fast enough at their arrival to meet their deadlines.
#[derive(Default)]
struct Admitted(Vec<usize>);

impl Observer for Admitted {
    fn round(&mut self, round: &Round<'_>) -> ControlFlow<()> {
        for &id in round.state.present() {
            let coflow = round.state.coflow(id);
            let Some(deadline_s) = coflow.registration.deadline_s else { continue };
            let demand = coflow.demand();
            let in_time = |p| {
                let rate = round.allocator.rates().rate(round.state, id, p);
                coflow.left(p) / rate <= deadline_s * (1.0 + 1e-9)
            };
            if coflow.registration.arrival == round.now && demand.active().all(in_time) {
                self.0.push(coflow.registration.seq as usize);
            }
        }
        ControlFlow::Continue(())
    }
}

/// All flows start with their coflows, which do not wait for each other.
fn at_once(mut workload: Workload) -> Workload {
    for coflow in &mut workload.coflows {
        coflow.parents.clear();
        coflow.flows.iter_mut().for_each(|flow| flow.start_s = 0.0);
    }
    workload
}

proptest! {
    #![proptest_config(cases(300))]

    #[test]
    fn every_admitted_coflow_meets_its_deadline(
        workload in crate::common::workload(Kind::Generic), fabric in crate::common::fabric(),
    ) {
        let workload = at_once(workload);
        let mut admitted = Admitted::default();
        let outcome =
            simulate(&workload, &fabric, EXACT, &mut policy(EXACT), &mut admitted).unwrap();
        let ccts = ccts(&outcome);
        for trace_index in admitted.0 {
            let deadline_s = workload.coflows[trace_index].deadline_s.unwrap();
            prop_assert!(ccts[trace_index] <= deadline_s + 1e-6, "{trace_index}: {} > {deadline_s}", ccts[trace_index]);
        }
    }
}

#[test]
fn wrong_parameters_are_refused() {
    let refused = |spec: &str| covey_sched::build(spec).err().map(|e| e.to_string());
    let says = |spec, expected: &str| assert_eq!(refused(spec).as_deref(), Some(expected));
    says("sebf:mode=late", "policy sebf: mode=late: expected cct or deadline");
    says("sebf:padding=-1", "policy sebf: padding=-1: expected a number from 0 to 1000000");
    says(
        "sebf:min=soon",
        "policy sebf: min=soon: expected a duration of at most a day, like 8ms, or 0",
    );
    says(
        "sebf:work_conservation=1",
        "policy sebf: work_conservation=1: expected all or skipped or none",
    );
}

#[test]
fn a_rejected_coflow_never_delays_an_admitted_one() {
    let with_deadline = |name: &str, arrival_s, bytes, deadline_s| Coflow {
        deadline_s,
        ..Coflow::new(name.to_owned(), arrival_s, vec![flow(0, 0, bytes)])
    };
    let admitted = with_deadline("admitted", 0.0, 6.0, Some(10.0));
    // These coflows would go first under SEBF; none of them can end in time.
    let others = (0..50).map(|k| with_deadline("late", 0.1 * f64::from(k), 1.0, Some(1.5)));
    let fabric = Fabric::big_switch(1, 1.0).unwrap();
    for spec in [EXACT, "sebf:mode=deadline"] {
        let coflows = std::iter::once(admitted.clone()).chain(others.clone()).collect();
        let outcome = run(&Workload::new(1, coflows), &fabric, spec);
        assert!(ccts(&outcome)[0] <= 10.0 + 1e-9, "{spec}: {}", ccts(&outcome)[0]);
    }
    let coflows = std::iter::once(admitted).chain(others).collect();
    let outcome = run(&Workload::new(1, coflows), &fabric, "sebf");
    assert!(ccts(&outcome)[0] > 10.0, "SEBF alone delays it");
}
