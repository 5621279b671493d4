//! Helpers of several tests.

use std::path::Path;

use covey_trace::{Workload, read_path};

/// The public Facebook trace, for a test that is a `facebook_test`.
pub fn facebook() -> Workload {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    read_path(&root.join("../shared/data/FB2010-1Hr-150-0.txt")).unwrap_or_else(|e| panic!("{e}"))
}
