//! Table 2: the number of pilots.

use super::comparison::Comparison;
use super::learning::errors;
use crate::finding::{Finding, Setting};
use crate::item::{Item, Planning};
use crate::numbers::mean;

/// The columns of the table, and the values of Philae's parameter `pilots`.
const SCHEMES: [(&str, &str); 8] = [
    ("2", "const:2"),
    ("5% of senders", "senders:0.05"),
    ("10% of senders", "senders:0.1"),
    ("20% of senders", "senders:0.2"),
    ("50% of senders", "senders:0.5"),
    ("100% of senders", "senders:1"),
    ("1% of flows", "flows:0.01"),
    ("10% of flows", "flows:0.1"),
];

pub(super) const TABLE_2: Item = Item {
    place: "Table 2",
    section: "8.1",
    shows: "speed-up over Aalo and error of the estimate by how pilots are chosen",
    plan: Planning::Runs(|planner| {
        let comparisons = SCHEMES.map(|(column, pilots)| {
            // The default shares its run with other items.
            let policy = match column {
                "5% of senders" => "philae".to_owned(),
                _ => format!("philae:pilots={pilots}"),
            };
            (column, Comparison::with_aalo(&mut planner.plan, planner.trace, &policy))
        });
        let oracle = planner.plan.exact(planner.trace, "philae-oracle");
        Ok(Box::new(move |results, section| {
            for (column, comparisons) in comparisons {
                for comparison in comparisons {
                    let published = results.published("Table 2", "mean error", column);
                    let ours = 100.0 * mean(&errors(comparison.philae, results)?);
                    section.add(
                        Finding::new(
                            format!("{column}: mean error"),
                            comparison.setting,
                            &[comparison.philae],
                            ours,
                        )
                        .unit("%")
                        .published(published, 0.2)
                        .why(why_error(column)),
                    );
                    for row in ["mean of CCTs", "P50", "P90"] {
                        let published = results.published("Table 2", row, column);
                        let ours = comparison.speedup(row, results)?;
                        let runs = [comparison.base, comparison.philae];
                        section.add(
                            Finding::new(
                                format!("{column}: {row}"),
                                comparison.setting,
                                &runs,
                                ours,
                            )
                            .published(published, super::comparison::TOLERANCE)
                            .why(why(column, row, comparison.setting)),
                        );
                    }
                }
            }
            let base = comparisons[0].1[0].base;
            let what = "true lengths in place of pilots (philae-oracle): mean of CCTs";
            let ours = results.gain(base, oracle)?;
            section.add(Finding::new(what, Setting::FairComparison, &[base, oracle], ours));
            Ok(())
        }))
    }),
};

fn why_error(column: &str) -> &'static str {
    match column {
        "2" => {
            "The published error is at least twice ours, as if it were a mean over sampled coflows only. All \
             other columns fit a mean over all coflows, in which thin coflows have no error."
        }
        _ => {
            "The error depends on which flows are pilots, and the paper does not say how it orders equally busy \
             ports."
        }
    }
}

fn why(column: &str, row: &str, setting: Setting) -> &'static str {
    match (column, row) {
        ("10% of flows", "mean of CCTs") => {
            "With a tenth of all flows as pilots, the paper's Philae loses half of its speed. Both simulators \
             here lose less, since they send other flows of a coflow beside its pilots. The published loss \
             is not explained."
        }
        ("2", "mean of CCTs") => {
            "Two pilots are little or no worse here than a twentieth of the senders, so the gain is larger than \
             published. The difference is not explained."
        }
        _ => super::comparison::why(row, setting),
    }
}
