//! What several tests need.

use std::path::Path;

use covey_trace::{Workload, read_path};

/// The public Facebook trace, or `None` with a printed reason.
pub fn facebook() -> Option<Workload> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let path = root.join("../shared/data/FB2010-1Hr-150-0.txt");
    if !path.exists() {
        eprintln!("skipped: the Facebook trace is not in ../shared/data");
        return None;
    }
    Some(read_path(&path).expect("the Facebook trace"))
}
