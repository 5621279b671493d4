//! Weights of coflows (Sincronia, SIGCOMM 2018, 3.1) affect the order of BSSI.

use crate::common::{ccts, flow, run};
use covey_core::Fabric;
use covey_trace::{Coflow, Flow, Workload};

/// CCTs under `sincronia` of coflows that arrive together on three ports of rate 1.
fn sincronia(coflows: &[(f64, &[Flow])]) -> Vec<f64> {
    let coflows = coflows.iter().zip('A'..).map(|(&(weight, flows), id)| Coflow {
        weight,
        ..Coflow::new(id.to_string(), 0.0, flows.to_vec())
    });
    let workload = Workload::new(3, coflows.collect());
    ccts(&run(&workload, &Fabric::big_switch(3, 1.0).unwrap(), "sincronia"))
}

/// On one link the order is that of Smith (1956): smallest size over weight first.
#[test]
fn on_one_link_size_over_weight_decides() {
    let (small, large) = ([flow(0, 0, 3.0)], [flow(0, 0, 4.0)]);
    assert_eq!(sincronia(&[(1.0, &small), (1.0, &large)]), [3.0, 7.0]);
    assert_eq!(sincronia(&[(1.0, &small), (2.0, &large)]), [7.0, 4.0]);
}

/// KA6, where A comes third if all weigh the same.
#[test]
fn a_heavy_coflow_goes_before_those_that_it_delays() {
    let spread: Vec<Flow> = (0..3).map(|port| flow(port, port, 2.0)).collect();
    let single: Vec<[Flow; 1]> = (0..3).map(|port| [flow(port, port, 3.0)]).collect();
    let with = |weight| {
        sincronia(&[(weight, &spread), (1.0, &single[0]), (1.0, &single[1]), (1.0, &single[2])])
    };
    assert_eq!(with(1.0), [5.0, 5.0, 3.0, 3.0]);
    assert_eq!(with(10.0), [2.0, 5.0, 5.0, 5.0]);
}
