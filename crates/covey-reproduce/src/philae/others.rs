//! Figures 4(a), 4(b) and 5 and Table 4: Philae compared with other policies, and the coflows that
//! gain.

use covey_trace::transform::{Filter, filter};
use covey_trace::{Coflow, MB, Stats};

use super::comparison::{COLUMNS, Comparison, aalo, philae, plot_means};
use crate::finding::{Finding, Rule, Setting};
use crate::item::{Item, Planning, Section};
use crate::numbers::percent;
use crate::plan::{Plan, Results, TraceId};
use crate::plots::cdf;

/// The paper's names of the policies compared with Philae, and their names in both simulators.
const OTHERS: [(&str, &str); 5] = [
    ("Aalo", "aalo"),
    ("Aalo-Oracle", "aalo-oracle"),
    ("SEBF", "sebf"),
    ("FIFO", "fifo"),
    ("FAIR", "fair"),
];

/// Plans Philae and each of the first `count` other policies, in both settings.
fn comparisons(plan: &mut Plan, trace: TraceId, count: usize) -> Vec<(&'static str, Comparison)> {
    let mut comparisons = Vec::new();
    for (name, policy) in &OTHERS[..count] {
        let base = if *name == "Aalo" { aalo(plan, trace) } else { plan.exact(trace, policy) };
        let philae = philae(plan, trace, "philae");
        comparisons.push((*name, Comparison { setting: Setting::FairComparison, base, philae }));
        let (base, philae) = (plan.coflowsim(trace, policy), plan.authors(trace, "philae"));
        comparisons.push((*name, Comparison { setting: Setting::PapersSetting, base, philae }));
    }
    comparisons
}

/// Adds findings and figures of the speed-ups at a place. `why` gives the reason for a difference
/// by policy, column and setting.
fn speedups(
    place: &str,
    comparisons: &[(&'static str, Comparison)],
    results: &Results<'_>,
    section: &mut Section,
    why: fn(&str, &str, Setting) -> &'static str,
) -> Result<(), String> {
    for (name, comparison) in comparisons {
        for column in COLUMNS {
            let what = format!("{name}, {column}");
            let finding = comparison.finding(what, [place, name, column], results)?;
            section.add(finding.why(why(name, column, comparison.setting)));
        }
    }
    plot_means("Philae's speed-up of the mean CCT", section);
    for setting in [Setting::FairComparison, Setting::PapersSetting] {
        let curves = comparisons.iter().filter(|(_, comparison)| comparison.setting == setting);
        let curves = curves.map(|(name, comparison)| {
            Ok(((*name).to_owned(), results.ratios(comparison.base, comparison.philae)?))
        });
        section.figures.push(cdf(
            &format!("Speed-up, coflow by coflow, {}", setting.name()),
            ["speed-up of a coflow by Philae", "coflows"],
            Some(1.0),
            curves.collect::<Result<Vec<_>, String>>()?,
            "Each coflow's CCT under the other policy divided by its CCT under Philae. Philae is faster to \
             the right of 1.",
        ));
    }
    Ok(())
}

pub(super) const FIGURE_4A: Item = Item {
    place: "Figure 4(a)",
    section: "8.4",
    shows: "speed-up over other policies, Facebook trace",
    plan: Planning::Runs(|planner| {
        let comparisons = comparisons(&mut planner.plan, planner.trace, 5);
        Ok(Box::new(move |results, section| {
            speedups("Figure 4(a)", &comparisons, results, section, why_4a)
        }))
    }),
};

fn why_4a(name: &str, column: &str, setting: Setting) -> &'static str {
    match (name, setting) {
        ("SEBF", _) => {
            "No SEBF was found that Philae beats. SEBF knows sizes: it is much faster in the exact simulator, \
             and even CoflowSim's SEBF is 1 % faster."
        }
        ("FIFO", Setting::FairComparison) => {
            "FIFO with max-min sharing inside a coflow has a mean of 385 s; CoflowSim's FIFO with MADD and \
             backfill has 81 s. Sharing and backfilling matter more than the order."
        }
        ("FIFO", Setting::PapersSetting) => {
            "The ratio of means is 9 % below the published one. CoflowSim's FIFO backfills, which makes small \
             coflows faster than in the paper's."
        }
        ("FAIR", _) => {
            "Fair sharing has a mean of 64.6 s in the exact simulator and 68.9 s in CoflowSim. The published \
             ratio would need about 160 s. The paper does not say what it ran."
        }
        _ => super::comparison::why(column, setting),
    }
}

pub(super) const FIGURE_4B: Item = Item {
    place: "Figure 4(b)",
    section: "8.4",
    shows: "speed-up over other policies, coflows of more than 7 flows",
    plan: Planning::Runs(|planner| {
        let wide = Filter { min_width: Some(8), ..Filter::default() };
        let trace =
            planner.plan.derived("wide-only", planner.trace, |trace| filter(trace, wide))?;
        let comparisons = comparisons(&mut planner.plan, trace, 3);
        Ok(Box::new(move |results, section| {
            speedups("Figure 4(b)", &comparisons, results, section, why_4b)
        }))
    }),
};

fn why_4b(name: &str, column: &str, setting: Setting) -> &'static str {
    match (name, setting) {
        ("SEBF", Setting::FairComparison) => {
            "SEBF knows sizes and is much faster in the exact simulator."
        }
        ("SEBF", Setting::PapersSetting) => {
            "No SEBF was found that Philae beats by that much: CoflowSim's is about as fast as Philae."
        }
        (_, Setting::PapersSetting) => super::comparison::FEWER_EVENTS,
        _ => super::comparison::why(column, setting),
    }
}

pub(super) const TABLE_4: Item = Item {
    place: "Table 4",
    section: "8.4",
    shows: "coflows by width (7 flows) and size (100 MB)",
    plan: Planning::Runs(|planner| {
        let trace = planner.trace;
        Ok(Box::new(move |results, section| {
            let bins = Stats::of(results.plan.workload(trace)).by_width_and_size;
            let cells =
                [("small", "thin"), ("small", "wide"), ("large", "thin"), ("large", "wide")];
            for (bin, (row, column)) in bins.iter().zip(cells) {
                let published = results.published("Table 4", row, column);
                let share = 100.0 * bin.coflow_share;
                section.add(
                    Finding::new(format!("{column}, {row}"), Setting::FairComparison, &[], share)
                        .on(trace)
                        .unit("%")
                        .published(published, 0.02),
                );
            }
            Ok(())
        }))
    }),
};

/// A coflow loses if its speed-up is below this value. It gains if its speed-up exceeds the
/// inverse.
const LOSES: f64 = 0.97;

/// The bin of a coflow in Table 4, numbered from 0.
fn bin(coflow: &Coflow) -> usize {
    let (wide, large) = (coflow.width() > 7, coflow.size_bytes() > 100.0 * MB);
    usize::from(wide) + 2 * usize::from(large)
}

pub(super) const FIGURE_5: Item = Item {
    place: "Figure 5",
    section: "8.4",
    shows: "speed-up over Aalo by the bins of Table 4",
    plan: Planning::Runs(|planner| {
        let comparisons = Comparison::with_aalo(&mut planner.plan, planner.trace, "philae");
        let trace = planner.trace;
        Ok(Box::new(move |results, section| {
            section.note(
                "A coflow loses if it takes 3 % longer, and gains if it takes 3 % less. Equal numbers of quanta, \
                 in seconds of 1024 and of 1000 ms, are thus neither.",
            );
            for comparison in comparisons {
                let workload = results.plan.workload(trace);
                let mut ratios_by_bin = [const { Vec::new() }; 4];
                let ratios = results.ratios(comparison.base, comparison.philae)?;
                for (coflow, ratio) in workload.coflows.iter().zip(&ratios) {
                    ratios_by_bin[bin(coflow)].push(*ratio);
                }
                let losers: Vec<f64> =
                    ratios_by_bin.iter().map(|ratios| percent(ratios, |r| r < LOSES)).collect();
                let lost =
                    |bin: usize| ratios_by_bin[bin].iter().filter(|r| **r < LOSES).count() as f64;
                let all: f64 = (0..4).map(lost).sum();
                let winners = percent(&ratios_by_bin[3], |r| r > 1.0 / LOSES);
                let (all_coflows, most) = (Rule::AtLeast(100.0), Rule::MoreThan(50.0));
                for (bin, what, ours, says, rule) in [
                    (
                        0,
                        "coflows of bin 1 that do not lose",
                        100.0 - losers[0],
                        "all gain in bin 1 (thin, small)",
                        all_coflows,
                    ),
                    (
                        2,
                        "coflows of bin 3 that do not lose",
                        100.0 - losers[2],
                        "all gain in bin 3 (thin, large)",
                        all_coflows,
                    ),
                    (
                        3,
                        "coflows of bin 4 that gain",
                        winners,
                        "most gain in bin 4 (wide, large)",
                        most,
                    ),
                    (
                        1,
                        "coflows in bin 2 (wide, small) of those that lose",
                        100.0 * lost(1) / all,
                        "most coflows that lose are in bin 2",
                        most,
                    ),
                ] {
                    let runs = [comparison.base, comparison.philae];
                    let found = Finding::new(what, comparison.setting, &runs, ours).unit("%");
                    section.add(found.says(says, rule).why(why_5(bin)));
                }
                let names = ["thin, small", "wide, small", "thin, large", "wide, large"];
                let curves = names.map(str::to_owned).into_iter().zip(ratios_by_bin).collect();
                section.figures.push(cdf(
                    &format!("Speed-up by bin, {}", comparison.setting.name()),
                    ["speed-up of a coflow over Aalo", "coflows of the bin"],
                    Some(1.0),
                    curves,
                    "Each coflow's CCT under Aalo divided by its CCT under Philae, by bin of Table 4.",
                ));
            }
            Ok(())
        }))
    }),
};

fn why_5(bin: usize) -> &'static str {
    match bin {
        0 | 2 => {
            "A few thin coflows are slower: under Philae a thin coflow waits for thin coflows with less contention."
        }
        3 => {
            "At most half of the large, wide coflows gain, and a few of them gain much: Philae serves them one \
             after another, Aalo serves them side by side."
        }
        _ => "At least half of the coflows that lose are in other bins, most of them in bin 4.",
    }
}
