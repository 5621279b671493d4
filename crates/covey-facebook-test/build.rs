//! Sets the cfg `facebook_trace` if the public Facebook trace is beside the checkout.

use std::path::Path;

fn main() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let trace = root.join("../shared/data/FB2010-1Hr-150-0.txt");
    println!("cargo::rustc-check-cfg=cfg(facebook_trace)");
    // Cargo runs this script again when the file appears or disappears.
    println!("cargo::rerun-if-changed={}", trace.display());
    if trace.exists() {
        println!("cargo::rustc-cfg=facebook_trace");
    }
}
