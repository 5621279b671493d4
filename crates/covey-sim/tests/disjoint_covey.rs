//! Traffic at other ports changes nothing for a coflow under `covey`.

use crate::common::{cases, ccts, flow, run};
use covey_core::Fabric;
use covey_trace::{Coflow, Workload};
use proptest::collection::vec;
use proptest::prelude::*;

const PORTS: u32 = 8;

/// A coflow of many flows between ports `first..first + PORTS`, so that some end long before others.
fn coflow(first: u32) -> impl Strategy<Value = Coflow> {
    let port = first..first + PORTS;
    let flows = vec((port.clone(), port, 0.01..5.0_f64), 1..40);
    (flows, 0.1..4.0_f64, 0.0..30.0_f64).prop_map(|(flows, scale, arrival_s)| {
        let flows = flows.into_iter().map(|(src, dst, bytes)| flow(src, dst, bytes * scale));
        Coflow::new(String::new(), arrival_s, flows.collect())
    })
}

/// Several of them, each with a name.
fn coflows(first: u32) -> impl Strategy<Value = Vec<Coflow>> {
    vec(coflow(first), 1..12).prop_map(move |mut coflows| {
        (0..)
            .zip(&mut coflows)
            .for_each(|(k, coflow): (u32, _)| coflow.id = format!("{first}-{k}"));
        coflows
    })
}

fn assert_alone_is_beside(mine: Vec<Coflow>, other: Vec<Coflow>) -> Result<(), TestCaseError> {
    let fabric = Fabric::big_switch(2 * PORTS, 1.0).unwrap();
    let both = mine.iter().cloned().chain(other).collect();
    let alone = Workload { ports: 2 * PORTS, coflows: mine };
    let beside = Workload { ports: 2 * PORTS, coflows: both };
    for spec in [
        "covey:prior=1,phi=0",
        "covey:prior=1,phi=0.3,T=700ms,d0=1s,d=2",
        "covey:prior=2,pilots=flows:0.3,phi=1,d0=0,d=0",
    ] {
        let found = ccts(&run(&beside, &fabric, spec));
        for (place, (alone, beside)) in
            ccts(&run(&alone, &fabric, spec)).into_iter().zip(found).enumerate()
        {
            prop_assert!(
                (alone - beside).abs() <= 1e-9 * alone,
                "{spec}: coflow {place} takes {alone} s alone, {beside} s beside other traffic"
            );
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(cases(200))]

    #[test]
    fn other_traffic_at_other_ports_changes_nothing(
        mine in coflows(0),
        other in coflows(PORTS),
    ) {
        assert_alone_is_beside(mine, other)?;
    }
}
