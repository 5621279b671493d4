//! Figures 8 and 9: the gain from coordination.

use covey_trace::MB;

use crate::finding::{BETTER, Finding, Rule, Setting};
use crate::item::{Item, Planning};
use crate::numbers::percentile;
use crate::parts::first;
use crate::plots::cdf;

/// Percentiles of coflow sizes from which FIFO-LM treats a coflow as heavy. The paper uses the
/// 80th.
const THRESHOLDS: [u32; 6] = [20, 40, 60, 70, 80, 90];
/// Number of coflows on which the thresholds are compared.
const COFLOWS: usize = 100;

pub(super) const FIGURE_8: Item = Item {
    place: "Figure 8",
    section: "7.2.1",
    shows: "gain of Aalo over Aalo without coordination, and over FIFO-LM",
    plan: Planning::Runs(|planner| {
        let trace = planner.trace;
        let heavy = |workload: &covey_trace::Workload, p: u32| {
            let sizes: Vec<f64> = workload.coflows.iter().map(|c| c.size_bytes()).collect();
            let mib = (percentile(&sizes, f64::from(p)) / MB).round().max(1.0);
            format!("fifo-lm:heavy={mib}MiB")
        };
        let lm = heavy(planner.plan.workload(trace), 80);
        let [aalo, local, fifo_lm, fair] =
            ["aalo", "aalo-local", &lm, "fair"].map(|policy| planner.plan.exact(trace, policy));
        let part = first(&mut planner.plan, trace, COFLOWS);
        let thresholds = THRESHOLDS.map(|p| {
            let policy = heavy(planner.plan.workload(trace), p);
            (p, planner.plan.exact(part, &policy))
        });
        let aalo_on_part = planner.plan.exact(part, "aalo");
        Ok(Box::new(move |results, section| {
            let setting = Setting::FairComparison;
            let published = |row| results.published("Figure 8", row, "mean");
            section.note(format!(
                "Each node decides by the bytes that it has carried. FIFO-LM treats a coflow as heavy from the \
                 80th percentile of the trace's coflow sizes. All six thresholds are compared on the first \
                 {COFLOWS} coflows only, which is quicker."
            ));
            for (row, run, why) in
                [("uncoordinated", local, WHY_LOCAL), ("FIFO-LM", fifo_lm, WHY_FIFO_LM)]
            {
                let ours = results.gain(run, aalo)?;
                section.add(
                    Finding::new(row, setting, &[run, aalo], ours)
                        .published(published(row), 0.1)
                        .why(why),
                );
            }
            let worse = results.gain(local, fair)?;
            section.add(
                Finding::new(
                    "uncoordinated over per-flow fairness",
                    setting,
                    &[local, fair],
                    worse,
                )
                .says("can be significantly worse than per-flow fairness", Rule::AtLeast(1.2)),
            );
            let best = thresholds[4].1;
            for (p, run) in thresholds {
                let what = format!("FIFO-LM at the {p}th percentile, over Aalo");
                let ours = results.gain(run, aalo_on_part)?;
                section.add(Finding::new(what, setting, &[run, aalo_on_part], ours));
                if p != 80 {
                    let what = format!("FIFO-LM at the {p}th percentile, over that at the 80th");
                    section.add(
                        Finding::new(what, setting, &[run, best], results.gain(run, best)?)
                            .says("worse than at the 80th percentile", BETTER)
                            .why(WHY_THRESHOLD),
                    );
                }
            }
            Ok(())
        }))
    }),
};

const WHY_LOCAL: &str = "About half of the published loss. Here nodes use capacity that a receiver leaves idle \
    at once; the paper's simulator replays logs of tasks and is not public. The order is the paper's: \
    without coordination Aalo is far worse than fairness.";
const WHY_FIFO_LM: &str = "A smaller loss than published, due to our rule for heavy coflows: each node counts only \
    the bytes that it has carried. The order is the paper's.";
const WHY_THRESHOLD: &str = "On these coflows smaller thresholds are better, since FIFO-LM is then close to fair \
    sharing; only 90 is worse. The percentiles are of the coflow sizes of the public hour.";

pub(super) const FIGURE_9: Item = Item {
    place: "Figure 9",
    section: "7.2.1",
    shows: "distributions of CCTs",
    plan: Planning::Runs(|planner| {
        let policies = [
            ("Aalo", "aalo"),
            ("Varys", "sebf"),
            ("per-flow fairness", "fair"),
            ("uncoordinated", "aalo-local"),
        ];
        let runs = policies.map(|(name, policy)| (name, planner.plan.exact(planner.trace, policy)));
        Ok(Box::new(move |results, section| {
            section.note("The text does not give the figure's points; these are ours.");
            let mut drawn = Vec::new();
            for (name, run) in runs {
                let ccts = &results.get(run)?.ccts_s;
                for p in [50.0, 95.0] {
                    let what = format!("{name}, P{p} of the CCTs");
                    let ours = percentile(ccts, p);
                    section
                        .add(Finding::new(what, Setting::FairComparison, &[run], ours).unit("s"));
                }
                drawn.push((name.to_owned(), ccts.clone()));
            }
            section.figures.push(cdf(
                "Coflow completion times",
                ["CCT (s)", "coflows"],
                None,
                drawn,
                "Further left is faster.",
            ));
            Ok(())
        }))
    }),
};
