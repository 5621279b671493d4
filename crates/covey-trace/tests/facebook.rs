//! Known answers on the public Facebook trace, which is not part of the project: the tests skip
//! where `../shared/data` beside the repository does not have it.

use std::path::Path;

use covey_trace::{MB, Workload, read_path};

/// The trace, or `None` with a printed reason.
fn facebook() -> Option<Workload> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let path = root.join("../shared/data/FB2010-1Hr-150-0.txt");
    if !path.exists() {
        eprintln!("skipped: the Facebook trace is not in ../shared/data");
        return None;
    }
    Some(read_path(&path).expect("the Facebook trace"))
}

#[test]
fn totals() {
    let Some(trace) = facebook() else { return };
    assert_eq!(trace.ports, 150);
    assert_eq!(trace.coflows.len(), 526);
    assert_eq!(trace.num_flows(), 706_397);
    assert_eq!(trace.bytes(), 35_533_534.0 * MB);
    assert_eq!(trace.coflows[525].arrival_s, 3629.235);
}

#[test]
fn flows_are_whole_megabytes() {
    let Some(trace) = facebook() else { return };
    let flows = trace.coflows.iter().flat_map(|c| &c.flows);
    assert!(flows.map(|f| f.bytes / MB).all(|mb| mb >= 1.0 && mb.fract() == 0.0));
}

#[test]
fn comes_back_from_json_lines() {
    let Some(trace) = facebook() else { return };
    let mut file = Vec::new();
    covey_trace::write(&trace, &mut file).expect("writing to memory");
    let again = covey_trace::read(file.as_slice(), "memory").expect("what was written");
    assert!(again == trace);
}
