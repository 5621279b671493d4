//! Figure 7: when coflows arrive, and how many there are at once.

use crate::finding::{Finding, Rule, Setting};
use crate::item::{Item, Planning};
use crate::numbers::percentile;
use crate::plots::cdf;

pub(super) const FIGURE_7: Item = Item {
    place: "Figure 7",
    section: "6.1",
    shows: "time between arrivals of coflows, and number of coflows present",
    plan: Planning::Runs(|planner| {
        let (trace, fair) = (planner.trace, planner.plan.exact(planner.trace, "fair"));
        Ok(Box::new(move |results, section| {
            section.note(
                "Coflows are present from their arrival to their end under per-flow fairness.",
            );
            let arrivals =
                results.plan.workload(trace).coflows.iter().map(|coflow| coflow.arrival_s);
            let mut arrivals: Vec<f64> = arrivals.collect();
            arrivals.sort_by(f64::total_cmp);
            let gaps: Vec<f64> = arrivals.windows(2).map(|pair| pair[1] - pair[0]).collect();
            let mut ends = results.get(fair)?.ends_s.clone();
            ends.sort_by(f64::total_cmp);
            let number = |times: &[f64], now: f64| times.partition_point(|&time| time <= now);
            let present = arrivals
                .iter()
                .map(|&now| number(&arrivals, now).saturating_sub(number(&ends, now)) as f64);
            let present: Vec<f64> = present.collect();
            let setting = Setting::FairComparison;
            let rows = [
                ("time between arrivals, P5", percentile(&gaps, 5.0), "s", Rule::AtLeast(0.01)),
                ("time between arrivals, P95", percentile(&gaps, 95.0), "s", Rule::AtMost(100.0)),
                ("coflows present, P95", percentile(&present, 95.0), "", Rule::AtMost(30.0)),
            ];
            for (what, ours, unit, rule) in rows {
                let says = match unit {
                    "s" => "coflows arrive from 0.01 to 100 s apart",
                    _ => "up to 30 coflows are present",
                };
                section.add(
                    Finding::new(what, setting, &[fair], ours)
                        .on(trace)
                        .unit(unit)
                        .says(says, rule),
                );
            }
            let caption = "At the arrival of each coflow, itself included.";
            let curves = vec![("coflows".to_owned(), present)];
            section.figures.push(cdf(
                "Coflows present",
                ["coflows", "arrivals"],
                None,
                curves,
                caption,
            ));
            Ok(())
        }))
    }),
};
