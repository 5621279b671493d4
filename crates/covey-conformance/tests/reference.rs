//! In simulations the allocator decides the rates that the definition of each sharing rule gives.

use covey_conformance::{Kind, as_trace, fabric, rates_are_as_defined, workload};
use covey_core::{Ecmp, EcmpMode, Fabric, FatTree};
use covey_trace::Workload;
use proptest::prelude::*;

fn fat_tree() -> Fabric {
    let tree = FatTree::new(4, Ecmp { mode: EcmpMode::Flow, seed: 1 }).unwrap();
    tree.fabric(1.0, 0.5).unwrap()
}

/// The policies that do not compress.
fn policies() -> impl Iterator<Item = &'static str> {
    let all = covey_sched::policies().iter();
    let plain = all.filter(|info| info.params.iter().all(|param| param.name != "codec"));
    plain.map(|info| info.name)
}

/// Names the policy, the network and the workload of a failure.
fn check_all(workload: &Workload, fabric: &Fabric) {
    for name in policies() {
        let make = || covey_sched::build(name).unwrap().policy;
        match rates_are_as_defined(workload, fabric, &make) {
            // Its plans have matching by load.
            Ok(_) if name == "covey" => {}
            Ok(compared) => assert!(compared > 0, "{name}"),
            Err(violation) => {
                let (links, trace) = (fabric.capacity(), as_trace(workload));
                panic!("{name} on {links:?}\n{trace}{violation}");
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 50, failure_persistence: None, ..ProptestConfig::default()
    })]

    #[test]
    fn rates_are_those_of_the_reference(workload in workload(Kind::Generic), fabric in fabric()) {
        check_all(&workload, &fabric);
        check_all(&workload, &fat_tree());
    }
}
