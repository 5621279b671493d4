//! Figure 8: how well coflows are identified.

use std::borrow::Cow;

use covey_identify::{Accuracies, Algorithm, Metric, accuracy, identify};
use covey_trace::observe::{HOSTS_ALONE, appear};

use crate::finding::{Finding, Rule, Setting};
use crate::item::{Item, Planning};
use crate::plan::{Results, TraceId};

use super::rungs::{COMPARED, ON_RUNGS, rung};

/// How well the coflows of a workload are identified, all at once, with the default metric.
pub(super) fn accuracy_on(results: &Results<'_>, trace: TraceId) -> Accuracies {
    let coflows = &results.plan.workload(trace).coflows;
    let with_number = (0..).zip(coflows);
    let truth: Vec<u32> =
        with_number.flat_map(|(k, coflow)| std::iter::repeat_n(k, coflow.flows.len())).collect();
    let seen = match results.plan.observed(trace) {
        [] => Cow::Owned(appear(results.plan.workload(trace), &HOSTS_ALONE)),
        seen => Cow::Borrowed(seen),
    };
    let groups = identify(&seen, &Metric::default(), Algorithm::DEFAULT);
    accuracy(&groups, &truth)
}

/// The trace that the user gave, of which only hosts and starts are known.
const AS_IT_IS: &str = "the trace as it is";

const WHY_CONTRIVED: &str = "Nearly all errors join coflows here, which lowers precision alone. The paper's workloads are \
    not in our text.";

pub(super) const FIGURE_8: Item = Item {
    place: "Figure 8",
    section: "6.3",
    shows: "accuracy of identification, on workloads from easy to contrived",
    plan: Planning::Runs(|planner| {
        let mut rungs = vec![(AS_IT_IS, planner.trace)];
        for name in COMPARED {
            rungs.push((name, rung(planner, name)?));
        }
        Ok(Box::new(move |results, section| {
            section.note(
                "Precision and recall are means over flows, with the default metric and without training. The paper \
                 has more than 90 % under normal workloads, and about 60 % under contrived ones, which are not in our \
                 text.",
            );
            section.note(ON_RUNGS);
            for (name, trace) in rungs {
                let found = accuracy_on(results, trace);
                let values =
                    [("precision", found.per_flow.precision), ("recall", found.per_flow.recall)];
                for (what, value) in values {
                    let what = format!("{name}: {what}");
                    let finding = Finding::new(what, Setting::FairComparison, &[], 100.0 * value);
                    let finding = finding.unit("%").on(trace);
                    section.add(match name {
                        AS_IT_IS => finding
                            .says("more than 90 % under normal workloads", Rule::MoreThan(90.0)),
                        "contrived" => {
                            finding.says("about 60 %", Rule::Between(54.0, 66.0)).why(WHY_CONTRIVED)
                        }
                        _ => finding,
                    });
                }
            }
            Ok(())
        }))
    }),
};
