//! Table 4 and §7.4: coflows in waves, and DAGs of coflows.

use covey_trace::Coflow;
use covey_trace::transform::{Shape, Waves, dag, waves};

use crate::finding::{Finding, Rule, Setting};
use crate::item::{Item, Planning};
use crate::learning::Recording;
use crate::parts::first;
use crate::plan::{Platform, Run};

/// Number of waves of a coflow: of different starts.
fn waves_of(coflow: &Coflow) -> usize {
    let mut starts: Vec<f64> = coflow.flows.iter().map(|flow| flow.start_s).collect();
    starts.sort_unstable_by(f64::total_cmp);
    starts.dedup();
    starts.len()
}

pub(super) const TABLE_4: Item = Item {
    place: "Table 4",
    section: "7.3",
    shows: "coflows by number of waves, and Aalo's gain on them",
    plan: Planning::Runs(|planner| {
        let mut traces = Vec::new();
        for max in [1, 2, 4] {
            let how = Waves { max, rate: 125e6, seed: 1 };
            let name = format!("at most {max} waves");
            // One wave is the trace as it is.
            let trace = match max {
                1 => planner.trace,
                _ => planner.plan.derived(&name, planner.trace, |trace| waves(trace, how))?,
            };
            // Each gain takes three runs, and two waves are as good as one.
            let runs = (max != 2)
                .then(|| ["aalo", "fair", "sebf"].map(|policy| planner.plan.exact(trace, policy)));
            traces.push((max, trace, runs));
        }
        Ok(Box::new(move |results, section| {
            section.note(
                "When waves begin is not in the text we have. Here a coflow's mappers are divided into as \
                 many groups as it has waves, and a wave begins when the one before would be over, were \
                 it alone; gains are shown for one and for four. Varys is told a wave's sizes when it begins, and so takes a coflow for smaller \
                 than it will be.",
            );
            let kind = Setting::FairComparison;
            for (max, trace, runs) in traces {
                let coflows = &results.plan.workload(trace).coflows;
                for number in ["1", "2", "3", "4"] {
                    let Some(share) = results.published("Table 4", &max.to_string(), number) else {
                        continue;
                    };
                    let found =
                        coflows.iter().filter(|c| waves_of(c).to_string() == number).count();
                    let ours = 100.0 * found as f64 / coflows.len() as f64;
                    section.add(
                        Finding::new(
                            format!("at most {max} waves: coflows of {number}"),
                            kind,
                            &[],
                            ours,
                        )
                        .on(trace)
                        .unit("%")
                        // One of 526 coflows is 0.2 %.
                        .published(Some(share), 0.05),
                    );
                }
                let Some([aalo, fair, sebf]) = runs else { continue };
                for (name, base) in [("per-flow fairness", fair), ("Varys", sebf)] {
                    let what = format!("at most {max} waves: gain over {name}");
                    let gain = results.gain(base, aalo)?;
                    section.add(Finding::new(what, kind, &[base, aalo], gain));
                }
            }
            Ok(())
        }))
    }),
};

/// Coflows of the trace that become jobs of several stages.
const JOBS: usize = 50;

pub(super) const SECTION_7_4: Item = Item {
    place: "Section 7.4",
    section: "7.4",
    shows: "gain over per-flow fairness and Varys with waves and DAGs",
    plan: Planning::Runs(|planner| {
        let base = first(&mut planner.plan, planner.trace, JOBS);
        let trace = planner.plan.derived("query 42", base, |trace| dag(trace, Shape::Query42))?;
        let runs = [true, false].map(|barrier| {
            let runs = ["aalo", "fair", "sebf"].map(|policy| {
                let platform = match Platform::exact() {
                    Platform::Exact { port_rate_bps, cpu, .. } => {
                        Platform::Exact { port_rate_bps, cpu, barrier }
                    }
                    other => other,
                };
                let (policy, recording) = (policy.to_owned(), Recording::CctsOnly);
                planner.plan.run(Run { trace, platform, policy, recording })
            });
            (barrier, runs)
        });
        let how = Waves { max: 4, rate: 125e6, seed: 1 };
        let waved =
            planner.plan.derived("at most 4 waves", planner.trace, |trace| waves(trace, how))?;
        let waved = ["aalo", "fair", "sebf"].map(|policy| planner.plan.exact(waved, policy));
        Ok(Box::new(move |results, section| {
            section.note(format!(
                "The first {JOBS} coflows, each a job with the six stages of TPC-DS query 42 (covey trace \
                 dag). Jobs of the Cloudera benchmark, which the paper ran, are not public."
            ));
            let kind = Setting::FairComparison;
            let mut most = results.gain(waved[1], waved[0])?.max(results.gain(waved[2], waved[0])?);
            let mut all = waved.to_vec();
            for (barrier, [aalo, fair, sebf]) in runs {
                let how = if barrier { "stages wait for stages" } else { "stages pipelined" };
                for (name, base) in [("per-flow fairness", fair), ("Varys", sebf)] {
                    let gain = results.gain(base, aalo)?;
                    most = most.max(gain);
                    all.extend([base, aalo]);
                    let what = format!("{how}: gain over {name}");
                    section.add(Finding::new(what, kind, &[base, aalo], gain));
                }
            }
            section.add(
                Finding::new("the greatest gain, waves included", kind, &all, most)
                    .published(results.published("Section 7", "CCT", "at most"), 0.1)
                    .why(WHY),
            );
            section.add(
                Finding::new("the greatest gain is one", kind, &all, most)
                    .says("better than per-flow fairness and Varys", Rule::MoreThan(1.0)),
            );
            Ok(())
        }))
    }),
};

const WHY: &str = "Our jobs are not the paper's.";
