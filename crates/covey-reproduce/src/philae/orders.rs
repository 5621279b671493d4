//! Table 3: the orders of coflows.

use super::comparison::{COLUMNS, Comparison, plot_means};
use crate::finding::{Finding, Setting};
use crate::item::{Item, Planning};

pub(super) const TABLE_3: Item = Item {
    place: "Table 3",
    section: "8.3",
    shows: "speed-up over Aalo by order of coflows",
    plan: Planning::Runs(|planner| {
        let comparisons = ["A", "B", "C", "D"].map(|order| {
            let policy = match order {
                "D" => "philae".to_owned(),
                _ => format!("philae:order={order}"),
            };
            (order, Comparison::with_aalo(&mut planner.plan, planner.trace, &policy))
        });
        let strict = Comparison {
            setting: Setting::FairComparison,
            base: planner.plan.exact(planner.trace, "aalo:queues=strict,delta=0"),
            philae: planner.plan.exact(planner.trace, "philae:queues=strict"),
        };
        Ok(Box::new(move |results, section| {
            for (order, comparisons) in comparisons {
                for comparison in comparisons {
                    for column in COLUMNS {
                        let what = format!("{order}, {column}");
                        let finding =
                            comparison.finding(what, ["Table 3", order, column], results)?;
                        section.add(finding.why(why(order, column, comparison.setting)));
                    }
                }
            }
            plot_means("Speed-up of the mean CCT over Aalo", section);
            for column in COLUMNS {
                let what = format!("D with strict queues, {column}");
                let ours = strict.speedup(column, results)?;
                let runs = [strict.base, strict.philae];
                section.add(Finding::new(what, strict.setting, &runs, ours));
            }
            Ok(())
        }))
    }),
};

fn why(order: &str, column: &str, setting: Setting) -> &'static str {
    match (order, column, setting) {
        ("C", "P50" | "P90", _) => {
            "In the authors' program order C has neither pilots nor thin coflows: all coflows wait in one queue, \
             and small coflows wait for large ones. In the exact simulator thin coflows go first, as under \
             the other orders. The published mean matches the former; the published percentiles match \
             neither."
        }
        ("C", ..) => {
            "The exact simulator serves thin coflows first and admits each coflow when it arrives, not in bins."
        }
        ("B", "mean of CCTs", Setting::FairComparison) => {
            "The rest of an estimated size shrinks while a coflow is sent, so coflows of equal size overtake \
             each other. In the exact simulator this costs more than it gains."
        }
        _ => super::comparison::why(column, setting),
    }
}
