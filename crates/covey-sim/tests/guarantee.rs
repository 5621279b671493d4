//! The guarantee of `covey`: no coflow takes longer than
//!
//! > max(last start, d0 + d Γ) + T + W / φ
//!
//! whatever arrives after it. W is a time, for the worst of its flows: the flow's links need it for
//! all bytes of the coflow and of those that arrived no later (`covey_sched::guard`).

use crate::common::{Kind, cases, ccts, flow, run};
use covey_core::{Fabric, PortId};
use covey_trace::results::Outcome;
use covey_trace::{Coflow, Workload};
use proptest::prelude::*;

/// The parameters of the guarantee.
struct Promise {
    phi: f64,
    t: f64,
    d0: f64,
    d: f64,
}

/// The bound of every coflow, in seconds from its release.
fn bounds(workload: &Workload, fabric: &Fabric, outcome: &Outcome, promise: &Promise) -> Vec<f64> {
    let capacity = fabric.capacity();
    let links = |src: u32, dst: u32| {
        [fabric.egress(PortId(src)).index(), fabric.ingress(PortId(dst)).index()]
    };
    let seconds = |coflow: &Coflow| {
        let mut seconds = vec![0.0; capacity.len()];
        for flow in &coflow.flows {
            links(flow.src, flow.dst).iter().for_each(|&l| seconds[l] += flow.bytes / capacity[l]);
        }
        seconds
    };
    let arrival_order = |trace_index: usize| (outcome.coflows[trace_index].release_s, trace_index);
    let bound = |trace_index: usize| {
        let coflow = &workload.coflows[trace_index];
        let gamma = seconds(coflow).into_iter().fold(0.0, f64::max);
        let mut work = vec![0.0; capacity.len()];
        for earlier in (0..workload.coflows.len())
            .filter(|&other| arrival_order(other) <= arrival_order(trace_index))
        {
            let seconds = seconds(&workload.coflows[earlier]);
            work.iter_mut().zip(seconds).for_each(|(work, s)| *work += s);
        }
        let at_flow = |f: &covey_trace::Flow| links(f.src, f.dst).iter().map(|&l| work[l]).sum();
        let max_s = coflow.flows.iter().map(at_flow).fold(0.0, f64::max);
        let last_start = coflow.flows.iter().map(|f| f.start_s).fold(0.0, f64::max);
        last_start.max(promise.d0 + promise.d * gamma) + promise.t + max_s / promise.phi
    };
    (0..workload.coflows.len()).map(bound).collect()
}

/// One coflow of a second, and for 200 seconds coflows of a tenth of a second at load 1.05.
fn stream() -> (Workload, Fabric) {
    let mut coflows = vec![Coflow::new("victim".to_owned(), 0.0, vec![flow(0, 0, 125e6)])];
    coflows.extend((1..=2100).map(|k| {
        let arrival_s = f64::from(k) * 0.1 / 1.05;
        Coflow::new(k.to_string(), arrival_s, vec![flow(0, 0, 12.5e6)])
    }));
    (Workload::new(1, coflows), Fabric::big_switch(1, 125e6).unwrap())
}

const DEFAULTS: Promise = Promise { phi: 0.05, t: 2.0, d0: 30.0, d: 16.0 };

#[test]
fn a_stream_of_small_coflows_starves_a_policy_without_guard() {
    let (workload, fabric) = stream();
    let outcome = run(&workload, &fabric, "covey:phi=0");
    let bound = bounds(&workload, &fabric, &outcome, &DEFAULTS)[0];
    // A second alone, at a sender and at a receiver: 30 + 16 + 2 + 2 / 0.05.
    assert!((bound - 88.0).abs() < 1e-9, "{bound}");
    assert!(ccts(&outcome)[0] > 200.0, "{} s", ccts(&outcome)[0]);
}

/// With `d = 2`, the deadline of a coflow that sends at half its ports' capacity moves as fast as
/// time.
#[test]
fn a_nearly_due_coflow_is_not_checked_again_and_again() {
    let lines = include_str!("data/nearly_due.jsonl");
    let workload = covey_trace::read(lines.as_bytes(), "nearly_due.jsonl").expect("a workload");
    let fabric = Fabric::big_switch(6, 1.0).unwrap();
    let outcome = run(&workload, &fabric, "covey:prior=1B,phi=0.3,T=700ms,d0=1s,d=2");
    // Some 50 s have two boundaries each 700 ms, and there are 32 flows.
    assert!(outcome.events < 300, "{} moments", outcome.events);
}

#[test]
fn a_stream_of_small_coflows_does_not_break_the_bound() {
    let (workload, fabric) = stream();
    let outcome = run(&workload, &fabric, "covey");
    let bounds = bounds(&workload, &fabric, &outcome, &DEFAULTS);
    for (cct, bound) in ccts(&outcome).iter().zip(&bounds) {
        assert!(cct <= bound, "{cct} s, bound {bound} s");
    }
}

/// Workloads in which more and more coflows arrive beside the first ones.
fn crowded(kind: Kind) -> impl Strategy<Value = Workload> {
    let small = proptest::collection::vec((0..5_u32, 0..5_u32, 0.05..1.0), 0..150);
    (crate::common::workload(kind), small, 0.02..0.5).prop_map(|(mut workload, small, every_s)| {
        workload.ports = workload.ports.max(5);
        for (k, (src, dst, bytes)) in small.into_iter().enumerate() {
            let arrival_s = k as f64 * every_s;
            workload.coflows.push(Coflow::new(
                format!("s{k}"),
                arrival_s,
                vec![flow(src, dst, bytes)],
            ));
        }
        workload
    })
}

proptest! {
    #![proptest_config(cases(200))]

    #[test]
    fn no_coflow_exceeds_its_bound(
        workload in crowded(Kind::Generic),
        fabric in crate::common::fabric(),
        phi in 0.05..0.9_f64, t in 0.2..3.0_f64, d0 in 0.0..3.0_f64, d in 0.0..3.0_f64,
    ) {
        let promise = Promise { phi, t: (t * 1e3).round() / 1e3, d0: (d0 * 1e3).round() / 1e3, d };
        let spec = format!(
            "covey:prior=1B,phi={phi},T={}s,d0={}s,d={d}", promise.t, promise.d0,
        );
        let outcome = run(&workload, &fabric, &spec);
        let bounds = bounds(&workload, &fabric, &outcome, &promise);
        for (trace_index, (cct, bound)) in ccts(&outcome).iter().zip(&bounds).enumerate() {
            prop_assert!(*cct <= bound + 1e-6, "{}: {cct} s, bound {bound} s", workload.coflows[trace_index].id);
        }
    }
}
