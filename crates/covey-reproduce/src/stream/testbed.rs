//! Figures 5 and 11 on a testbed: real flows to one receiver, past background traffic, with nobody
//! in charge.

use std::cmp::Reverse;

use covey_core::SplitMix;
use covey_trace::{Coflow, Flow, TraceError, Workload};

use crate::finding::{BETTER, Finding, Rule, Setting};
use crate::item::{Item, Planner, Planning};
use crate::numbers::{mean, percentile};
use crate::plan::{Platform, TCP, TestbedNetwork, TestbedRun, TraceId};
use crate::plots::curves;

/// The items that are measured on a testbed, in the order of the paper.
pub const TESTBED_ITEMS: &[Item] = &[FIGURE_5, FIGURE_11];

/// Hosts that send.
const SENDERS: u32 = 6;
/// The receiver; the eighth host only carries background traffic.
const RECEIVER: u32 = 6;
const HOSTS: u32 = 8;
/// Share of the receiver's link that background traffic takes.
const BACKGROUND: f64 = 0.5;
/// Bytes of all coflows of a scenario: 40 s of what is left of the receiver's link of 100 Mbit/s.
const BYTES: f64 = 240e6;
/// Time in which coflows arrive, in seconds: the link is busy for about as long.
const ARRIVALS_S: f64 = 40.0;
/// The limit of the first queue, and the factor between limits: eight queues cover the sizes.
const LIMITS: &str = "q1=100kB,E=3";

/// The scenarios of Figure 5: coflows and flows.
const SCENARIOS: [(&str, usize, usize); 2] =
    [("scenario one", 117, 2160), ("scenario two", 105, 1440)];

fn introduction() -> String {
    format!(
        "Which coflows the authors sent is not published. Ours have the sizes and widths of coflows of the trace: every \
         so-many-th by size, with all bytes scaled to {} MB, and widths scaled to the paper's number of flows. They \
         arrive at random within {ARRIVALS_S} s. Their flows come from {SENDERS} hosts to one, past datagrams that take \
         {} % of its link; links have 100 Mbit/s. Plain traffic is in the first queue. Stream's limits are {LIMITS}: \
         the sizes are smaller than the paper's. Mice are the smaller half of the coflows.",
        BYTES / 1e6,
        100.0 * BACKGROUND,
    )
}

/// Coflows with the sizes and widths of a trace, from some hosts to one.
fn many_to_one(trace: &Workload, coflows: usize, flows: usize) -> Workload {
    let bytes = |coflow: &Coflow| coflow.flows.iter().map(|flow| flow.bytes).sum::<f64>();
    let mut shapes: Vec<(f64, f64)> =
        trace.coflows.iter().map(|it| (bytes(it), it.flows.len() as f64)).collect();
    shapes.sort_by(|a, b| a.0.total_cmp(&b.0));
    let quantile = |k: usize| shapes[(2 * k + 1) * shapes.len() / (2 * coflows)];
    let chosen: Vec<(f64, f64)> = (0..coflows).map(quantile).collect();
    let widths = widths(&chosen, flows);
    let all: f64 = chosen.iter().map(|(bytes, _)| bytes).sum();
    let mut random = SplitMix::new(5);
    let mut made: Vec<Coflow> = chosen
        .iter()
        .zip(widths)
        .enumerate()
        .map(|(k, ((bytes, _), width))| {
            let each = (bytes * BYTES / all / width as f64).round().max(1.0);
            let first = random.below(SENDERS.into()) as u32;
            let flow = |n: usize| Flow {
                src: (first + n as u32) % SENDERS,
                dst: RECEIVER,
                bytes: each,
                start_s: 0.0,
            };
            let arrival_s = ARRIVALS_S * random.unit();
            Coflow::new(format!("{}", k + 1), arrival_s, (0..width).map(flow).collect())
        })
        .collect();
    made.sort_by(|a, b| a.arrival_s.total_cmp(&b.arrival_s));
    Workload::new(HOSTS, made)
}

/// Widths in the proportions of the chosen shapes, from 1, whose sum is `flows`.
fn widths(chosen: &[(f64, f64)], flows: usize) -> Vec<usize> {
    let all: f64 = chosen.iter().map(|(_, width)| width).sum();
    let part = |width: f64| ((width * flows as f64 / all) as usize).max(1);
    let mut widths: Vec<usize> = chosen.iter().map(|(_, width)| part(*width)).collect();
    // Rounding is made up for by the widest.
    let mut widest: Vec<usize> = (0..widths.len()).collect();
    widest.sort_by_key(|&k| Reverse(widths[k]));
    let mut sum: usize = widths.iter().sum();
    for k in widest.into_iter().cycle().take(flows * chosen.len()) {
        match sum {
            sum if sum == flows => break,
            _ if sum < flows => (widths[k], sum) = (widths[k] + 1, sum + 1),
            _ if widths[k] > 1 => (widths[k], sum) = (widths[k] - 1, sum - 1),
            _ => {}
        }
    }
    widths
}

fn scenario(
    planner: &mut Planner,
    name: &str,
    coflows: usize,
    flows: usize,
) -> Result<TraceId, TraceError> {
    let (coflows, flows) = (coflows / planner.every, flows / planner.every);
    planner
        .plan
        .derived(name, planner.trace, |trace| Ok(many_to_one(trace, coflows.max(2), flows.max(2))))
}

fn platform(queues: u32) -> Platform {
    let network =
        TestbedNetwork { hosts: HOSTS, switch_queues: Some(queues), background: BACKGROUND };
    Platform::Testbed(TestbedRun { fold: None, ratio: 1.0, network })
}

/// What is measured of a run's CCTs.
type Measure<'a> = &'a dyn Fn(&[f64]) -> f64;

/// The coflows of a workload that are in the smaller half, by their place.
fn mice(workload: &Workload) -> Vec<usize> {
    let bytes = |k: &usize| workload.coflows[*k].flows.iter().map(|flow| flow.bytes).sum::<f64>();
    let mut by_size: Vec<usize> = (0..workload.coflows.len()).collect();
    by_size.sort_by(|a, b| bytes(a).total_cmp(&bytes(b)));
    by_size.truncate(by_size.len() / 2);
    by_size
}

const FIGURE_5: Item = Item {
    place: "Figure 5",
    section: "IV-A",
    shows: "gain over TCP, six senders, one receiver (testbed)",
    plan: Planning::Runs(|planner| {
        let all = planner.every == 1;
        let mut planned = Vec::new();
        for (name, coflows, flows) in SCENARIOS {
            let trace = scenario(planner, name, coflows, flows)?;
            let policies = [TCP.to_owned(), format!("stream:K=8,{LIMITS}")];
            let runs = policies.map(|policy| planner.plan.run_on(platform(8), trace, &policy));
            planned.push((name, trace, runs));
        }
        Ok(Box::new(move |results, section| {
            section.note(introduction());
            for (name, trace, [tcp, stream]) in planned {
                let mice = mice(results.plan.workload(trace));
                let of_mice =
                    |ccts: &[f64]| mean(&mice.iter().map(|&k| ccts[k]).collect::<Vec<_>>());
                let p95 = |ccts: &[f64]| percentile(ccts, 95.0);
                let measures: [(&str, Measure<'_>); 3] =
                    [("mean", &|ccts| mean(ccts)), ("mice", &of_mice), ("P95", &p95)];
                for (what, measure) in measures {
                    let ours =
                        measure(&results.get(tcp)?.ccts_s) / measure(&results.get(stream)?.ccts_s);
                    let published = results.published("Figure 5", name, what).filter(|_| all);
                    let finding = Finding::new(
                        format!("{name}, {what}"),
                        Setting::Testbed,
                        &[tcp, stream],
                        ours,
                    );
                    section.add(
                        finding
                            .unit("×")
                            .published(published, 0.2)
                            .says("Stream is faster than TCP", BETTER)
                            .why(
                                "The coflows are others than the authors'. The background does not slow down when \
                                 its packets are lost: TCP, in the same queue, takes more than half of the link \
                                 from it, and Stream's coflows beyond the first queue do not.",
                            ),
                    );
                }
            }
            Ok(())
        }))
    }),
};

const FIGURE_11: Item = Item {
    place: "Figure 11",
    section: "IV-B",
    shows: "mean CCT with 2 to 7 queues, 30 coflows (testbed)",
    plan: Planning::Runs(|planner| {
        let trace = scenario(planner, "thirty coflows", 30, 360)?;
        let queues = [2_u32, 3, 4, 5, 6, 7];
        let runs = queues.map(|count| {
            let policy = format!("stream:K={count},{LIMITS}");
            planner.plan.run_on(platform(count), trace, &policy)
        });
        Ok(Box::new(move |results, section| {
            section.note(introduction());
            let mut means = Vec::new();
            for (count, run) in queues.iter().zip(runs) {
                means.push(results.mean(run)?);
                let what = format!("K = {count}, mean");
                let ours = *means.last().unwrap_or(&f64::NAN);
                section.add(Finding::new(what, Setting::Testbed, &[run], ours).unit("s"));
            }
            section.add(
                Finding::new("mean with 4 queues over that with 7", Setting::Testbed, &runs, means[2] / means[5])
                    .says("four queues are sufficient", Rule::AtMost(1.05))
                    .why("Limits grow by a factor of 3 here: with more queues, more of the large coflows are told apart."),
            );
            let points = queues.iter().zip(&means).map(|(k, mean)| [f64::from(*k), *mean]);
            let drawn = vec![("Stream".to_owned(), points.collect())];
            let axes = ["number of queues K", "mean CCT (s)"];
            section.figures.push(curves("Mean CCT by number of queues", axes, drawn, ""));
            Ok(())
        }))
    }),
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scenarios_have_the_paper_s_numbers_of_coflows_and_flows() {
        let trace = covey_trace::open("builtin:fb-like").expect("a builtin workload");
        for (name, coflows, flows) in SCENARIOS {
            let made = many_to_one(&trace, coflows, flows);
            assert_eq!((made.coflows.len(), made.num_flows()), (coflows, flows), "{name}");
            assert!((made.bytes() / BYTES - 1.0).abs() < 0.01, "{}", made.bytes());
            let ends = made.coflows.iter().flat_map(|coflow| &coflow.flows);
            assert!(ends.clone().all(|flow| flow.src < SENDERS && flow.dst == RECEIVER));
            assert!(ends.clone().all(|flow| flow.bytes >= 1.0 && flow.bytes.fract() == 0.0));
            assert_eq!(mice(&made).len(), coflows / 2);
        }
    }
}
