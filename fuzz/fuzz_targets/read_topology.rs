//! Any bytes give a one-line error, or a network in which every path ends.

#![no_main]

use covey_core::{Ecmp, PortId};
use covey_topology::read;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let fabric = read(bytes, "fuzz", 125e6).and_then(|listed| {
        let ecmp = Ecmp { mode: listed.ecmp(), seed: 1 };
        listed.fabric("fuzz", ecmp)
    });
    match fabric {
        Err(error) => assert_eq!(error.to_string().lines().count(), 1),
        Ok(fabric) => {
            let mut path = Vec::new();
            for flow in 0..fabric.ports().min(100) {
                let ends = [flow, fabric.ports() - 1 - flow].map(PortId);
                path.clear();
                fabric.path(ends[0], ends[1], u64::from(flow), &mut path);
                let mut links = path.clone();
                links.sort();
                links.dedup();
                assert_eq!(links.len(), path.len(), "each link once");
                path.iter().for_each(|&link| drop(fabric.link_name(link)));
            }
        }
    }
});
