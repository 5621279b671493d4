//! Known answers on the public Facebook trace.

use std::path::Path;

use covey_facebook_test::facebook_test;
use covey_trace::{MB, Stats, Workload, read_path};

/// The public Facebook trace, for a test that is a `facebook_test`.
pub fn facebook() -> Workload {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    read_path(&root.join("../shared/data/FB2010-1Hr-150-0.txt")).unwrap_or_else(|e| panic!("{e}"))
}

#[facebook_test]
fn totals() {
    let trace = facebook();
    assert_eq!(trace.ports, 150);
    assert_eq!(trace.coflows.len(), 526);
    assert_eq!(trace.num_flows(), 706_397);
    assert_eq!(trace.bytes(), 35_533_534.0 * MB);
    assert_eq!(trace.coflows[525].arrival_s, 3629.235);
}

#[facebook_test]
fn flows_are_whole_megabytes() {
    let trace = facebook();
    let flows = trace.coflows.iter().flat_map(|c| &c.flows);
    assert!(flows.map(|f| f.bytes / MB).all(|mb| mb >= 1.0 && mb.fract() == 0.0));
}

#[facebook_test]
fn comes_back_from_json_lines() {
    let trace = facebook();
    let mut file = Vec::new();
    covey_trace::write(&trace, &mut file).expect("writing to memory");
    let again = covey_trace::read(file.as_slice(), "memory").expect("what was written");
    assert!(again == trace);
}

#[facebook_test]
fn bins_of_aalo_and_philae() {
    let trace = facebook();
    let stats = Stats::of(&trace);
    assert_eq!(stats.by_length_and_width.each_ref().map(|b| b.coflows), [309, 90, 59, 68]);
    assert_eq!(stats.by_width_and_size.each_ref().map(|b| b.coflows), [233, 127, 24, 142]);
    let byte_percent = stats.by_length_and_width.map(|b| (b.byte_share * 1e5).round() / 1e3);
    assert_eq!(byte_percent, [0.009, 0.112, 0.81, 99.068]);
}

#[facebook_test]
fn counts_and_busiest_ports() {
    let trace = facebook();
    let stats = Stats::of(&trace);
    assert_eq!(stats.single_flow_coflows, 123);
    assert_eq!(stats.same_port_flows, 4911);
    assert_eq!(stats.last_arrival_s.as_secs(), 3629.235);
    // 3441 s at 128 MiB/s.
    assert_eq!(stats.busiest_ingress.bytes, 440_422.0 * MB);
    assert_eq!(stats.busiest_ingress.port, 16);
    assert_eq!(stats.busiest_egress.bytes, 258_014.0 * MB);
    let gap = stats.gap_s.expect("gaps");
    assert!((gap.min - 0.007).abs() < 1e-9 && (gap.max - 82.436).abs() < 1e-9);
}
