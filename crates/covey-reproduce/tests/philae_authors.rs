//! What the simulator of Philae's authors finds.

use std::path::Path;

use covey_reproduce::emulate::philae_authors::{Order, Ties, run};
use covey_trace::{Workload, read_path};

/// The public Facebook trace, or `None` with a printed reason.
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
fn all() {
    let Some(trace) = facebook() else { return };
    for ties in [Ties::Reversed, Ties::ByPort] {
        for order in [Order::D, Order::A, Order::B, Order::C] {
            let t = std::time::Instant::now();
            let o = run(&trace, order, ties).unwrap();
            let mut ccts: Vec<f64> = o.coflows.iter().map(|c| c.cct_s()).collect();
            ccts.sort_by(f64::total_cmp);
            let mean = ccts.iter().sum::<f64>() / ccts.len() as f64;
            eprintln!(
                "{order:?} {ties:?} mean {mean} median {} events {} {:?}",
                (ccts[262] + ccts[263]) / 2.0,
                o.events,
                t.elapsed()
            );
        }
    }
}
