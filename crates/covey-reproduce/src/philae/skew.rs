//! Figures 4(c) and 4(d): coflows whose flows differ in size.

use covey_trace::transform::{Filter, Mantri, filter, mantri};

use super::comparison::{COLUMNS, Comparison, aalo, philae, plot_means};
use crate::finding::{Finding, Setting};
use crate::item::{Item, Planning};

pub(super) const FIGURE_4C: Item = Item {
    place: "Figure 4(c)",
    section: "8.5",
    shows: "speed-up over Aalo on coflows of at least a given skew",
    plan: Planning::Runs(|planner| {
        let mut traces = Vec::new();
        for min_skew in ["1", "2", "3", "4", "5"] {
            let skewed = Filter { min_skew: min_skew.parse().ok(), ..Filter::default() };
            let name = format!("skew above {min_skew}");
            let trace =
                planner.plan.derived(&name, planner.trace, |trace| filter(trace, skewed))?;
            traces.push((
                min_skew,
                trace,
                Comparison::with_aalo(&mut planner.plan, trace, "philae"),
            ));
        }
        Ok(Box::new(move |results, section| {
            for (min_skew, trace, comparisons) in traces {
                let coflows = results.plan.workload(trace).coflows.len() as f64;
                let published = results.published("Figure 4(c)", min_skew, "coflows");
                section.add(
                    Finding::new(
                        format!("coflows of skew {min_skew}"),
                        Setting::FairComparison,
                        &[],
                        coflows,
                    )
                    .on(trace)
                    .unit("")
                    .published(published, 0.0)
                    .why(WHY_COFLOWS),
                );
                for comparison in comparisons {
                    let what = format!("skew {min_skew}, mean of CCTs");
                    let place = ["Figure 4(c)", min_skew, "mean of CCTs"];
                    let why = match comparison.setting {
                        Setting::PapersSetting => super::comparison::FEWER_EVENTS,
                        _ => super::comparison::ONE_FRAMEWORK,
                    };
                    section.add(comparison.finding(what, place, results)?.why(why));
                }
            }
            plot_means("Speed-up of the mean CCT over Aalo", section);
            Ok(())
        }))
    }),
};

const WHY_COFLOWS: &str = "One coflow less than published. 31 coflows have a skew of exactly 3; no way of \
    rounding was found that moves one of them across the limit.";

pub(super) const FIGURE_4D: Item = Item {
    place: "Figure 4(d)",
    section: "8.5",
    shows: "speed-up over Aalo, Mantri-like trace",
    plan: Planning::Runs(|planner| {
        let how = Mantri { cv_p50: 0.34, cv_p90: 3.1, seed: 1 };
        let trace =
            planner.plan.derived("mantri-like", planner.trace, |trace| mantri(trace, how))?;
        let comparison = Comparison {
            setting: Setting::FairComparison,
            base: aalo(&mut planner.plan, trace),
            philae: philae(&mut planner.plan, trace, "philae"),
        };
        Ok(Box::new(move |results, section| {
            section.note(
                "Mappers' shares are redrawn with seed 1 (covey trace mantri). The public versions of both \
                 simulators of the paper's setting give each reducer the same bytes from every mapper, so \
                 only the fair comparison is possible.",
            );
            for column in COLUMNS {
                let place = ["Figure 4(d)", "Aalo", column];
                let why =
                    if column == "mean of CCTs" { WHY_4D } else { super::comparison::PERCENTILES };
                section
                    .add(comparison.finding(format!("Aalo, {column}"), place, results)?.why(why));
            }
            Ok(())
        }))
    }),
};

const WHY_4D: &str = "Philae takes one pilot per mapper. Where a few mappers send nearly all bytes, the mean of \
    a few pilots is no estimate: a coflow of terabytes passes for a small one and delays all others. The \
    paper does not say how it redrew its mappers; ours match the two published percentiles.";
