//! Figure 6 and Table 5: the testbed, and jobs that also compute.

use covey_trace::transform::{Filter, filter};
use covey_trace::{TraceError, shuffle_shares};

use super::comparison::Comparison;
use crate::finding::{Finding, Setting};
use crate::item::{Evaluate, Item, Planner, Planning};
use crate::jobs::{SEEDS, speedups};
use crate::numbers::{mean, percent, percentile};
use crate::plan::TraceId;
use crate::plots::cdf;

pub(super) const FIGURE_6: Item = Item {
    place: "Figure 6",
    section: "9.2",
    shows: "speed-up of jobs over Aalo (testbed)",
    plan: Planning::Runs(|planner| {
        let comparisons = Comparison::with_aalo(&mut planner.plan, planner.trace, "philae");
        Ok(figure_6(
            comparisons.into(),
            "The paper measured this on 150 machines; here it is simulated.",
        ))
    }),
};

/// What can be measured on a testbed, in the order of the paper.
pub const TESTBED_ITEMS: &[Item] = &[
    Item {
        place: "Table 5",
        section: "9.1",
        shows: "speed-up over Aalo (testbed)",
        plan: Planning::Runs(|planner| {
            let rows = rows(planner)?;
            let rows = rows.map(|(row, it)| (row, vec![Comparison::on_testbed(planner, it)]));
            Ok(table_5(rows, SMALLER))
        }),
    },
    Item {
        place: "Figure 6",
        section: "9.2",
        shows: "speed-up of jobs over Aalo (testbed)",
        plan: Planning::Runs(|planner| {
            Ok(figure_6(vec![Comparison::on_testbed(planner, planner.trace)], SMALLER))
        }),
    },
];

const SMALLER: &str = "The paper measured this on 150 machines; here it is sixteen emulated hosts, on which racks \
    are folded: flows of a coflow between the same two hosts are one, and times and sizes are scaled.";

const FOLDED: &str = "Folded, coflows are narrower than the paper's, of which fewer are sampled and more are told \
    apart by their queues alone; Aalo's interval is that of the paper, though coflows are shorter; and its \
    coordinator does not miss it (Table 7).";

fn figure_6(comparisons: Vec<Comparison>, measured: &'static str) -> Evaluate {
    Box::new(move |results, section| {
        section.note(format!(
            "{measured} Each coflow is the shuffle of a job that spends the share φ of its time there \
             under Aalo, so that JCT = CCT₀/φ − CCT₀ + CCT. Shares are drawn from the published classes, \
             uniformly inside a class and at least 1 %; percentiles are means over {SEEDS} seeds (one: \
             covey compare --jct-shares)."
        ));
        for comparison in comparisons {
            let base = &results.get(comparison.base)?.ccts_s;
            let ccts = &results.get(comparison.philae)?.ccts_s;
            let all: Vec<Vec<f64>> = (1..=SEEDS).map(|seed| speedups(base, ccts, seed)).collect();
            for (column, p) in [("P50", 50.0), ("P90", 90.0)] {
                let ours = mean(&all.iter().map(|one| percentile(one, p)).collect::<Vec<_>>());
                let published = results.published("Figure 6", "JCT", column);
                let runs = [comparison.base, comparison.philae];
                section.add(
                    Finding::new(format!("JCT, {column}"), comparison.setting, &runs, ours)
                        .published(published, super::comparison::TOLERANCE)
                        .why(why(column, comparison.setting)),
                );
            }
            section.figures.push(cdf(
                &format!("Speed-up over Aalo, {}", comparison.setting.name()),
                ["speed-up over Aalo", "jobs or coflows"],
                Some(1.0),
                vec![
                    ("CCT".to_owned(), results.ratios(comparison.base, comparison.philae)?),
                    ("JCT (seed 1)".to_owned(), speedups(base, ccts, 1)),
                ],
                "Speed-ups of coflows, and of jobs that compute as well.",
            ));
        }
        Ok(())
    })
}

fn why(column: &str, setting: Setting) -> &'static str {
    match (column, setting) {
        ("P50", Setting::Testbed) => FOLDED,
        ("P50", _) => super::comparison::PERCENTILES,
        _ => {
            "It cannot follow from the published shares: 88 % of the jobs spend less than 75 % of their \
             time in shuffle and so gain less than 4 times however fast it is."
        }
    }
}

/// The columns of the classes, and the shares of time in shuffle at which they begin.
const CLASSES: [(&str, f64); 4] =
    [("below 25%", 0.0), ("25-49%", 0.25), ("50-74%", 0.5), ("75% and more", 0.75)];

pub(super) const SECTION_9_2: Item = Item {
    place: "Section 9.2",
    section: "9.2",
    shows: "jobs by the part of their time spent in shuffle, as they are drawn for Figure 6",
    plan: Planning::Runs(|planner| {
        let jobs = planner.plan.workload(planner.trace).coflows.len();
        Ok(Box::new(move |results, section| {
            section.note(format!("A job for each coflow of the trace, over {SEEDS} seeds."));
            let drawn: Vec<f64> = (1..=SEEDS).flat_map(|seed| shuffle_shares(jobs, seed)).collect();
            for (k, (column, least)) in CLASSES.into_iter().enumerate() {
                let below = CLASSES.get(k + 1).map_or(f64::INFINITY, |(_, share)| *share);
                let ours = percent(&drawn, |share| (least..below).contains(&share));
                let published = results.published("Section 9.2", "jobs", column);
                section.add(
                    Finding::new(column, Setting::FairComparison, &[], ours)
                        .unit("%")
                        .published(published, 0.1),
                );
            }
            Ok(())
        }))
    }),
};

pub(super) const TABLE_5: Item = Item {
    place: "Table 5",
    section: "9.1",
    shows: "speed-up over Aalo (testbed)",
    plan: Planning::Runs(|planner| {
        let rows = rows(planner)?.map(|(row, trace)| {
            (row, Comparison::with_aalo(&mut planner.plan, trace, "philae").into())
        });
        let both = "The paper measured this on 150 machines, both policies in one framework; here it is \
                    simulated.";
        Ok(table_5(rows, both))
    }),
};

/// The workloads of Table 5.
fn rows(planner: &mut Planner) -> Result<[(&'static str, TraceId); 2], TraceError> {
    let wide = Filter { min_width: Some(8), ..Filter::default() };
    let wide = planner.plan.derived("wide-only", planner.trace, |trace| filter(trace, wide))?;
    Ok([("FB trace", planner.trace), ("wide coflows only", wide)])
}

fn table_5(rows: [(&'static str, Vec<Comparison>); 2], measured: &'static str) -> Evaluate {
    Box::new(move |results, section| {
        section.note(format!(
            "{measured} For wide coflows the paper's text says 1.52×, its table 1.49×."
        ));
        for (row, comparisons) in rows {
            for comparison in comparisons {
                for column in ["P50", "P90", "mean of CCTs"] {
                    let what = format!("{row}, {column}");
                    let finding = comparison.finding(what, ["Table 5", row, column], results)?;
                    section.add(finding.why(why_testbed(row, column, comparison.setting)));
                }
            }
        }
        Ok(())
    })
}

fn why_testbed(row: &str, column: &str, setting: Setting) -> &'static str {
    match (row, column, setting) {
        (.., Setting::Testbed) => FOLDED,
        ("FB trace", "P50" | "P90", _) => super::comparison::PERCENTILES,
        (.., Setting::FairComparison | Setting::Live) => {
            "On the testbed Aalo's coordinator missed its interval in 16 % of the cases (Table 7); here it \
             decides in no time."
        }
        (.., Setting::PapersSetting) => {
            "The paper's setting is that of its simulations, whose ratios are between two simulators."
        }
    }
}
