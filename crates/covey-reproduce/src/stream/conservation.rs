//! Kleinrock's conservation law: priorities only move waiting from some coflows to others.

use covey_core::SplitMix;
use covey_trace::{Coflow, Flow, MB, Workload};

use crate::finding::{BETTER, Finding, Rule, Setting};
use crate::item::{Item, Planning};
use crate::numbers::mean;
use crate::plan::{Platform, RunId};

/// Number of coflows.
const COFLOWS: u32 = 4000;
/// Load of the link.
const LOAD: f64 = 0.8;
/// Mean size of a coflow in bytes.
const MEAN: f64 = 50.0 * MB;
/// Senders, so many that two coflows at a time hardly ever share one.
const SENDERS: u32 = 1000;

/// Coflows of one flow at one receiver, with exponential gaps. Sizes are exponential, or
/// Pareto with the same mean.
fn one_link(heavy_tailed: bool) -> Workload {
    let mut random = SplitMix::new(1);
    let mut uniform = || random.unit();
    let mut arrival_s = 0.0;
    let mut coflows = Vec::new();
    for n in 0..COFLOWS {
        arrival_s -= (1.0 - uniform()).ln() * MEAN / (125e6 * LOAD);
        let u = 1.0 - uniform();
        // Pareto with exponent 1.5 has three times its minimum as mean.
        let size = if heavy_tailed { MEAN / 3.0 * u.powf(-1.0 / 1.5) } else { -MEAN * u.ln() };
        let flow = Flow { src: 1 + n % SENDERS, dst: 0, bytes: size.ceil().max(1.0), start_s: 0.0 };
        coflows.push(Coflow::new(n.to_string(), arrival_s, vec![flow]));
    }
    Workload::new(1 + SENDERS, coflows)
}

pub(super) const CONSERVATION: Item = Item {
    place: "Section IV-B, conservation law",
    section: "IV-B",
    shows: "mean time at one link by number of queues and threshold of the first",
    plan: Planning::Runs(|planner| {
        let mut sizes = Vec::new();
        for (name, heavy_tailed) in [("exponential sizes", false), ("Pareto sizes", true)] {
            let workload = one_link(heavy_tailed);
            let trace = planner.plan.defined_by_paper(&format!("one link, {name}"), workload);
            let mut run = |policy: &str| planner.plan.run_on(Platform::exact(), trace, policy);
            let fair = run("fair");
            let settings: Vec<(String, RunId)> = [(2, 10), (4, 10), (8, 10), (4, 1), (4, 100)]
                .into_iter()
                .map(|(queues, mb)| {
                    let policy = format!("stream:K={queues},q1={mb}MiB,escape=off");
                    (format!("K = {queues}, first threshold {mb} MB"), run(&policy))
                })
                .collect();
            sizes.push((name, trace, heavy_tailed, fair, settings));
        }
        Ok(Box::new(move |results, section| {
            section.note(format!(
                "{COFLOWS} coflows of one flow load one link to {} %. With exponential sizes, what \
                 is left of a coflow does not depend on what it has sent, so the mean time is the \
                 same under any order that does not know sizes. With Pareto sizes it is not: those \
                 that have sent little have little left. Times are divided by those under fair \
                 sharing.",
                100.0 * LOAD
            ));
            let setting = Setting::FairComparison;
            for (name, trace, heavy_tailed, fair, settings) in sizes {
                let workload = results.plan.workload(trace);
                let sizes: Vec<f64> = workload.coflows.iter().map(|c| c.size_bytes()).collect();
                let base = &results.get(fair)?.ccts_s;
                for (label, run) in settings {
                    let ours = &results.get(run)?.ccts_s;
                    let all = mean(ours) / mean(base);
                    let finding =
                        Finding::new(format!("{name}, {label}: mean"), setting, &[fair, run], all);
                    section.add(if heavy_tailed {
                        finding
                    } else {
                        let words = "no order changes the mean waiting time";
                        finding
                            .says(words, Rule::Between(0.95, 1.05))
                            .check()
                            .why("The sample of coflows is too small for this load.")
                    });
                    let of = |times: &[f64], small: bool| -> f64 {
                        let inside = times.iter().zip(&sizes);
                        inside.filter(|(_, size)| (**size <= MEAN) == small).map(|(t, _)| t).sum()
                    };
                    let change = [true, false].map(|small| of(ours, small) / of(base, small));
                    let what = format!("{name}, {label}: the group that loses most");
                    let most = Finding::new(what, setting, &[fair, run], change[0].max(change[1]))
                        .says("no class gains without a loss of another", BETTER)
                        .why(WHY_BOTH_GAIN);
                    section.add(if heavy_tailed { most } else { most.check() });
                    let what = format!("{name}, {label}: the group that gains most");
                    let least = change[0].min(change[1]);
                    section.add(Finding::new(what, setting, &[fair, run], least));
                }
            }
            Ok(())
        }))
    }),
};

const WHY_BOTH_GAIN: &str = "The law is of sizes that tell nothing of what is left. A coflow with \
    a heavy-tailed size that has sent little has little left, so the mean falls, here in both \
    groups.";
