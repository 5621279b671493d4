//! Writes the page of an invented comparison, for viewing: `cargo run --example page -- page.html`.
//!
//! Sizes of coflows span many orders of magnitude, as in real traces. Completion times are random,
//! not simulated, and say nothing about the policies.

use covey_core::SplitMix;
use covey_report::{Comparison, Run, RunInfo, html_page, write_file_atomically};
use covey_trace::results::{CoflowOutcome, Outcome};
use covey_trace::{Coflow, Flow, Workload};
use std::error::Error;

/// Label, parameters, mean slow-down of a coflow relative to running alone, and its spread.
type InventedPolicy = (&'static str, &'static [(&'static str, &'static str)], f64, f64);

const POLICIES: [InventedPolicy; 6] = [
    ("fair", &[], 6.0, 1.2),
    ("fifo", &[("share", "maxmin")], 7.0, 3.0),
    ("aalo", &[("K", "10"), ("E", "10"), ("q1", "10MiB"), ("delta", "8ms")], 2.8, 0.9),
    ("aalo:queues=strict,delta=0", &[("K", "10"), ("queues", "strict"), ("delta", "0")], 2.6, 1.0),
    ("sincronia", &[("share", "maxmin")], 2.0, 0.8),
    ("sebf", &[("share", "madd"), ("mode", "cct")], 1.9, 0.7),
];

fn main() -> Result<(), Box<dyn Error>> {
    let path = std::env::args().nth(1).ok_or("usage: page FILE.html")?;
    let mut random = SplitMix::new(1);
    let workload = workload(&mut random);
    let runs: Result<Vec<Run<'_>>, _> =
        POLICIES.iter().map(|p| run(&workload, p, &mut random)).collect();
    let comparison = Comparison::new(&runs?, 0)?;
    print!("{comparison}");
    let page = html_page(
        &comparison,
        "covey compare made-up.txt --policies fair,fifo,aalo --report page.html",
    );
    write_file_atomically(path, |out| out.write_all(page.as_bytes()))?;
    Ok(())
}

fn workload(random: &mut SplitMix) -> Workload {
    let coflows = (0..500).map(|i| {
        let width = 10_f64.powf(random.unit() * 2.8) as usize + 1;
        let bytes = 10_f64.powf(4.5 + random.unit() * 4.0);
        let flows = vec![Flow { src: 0, dst: 1, bytes, start_s: 0.0 }; width];
        Coflow::new(i.to_string(), 7.0 * f64::from(i), flows)
    });
    Workload::new(150, coflows.collect())
}

fn run<'a>(
    workload: &'a Workload,
    policy: &InventedPolicy,
    random: &mut SplitMix,
) -> Result<Run<'a>, covey_report::Error> {
    let &(label, params, slowdown, spread) = policy;
    let mut outcome = Outcome { events: 40_000, ..Outcome::default() };
    for coflow in &workload.coflows {
        let alone_s = coflow.size_bytes() / 125e6 / (coflow.width() as f64).sqrt().min(12.0);
        let cct_s = alone_s * (1.0 + slowdown * 10_f64.powf(spread * (random.unit() - 0.7)));
        let release_s = coflow.arrival_s;
        outcome.coflows.push(CoflowOutcome { release_s, completion_s: release_s + cct_s });
        outcome.flow_start_s.extend(coflow.flows.iter().map(|_| release_s));
        outcome.flow_completion_s.extend(coflow.flows.iter().map(|_| release_s + cct_s));
    }
    let info = RunInfo {
        policy: label.split(':').next().unwrap_or(label).to_owned(),
        params: params.iter().map(|&(k, v)| (k.to_owned(), v.to_owned())).collect(),
        label: label.to_owned(),
        knows_sizes: None,
        trace: "made-up.txt".to_owned(),
        fabric: "big-switch".to_owned(),
        port_rate_bps: 1e9,
        lower_bound_mean_cct_s: Some(4.2),
        wall_s: 1.25,
        pipelined: false,
        tiers: Vec::new(),
        tenant_weights: Vec::new(),
    };
    Run::new(workload, outcome, info)
}
