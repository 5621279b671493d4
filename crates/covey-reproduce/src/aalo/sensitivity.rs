//! §7.5 and §7.6: the number of queues, the factor between their limits, and the coordination
//! interval.

use crate::finding::{Finding, Rule, Setting};
use crate::item::{Item, Planning};
use crate::plan::{Results, RunId};
use crate::plots::curves;

/// The points (value, gain over fairness) of runs with several values of a parameter.
fn gains(
    fair: RunId,
    runs: &[(f64, RunId)],
    results: &Results<'_>,
) -> Result<Vec<[f64; 2]>, String> {
    runs.iter().map(|(value, run)| Ok([*value, results.gain(fair, *run)?])).collect()
}

pub(super) const QUEUES: Item = Item {
    place: "Section 7.5",
    section: "7.5",
    shows: "gain over per-flow fairness by number of queues and factor between them",
    plan: Planning::Runs(|planner| {
        let mut sweep = |values: &[u32], spec: fn(u32) -> String| -> Vec<(f64, RunId)> {
            let one =
                |value: &u32| (f64::from(*value), planner.plan.exact(planner.trace, &spec(*value)));
            values.iter().map(one).collect()
        };
        let queues = |k: u32| format!("aalo:K={k},queues=strict,delta=0");
        let by_k = sweep(&[1, 2, 5, 10], queues);
        let by_e = sweep(&[2, 5, 10, 32], |e| format!("aalo:E={e},queues=strict,delta=0"));
        let fair = planner.plan.exact(planner.trace, "fair");
        Ok(Box::new(move |results, section| {
            section.note(
                "Strict queues and exact crossings isolate the effect of the queues. With one queue Aalo is \
                 first in, first out.",
            );
            let setting = Setting::FairComparison;
            let (k, e) = (gains(fair, &by_k, results)?, gains(fair, &by_e, results)?);
            for (name, runs, gains) in [("K", &by_k, &k), ("E", &by_e, &e)] {
                for ((value, run), [_, gain]) in runs.iter().zip(gains) {
                    section.add(Finding::new(
                        format!("{name} = {value}"),
                        setting,
                        &[fair, *run],
                        *gain,
                    ));
                }
            }
            let stable = |gains: &[[f64; 2]]| {
                let values =
                    || gains.iter().filter(|[value, _]| *value >= 2.0).map(|[_, gain]| *gain);
                values().fold(0.0, f64::max) / values().fold(f64::MAX, f64::min)
            };
            let over_all = |name: &str, runs: &[(f64, RunId)], gains: &[[f64; 2]]| {
                let runs: Vec<RunId> = runs.iter().map(|(_, run)| *run).chain([fair]).collect();
                let what = format!("greatest gain over least, {name}");
                Finding::new(what, setting, &runs, stable(gains))
            };
            section.add(
                over_all("K ≥ 2", &by_k, &k)
                    .says("stable for any number of queues from 2", Rule::AtMost(1.25))
                    .why(WHY),
            );
            section.add(over_all("E", &by_e, &e));
            let drawn = vec![("number of queues K".to_owned(), k), ("factor E".to_owned(), e)];
            section.figures.push(curves(
                "Aalo's gain over per-flow fairness",
                ["K or E", "gain in mean CCT"],
                drawn,
                "The other parameter is 10.",
            ));
            Ok(())
        }))
    }),
};

const WHY: &str = "With a first limit of 10 MB and few or narrow queues, the last queue holds most of the bytes and \
    serves large coflows first in, first out. Gains are stable once limits reach large coflows (K = 10 \
    with E = 10). The text we have does not say how the paper chose limits for few queues.";

pub(super) const DELTA: Item = Item {
    place: "Section 7.6, δ",
    section: "7.6",
    shows: "gain over per-flow fairness by the interval of coordination",
    plan: Planning::Runs(|planner| {
        let intervals = [0.0, 0.008, 1.0, 10.0];
        let runs = intervals.map(|delta_s| {
            let policy = format!("aalo:queues=strict,delta={}ms", delta_s * 1e3);
            (delta_s, planner.plan.exact(planner.trace, &policy))
        });
        let fair = planner.plan.exact(planner.trace, "fair");
        Ok(Box::new(move |results, section| {
            section.note("Queues are strict. The text we have does not give the figure's points.");
            let gains = gains(fair, &runs, results)?;
            for ((delta_s, run), [_, gain]) in runs.iter().zip(&gains) {
                let what = format!("δ = {} ms", delta_s * 1e3);
                section.add(Finding::new(what, Setting::FairComparison, &[fair, *run], *gain));
            }
            let ratio = gains[1][1] / gains[3][1];
            section.add(
                Finding::new(
                    "gain at 8 ms over that at 10 s",
                    Setting::FairComparison,
                    &[runs[1].1, runs[3].1],
                    ratio,
                )
                .says(
                    "experiments with increasing Δ suggest that coordination counts",
                    Rule::AtLeast(1.1),
                ),
            );
            // The axis is logarithmic and cannot show 0.
            let points = gains.into_iter().map(|[x, y]| [x.max(0.001), y]).collect();
            section.figures.push(curves(
                "Aalo's gain over per-flow fairness",
                ["δ (s)", "gain in mean CCT"],
                vec![("strict queues".to_owned(), points)],
                "The first point is immediate coordination (δ = 0).",
            ));
            Ok(())
        }))
    }),
};
