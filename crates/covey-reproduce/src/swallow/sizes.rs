//! Figure 1: sizes of flows, from a trace.

use crate::finding::{Finding, Setting};
use crate::item::{Item, Planning};
use crate::plots::cdf;

/// The size above which the paper calls a flow large, in bytes.
const LARGE: f64 = 10e9;

pub(super) const FIGURE_1: Item = Item {
    place: "Figure 1",
    section: "II-A",
    shows: "sizes of flows, and the traffic of large flows",
    plan: Planning::Runs(|planner| {
        let trace = planner.trace;
        Ok(Box::new(move |results, section| {
            section.note(
                "The paper measured flows of Spark on a cluster. These are those of the trace: one for each pair of \
                 a mapper's and a reducer's rack.",
            );
            let coflows = &results.plan.workload(trace).coflows;
            let sizes: Vec<f64> =
                coflows.iter().flat_map(|c| &c.flows).map(|flow| flow.bytes).collect();
            let all: f64 = sizes.iter().sum();
            let small = sizes.iter().filter(|size| **size < LARGE).count() as f64;
            let large =
                sizes.iter().filter(|size| **size > LARGE).fold(0.0, |sum, size| sum + size);
            let rows = [
                ("flows below 10 GB", 100.0 * small / sizes.len() as f64, "flows"),
                ("traffic of flows above 10 GB", 100.0 * large / all, "bytes"),
            ];
            for (what, ours, column) in rows {
                let published = results.published("Figure 1", "10 GB", column);
                section.add(
                    Finding::new(what, Setting::FairComparison, &[], ours)
                        .on(trace)
                        .unit("%")
                        .published(published, 0.05)
                        .why(WHY),
                );
            }
            let largest = sizes.iter().copied().fold(0.0, f64::max) / 1e9;
            let found = Finding::new("largest flow", Setting::FairComparison, &[], largest);
            section.add(found.on(trace).unit("GB"));
            let megabytes = sizes.iter().map(|size| size / 1e6).collect();
            section.figures.push(cdf(
                "Sizes of flows",
                ["size (MB)", "flows"],
                None,
                vec![("flows of the trace".to_owned(), megabytes)],
                "A MB has 10^6 bytes.",
            ));
            Ok(())
        }))
    }),
};

const WHY: &str = "The paper's flows are blocks of HiBench jobs of up to terabytes. A coflow of this trace has up to \
    tens of thousands of flows, so that no flow is that large.";
