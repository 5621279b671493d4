//! Whatever flows come, a policy's rates are in each round those that the definition of its sharing
//! rules gives, on a big switch and on a FatTree.

#![no_main]

use covey_conformance::rates_are_as_defined;
use covey_core::{Ecmp, EcmpMode, Fabric, FatTree};
use covey_trace::{Coflow, Flow, Workload};
use libfuzzer_sys::fuzz_target;

const PORTS: u8 = 6;

/// Bytes and times of different flows differ, so no order depends on rounding.
fn flow(number: usize, bytes: &[u8]) -> Flow {
    let own = number as f64 * 1e-3;
    Flow {
        src: u32::from(bytes[0] % PORTS),
        dst: u32::from(bytes[1] % PORTS),
        bytes: 0.1 + f64::from(bytes[2]) / 16.0 + own,
        start_s: f64::from(bytes[3] / 64) + own,
    }
}

fuzz_target!(|bytes: &[u8]| {
    let Some((policy, bytes)) = bytes.split_first() else { return };
    let all = covey_sched::policies().iter();
    let plain: Vec<_> = all.filter(|info| info.params.iter().all(|p| p.name != "codec")).collect();
    let name = plain[usize::from(*policy) % plain.len()].name;
    let flows = bytes.chunks_exact(4).take(40).enumerate().map(|(k, bytes)| flow(k, bytes));
    let flows: Vec<Flow> = flows.collect();
    let coflows = flows.chunks(5).enumerate().map(|(k, flows)| {
        Coflow::new(format!("c{k}"), k as f64 * 0.71, flows.to_vec())
    });
    let workload = Workload::new(u32::from(PORTS), coflows.collect());
    let tree = FatTree::new(4, Ecmp { mode: EcmpMode::Flow, seed: 1 }).expect("four pods");
    for fabric in [Fabric::big_switch(u32::from(PORTS), 1.0), tree.fabric(1.0, 0.5)] {
        let make = || covey_sched::build(name).expect("a policy of the list").policy;
        let fabric = fabric.expect("links have capacity");
        if let Err(violation) = rates_are_as_defined(&workload, &fabric, &make) {
            panic!("{name}: {violation}");
        }
    }
});
