//! A workload of three coflows on two ports of 8 bit/s (one byte per second), and its runs under
//! two policies. Some names need escaping.

use covey_report::{Comparison, Run, RunInfo};
use covey_trace::results::{CoflowOutcome, Outcome};
use covey_trace::{Coflow, Flow, Workload};

pub fn workload() -> Workload {
    let coflow = |id: &str, arrival_s, flows: &[(u32, u32, f64)]| {
        let flow = |&(src, dst, bytes): &(u32, u32, f64)| Flow { src, dst, bytes, start_s: 0.0 };
        Coflow::new(id.to_owned(), arrival_s, flows.iter().map(flow).collect())
    };
    Workload::new(
        2,
        vec![
            coflow("1", 0.0, &[(0, 1, 4.0), (1, 0, 2.0)]),
            coflow("a, \"b\"", 1.0, &[(0, 1, 1.5)]),
            coflow("<nothing>", 2.0, &[(1, 1, 0.0)]),
        ],
    )
}

/// Fair sharing: the second coflow halves the rate of the first.
pub fn fair(workload: &Workload) -> Run<'_> {
    let outcome = outcome(workload, &[5.5, 2.0, 4.0, 2.0]);
    Run::new(workload, outcome, info("fair", "fair", &[])).unwrap()
}

/// The smallest coflow first.
pub fn scf(workload: &Workload) -> Run<'_> {
    let outcome = outcome(workload, &[5.5, 2.0, 2.5, 2.0]);
    let params = [("share", "<madd>"), ("backfill", "true")];
    Run::new(workload, outcome, info("scf", "scf:share=<madd>", &params)).unwrap()
}

pub fn comparison(workload: &Workload) -> Comparison {
    Comparison::new(&[fair(workload), scf(workload)], 0).unwrap()
}

fn outcome(workload: &Workload, flow_completion_s: &[f64]) -> Outcome {
    let mut ends = flow_completion_s.iter();
    let coflows = workload.coflows.iter().map(|c| CoflowOutcome {
        release_s: c.arrival_s,
        completion_s: ends.by_ref().take(c.width()).copied().fold(0.0, f64::max),
    });
    Outcome {
        coflows: coflows.collect(),
        flow_completion_s: flow_completion_s.to_vec(),
        flow_start_s: vec![0.0, 0.0, 1.0, 2.0],
        events: 5,
        ..Outcome::default()
    }
}

fn info(policy: &str, label: &str, params: &[(&str, &str)]) -> RunInfo {
    RunInfo {
        policy: policy.to_owned(),
        params: params.iter().map(|&(k, v)| (k.to_owned(), v.to_owned())).collect(),
        label: label.to_owned(),
        knows_sizes: Some(policy == "scf"),
        trace: "tiny & <small>".to_owned(),
        fabric: "big-switch".to_owned(),
        port_rate_bps: 8.0,
        lower_bound_mean_cct_s: Some(2.25),
        wall_s: 0.125,
        pipelined: false,
        tiers: Vec::new(),
        tenant_weights: Vec::new(),
    }
}
