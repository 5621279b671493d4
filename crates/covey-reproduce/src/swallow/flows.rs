//! Figures 6(a) to 6(d): completion times of flows.

use crate::finding::{BETTER, Finding, Setting};
use crate::item::{Item, Planner, Planning};
use crate::learning::Recording;
use crate::numbers::mean;
use crate::parts::{first, without_smallest};
use crate::plan::{Results, RunId, TraceId};
use crate::plots::cdf;

/// The policies compared with FVDF: the paper's names and Covey's.
const OTHERS: [(&str, &str); 3] = [("SRTF", "pfp"), ("FIFO", "fifo-flow"), ("FAIR", "fair")];
/// Number of coflows of the trace in these items.
const COFLOWS: usize = 100;

const NOTE: &str = "The paper's traces of Spark are not public; these runs use the first 100 coflows of the trace. \
    SRTF, FIFO and FAIR schedule single flows; FVDF orders coflows.";

/// The runs of FVDF and the other policies on a workload, with completion times of flows.
struct FlowRuns {
    fvdf: RunId,
    others: [(&'static str, RunId); 3],
}

impl FlowRuns {
    pub(super) fn new(planner: &mut Planner, trace: TraceId) -> Self {
        let mut run =
            |policy: &str| planner.plan.exact_recording(trace, policy, Recording::FlowTimes);
        let others = OTHERS.map(|(name, policy)| (name, run(policy)));
        Self { fvdf: run("fvdf"), others }
    }

    fn gain(&self, base: RunId, results: &Results<'_>) -> Result<f64, String> {
        Ok(mean(&results.get(base)?.fcts_s) / mean(&results.get(self.fvdf)?.fcts_s))
    }
}

pub(super) const FIGURE_6A: Item = Item {
    place: "Figure 6(a)",
    section: "VI-A1",
    shows: "speed-up of FVDF in mean FCT on all, 97 % and 95 % of the flows",
    plan: Planning::Runs(|planner| {
        let part = first(&mut planner.plan, planner.trace, COFLOWS);
        let runs = [0, 3, 5].map(|percent| {
            let trace = match percent {
                0 => part,
                _ => without_smallest(&mut planner.plan, part, percent),
            };
            (100 - percent, FlowRuns::new(planner, trace))
        });
        Ok(Box::new(move |results, section| {
            section.note(NOTE);
            section.note("The paper gives the greatest of the three speed-ups, and so do we.");
            for (index, (name, _)) in OTHERS.iter().enumerate() {
                let mut gains = Vec::new();
                let mut all = Vec::new();
                for (percent, flow_runs) in &runs {
                    let gain = flow_runs.gain(flow_runs.others[index].1, results)?;
                    gains.push((*percent, gain));
                    all.extend([flow_runs.others[index].1, flow_runs.fvdf]);
                }
                let max_gain = gains.iter().map(|(_, gain)| *gain).fold(0.0, f64::max);
                let published = results.published("Figure 6(a)", name, "at most");
                section.add(
                    Finding::new(
                        format!("{name}, at most"),
                        Setting::FairComparison,
                        &all,
                        max_gain,
                    )
                    .published(published, 0.06)
                    .why(WHY_6A),
                );
                for (percent, gain) in gains {
                    let what = format!("{name}, {percent} % of the flows");
                    section.add(Finding::new(what, Setting::FairComparison, &all, gain));
                }
            }
            Ok(())
        }))
    }),
};

const WHY_6A: &str = "FVDF orders coflows. SRTF aims at the mean over flows and is slightly better there, although \
    it does not compress. FIFO and FAIR of the public flow simulator serve batches of five flows that end \
    together, with sizes typed into its code; on a trace they are not that slow.";

pub(super) const FIGURE_6B: Item = Item {
    place: "Figure 6(b)",
    section: "VI-A1",
    shows: "speed-up of FVDF in mean FCT by size of flow",
    plan: Planning::Runs(|planner| {
        let trace = first(&mut planner.plan, planner.trace, COFLOWS);
        let flow_runs = FlowRuns::new(planner, trace);
        Ok(Box::new(move |results, section| {
            section.note(NOTE);
            section.note("Small, middle and large are thirds of the flows by size.");
            let workload = results.plan.workload(trace);
            let sizes: Vec<f64> =
                workload.coflows.iter().flat_map(|c| &c.flows).map(|f| f.bytes).collect();
            let mut by_size: Vec<usize> = (0..sizes.len()).collect();
            by_size.sort_by(|&a, &b| sizes[a].total_cmp(&sizes[b]));
            let third = by_size.len().div_ceil(3).max(1);
            let fvdf = &results.get(flow_runs.fvdf)?.fcts_s;
            for (name, run) in flow_runs.others {
                let fcts = &results.get(run)?.fcts_s;
                let mut gains = Vec::new();
                for (size, flows) in ["small", "middle", "large"].iter().zip(by_size.chunks(third))
                {
                    let sum = |fcts: &[f64]| flows.iter().map(|&flow| fcts[flow]).sum::<f64>();
                    gains.push((size, sum(fcts) / sum(fvdf)));
                }
                if name == "SRTF" && gains.len() == 3 {
                    let ratio = gains[2].1 / gains[0].1;
                    section.add(
                        Finding::new(
                            "SRTF, large over small",
                            Setting::FairComparison,
                            &[run, flow_runs.fvdf],
                            ratio,
                        )
                        .says(
                            "the gain over SRTF is larger for large flows than for small ones",
                            BETTER,
                        ),
                    );
                }
                for (size, gain) in gains {
                    let what = format!("{name}, {size} flows");
                    section.add(Finding::new(
                        what,
                        Setting::FairComparison,
                        &[run, flow_runs.fvdf],
                        gain,
                    ));
                }
            }
            Ok(())
        }))
    }),
};

pub(super) const FIGURE_6C: Item = Item {
    place: "Figure 6(c)",
    section: "VI-A1",
    shows: "speed-up of FVDF in mean FCT by number of flows",
    plan: Planning::Runs(|planner| {
        let runs = [10, 30, COFLOWS].map(|coflows| {
            let trace = first(&mut planner.plan, planner.trace, coflows);
            (trace, FlowRuns::new(planner, trace))
        });
        Ok(Box::new(move |results, section| {
            section.note(NOTE);
            section.note("The numbers of flows are those of the first 10, 30 and 100 coflows.");
            for (trace, flow_runs) in runs {
                let flows = results.plan.workload(trace).num_flows();
                for (name, run) in flow_runs.others {
                    let what = format!("{name}, {flows} flows");
                    let gain = flow_runs.gain(run, results)?;
                    section.add(
                        Finding::new(what, Setting::FairComparison, &[run, flow_runs.fvdf], gain)
                            .says("FVDF is always better than the others", BETTER)
                            .why(WHY_6C),
                    );
                }
            }
            Ok(())
        }))
    }),
};

const WHY_6C: &str = "FVDF orders coflows, not flows. In the mean over flows SRTF is better, and with few \
    flows FIFO is, too.";

pub(super) const FIGURE_6D: Item = Item {
    place: "Figure 6(d)",
    section: "VI-A1",
    shows: "distribution of FCTs",
    plan: Planning::Runs(|planner| {
        let trace = first(&mut planner.plan, planner.trace, COFLOWS);
        let flow_runs = FlowRuns::new(planner, trace);
        Ok(Box::new(move |results, section| {
            section.note(NOTE);
            let [(_, srtf), (_, fifo), (_, fair)] = flow_runs.others;
            for (name, run) in [("FIFO", fifo), ("FAIR", fair)] {
                let gain = mean(&results.get(run)?.fcts_s) / mean(&results.get(srtf)?.fcts_s);
                let published = results.published("Figure 6(d)", name, "mean");
                section.add(
                    Finding::new(
                        format!("SRTF over {name}"),
                        Setting::FairComparison,
                        &[run, srtf],
                        gain,
                    )
                    .published(published, 0.06)
                    .why(WHY_6D),
                );
            }
            let end = |run: RunId| -> Result<f64, String> {
                Ok(results.get(run)?.flow_ends_s.iter().copied().fold(0.0, f64::max))
            };
            let saved = 100.0 * (1.0 - end(flow_runs.fvdf)? / end(srtf)?);
            section.add(
                Finding::new(
                    "time until all flows have ended, saved over SRTF",
                    Setting::FairComparison,
                    &[srtf, flow_runs.fvdf],
                    saved,
                )
                .unit("%")
                .published(results.published("Figure 6(d)", "FVDF", "saved"), 0.06)
                .why(WHY_END),
            );
            let mut drawn = vec![("FVDF".to_owned(), results.get(flow_runs.fvdf)?.fcts_s.clone())];
            for (name, run) in flow_runs.others {
                drawn.push((name.to_owned(), results.get(run)?.fcts_s.clone()));
            }
            section.figures.push(cdf(
                "Completion times of flows",
                ["FCT (s)", "flows"],
                None,
                drawn,
                "Further left is faster.",
            ));
            Ok(())
        }))
    }),
};

const WHY_6D: &str = "The ratio depends on the sizes, which are not public. FIFO and FAIR of the public flow \
    simulator serve batches of five flows that end together.";
const WHY_END: &str = "Coflows arrive over ten minutes here, and the last to arrive ends last under any \
    policy. Compression would show if all coflows arrived at the beginning.";
