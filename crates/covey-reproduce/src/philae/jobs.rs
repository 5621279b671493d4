//! Figure 6 and Table 5: the paper's testbed, and jobs that compute besides shuffling.

use covey_trace::transform::{Filter, filter};
use covey_trace::{TraceError, shuffle_shares};

use super::comparison::{COLUMNS, Comparison};
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
            "The paper measured this on 150 machines; here the runs are simulated.",
        ))
    }),
};

/// The items that are measured on a testbed, in the order of the paper.
pub const TESTBED_ITEMS: &[Item] = &[
    Item {
        place: "Table 5",
        section: "9.1",
        shows: "speed-up over Aalo (testbed)",
        plan: Planning::Runs(|planner| {
            let rows = rows(planner)?;
            let rows = rows.map(|(row, trace)| (row, vec![Comparison::on_testbed(planner, trace)]));
            Ok(table_5(rows, FEWER_HOSTS))
        }),
    },
    Item {
        place: "Figure 6",
        section: "9.2",
        shows: "speed-up of jobs over Aalo (testbed)",
        plan: Planning::Runs(|planner| {
            Ok(figure_6(vec![Comparison::on_testbed(planner, planner.trace)], FEWER_HOSTS))
        }),
    },
];

/// Introduces measurements on the testbed.
const FEWER_HOSTS: &str = "The paper measured this on 150 machines. Here sixteen emulated hosts each stand for several \
    racks: the flows of a coflow between the same two hosts become one, and times and sizes are scaled.";

/// The reason for differences on the testbed.
const FOLDED: &str = "Coflows are narrower than the paper's after racks are folded onto hosts. Therefore Philae samples \
    fewer of them, and only queues separate the others. Aalo's interval is that of the paper although \
    coflows are shorter, and its coordinator misses no interval (Table 7).";

fn figure_6(comparisons: Vec<Comparison>, introduction: &'static str) -> Evaluate {
    Box::new(move |results, section| {
        section.note(format!(
            "{introduction} Each coflow is the shuffle of a job that spends the share φ of its time in shuffle \
             under Aalo: JCT = CCT₀/φ − CCT₀ + CCT. Shares are drawn from the published classes, uniformly \
             inside a class and at least 1 %. Percentiles are means over {SEEDS} seeds (covey compare \
             --jct-shares uses one seed)."
        ));
        for comparison in comparisons {
            let base = &results.get(comparison.base)?.ccts_s;
            let ccts = &results.get(comparison.philae)?.ccts_s;
            let all: Vec<Vec<f64>> = (1..=SEEDS).map(|seed| speedups(base, ccts, seed)).collect();
            for (column, p) in [("P50", 50.0), ("P90", 90.0)] {
                let ours = mean(&all.iter().map(|jobs| percentile(jobs, p)).collect::<Vec<_>>());
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
                "Speed-ups of coflows, and of jobs that shuffle and compute.",
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
            "The published value cannot follow from the published shares: 88 % of the jobs spend less than \
             75 % of their time in shuffle, and even an infinitely fast shuffle speeds these up by a factor \
             below 4."
        }
    }
}

/// The columns of the classes, and the share of time in shuffle at which each class begins.
const CLASSES: [(&str, f64); 4] =
    [("below 25%", 0.0), ("25-49%", 0.25), ("50-74%", 0.5), ("75% and more", 0.75)];

pub(super) const SECTION_9_2: Item = Item {
    place: "Section 9.2",
    section: "9.2",
    shows: "jobs by the share of their time in shuffle, as drawn for Figure 6",
    plan: Planning::Runs(|planner| {
        let jobs = planner.plan.workload(planner.trace).coflows.len();
        Ok(Box::new(move |results, section| {
            section.note(format!(
                "Each coflow of the trace is the shuffle of one job; shares are over {SEEDS} seeds."
            ));
            let drawn: Vec<f64> = (1..=SEEDS).flat_map(|seed| shuffle_shares(jobs, seed)).collect();
            for (k, (column, from)) in CLASSES.into_iter().enumerate() {
                let below = CLASSES.get(k + 1).map_or(f64::INFINITY, |(_, share)| *share);
                let ours = percent(&drawn, |share| (from..below).contains(&share));
                let published = results.published("Section 9.2", "jobs", column);
                section.add(
                    Finding::new(column, Setting::FairComparison, &[], ours)
                        .unit("%")
                        .published(published, 0.1)
                        .check(),
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
        let introduction = "The paper measured this on 150 machines, with both policies in one framework; here the runs \
                    are simulated.";
        Ok(table_5(rows, introduction))
    }),
};

/// The workloads of Table 5.
fn rows(planner: &mut Planner) -> Result<[(&'static str, TraceId); 2], TraceError> {
    let wide = Filter { min_width: Some(8), ..Filter::default() };
    let wide = planner.plan.derived("wide-only", planner.trace, |trace| filter(trace, wide))?;
    Ok([("FB trace", planner.trace), ("wide coflows only", wide)])
}

fn table_5(rows: [(&'static str, Vec<Comparison>); 2], introduction: &'static str) -> Evaluate {
    Box::new(move |results, section| {
        section.note(format!(
            "{introduction} For wide coflows the paper's text says 1.52×, and its table says 1.49×."
        ));
        for (row, comparisons) in rows {
            for comparison in comparisons {
                for column in COLUMNS {
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
        (.., Setting::PapersSetting) => {
            "The paper's setting is that of its simulations, whose ratios compare two simulators."
        }
        _ => {
            "On the paper's testbed Aalo's coordinator missed 16 % of its intervals (Table 7); in simulation \
             decisions take no time."
        }
    }
}
