//! Scratch.
use covey_core::{Fabric, units};
use std::time::Instant;
fn main() {
    let a: Vec<String> = std::env::args().collect();
    let t = Instant::now();
    let w = covey_trace::read_path(std::path::Path::new(&a[1])).unwrap();
    eprintln!("read {:?}", t.elapsed());
    let fabric = Fabric::big_switch(w.ports, units::parse_rate("1gbps").unwrap()).unwrap();
    for spec in &a[2..] {
        let t = Instant::now();
        let mut b = covey_sched::build(spec).unwrap();
        match covey_sim::simulate(&w, &fabric, spec, &mut b.policy, &mut ()) {
            Ok(o) => {
                let mean =
                    o.coflows.iter().map(|c| c.cct_s()).sum::<f64>() / o.coflows.len() as f64;
                let mut c: Vec<f64> = o.coflows.iter().map(|c| c.cct_s()).collect();
                c.sort_by(f64::total_cmp);
                println!(
                    "{spec:40} mean {mean:8.3} p50 {:.3} events {} {:?}",
                    c[c.len() / 2],
                    o.events,
                    t.elapsed()
                );
            }
            Err(e) => println!("{spec}: {e}"),
        }
    }
}
