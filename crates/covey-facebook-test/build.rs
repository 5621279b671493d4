//! Sets the cfg `facebook_trace` if the public Facebook trace is beside the checkout, and
//! `spark_logs` if logs of Spark are.

use std::path::Path;

fn main() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let data = [
        ("facebook_trace", "../shared/data/FB2010-1Hr-150-0.txt"),
        ("spark_logs", "../shared/data/spark/KNOWN.json"),
    ];
    for (cfg, file) in data {
        let file = root.join(file);
        println!("cargo::rustc-check-cfg=cfg({cfg})");
        // Cargo runs this script again when the file appears or disappears.
        println!("cargo::rerun-if-changed={}", file.display());
        if file.exists() {
            println!("cargo::rustc-cfg={cfg}");
        }
    }
}
