//! Figure 1 and Table 3: sizes, lengths and widths of the trace's coflows, and classes of sizes.

use covey_trace::Coflow;
use covey_trace::MB;
use covey_trace::stats::{SizeClass, SizeTable};
use covey_trace::transform::Shape;

use super::times::Jobs;
use super::workloads::jobs;
use crate::finding::{Finding, Setting};
use crate::item::{Item, Planning};
use crate::numbers::{mean, percent, percentile};
use crate::plots::cdf;

/// An hour of the trace is public; the paper's numbers are of all of it.
const WHY: &str = "The public hour has a larger part of large coflows than published: the paper \
    quotes another, longer trace (Varys, SIGCOMM 2014).";

/// The part of a figure that shows one property of coflows.
macro_rules! distribution {
    ($place:literal, $name:literal, $unit:literal, $scale:expr, $of:expr) => {
        Item {
            place: $place,
            section: "II",
            shows: concat!("distribution of the ", $name, " of coflows"),
            plan: Planning::Runs(|planner| {
                let trace = planner.trace;
                Ok(Box::new(move |results, section| {
                    let of: fn(&Coflow) -> f64 = $of;
                    let coflows = &results.plan.workload(trace).coflows;
                    let values: Vec<f64> = coflows.iter().map(of).map(|v| v / $scale).collect();
                    let all: f64 = values.iter().sum();
                    if $place == "Figure 1(a)" {
                        for (row, limit) in [("1 GB", 1024.0), ("10 GB", 10_240.0)] {
                            let large: f64 = values.iter().filter(|size| **size >= limit).sum();
                            let share = percent(&values, |size| size >= limit);
                            for (column, ours) in
                                [("coflows", share), ("bytes", 100.0 * large / all)]
                            {
                                let what =
                                    format!("coflows of at least {row}: share of the {column}");
                                section.add(
                                    Finding::new(what, Setting::FairComparison, &[], ours)
                                        .on(trace)
                                        .unit("%")
                                        .published(results.published($place, row, column), 0.05)
                                        .why(WHY),
                                );
                            }
                        }
                    }
                    for p in [50.0, 90.0, 99.0] {
                        let what = format!("{}, P{p}", $name);
                        let ours = percentile(&values, p);
                        let finding = Finding::new(what, Setting::FairComparison, &[], ours);
                        section.add(finding.on(trace).unit($unit));
                    }
                    let what = format!("{}, mean", $name);
                    let finding = Finding::new(what, Setting::FairComparison, &[], mean(&values));
                    section.add(finding.on(trace).unit($unit));
                    let axis = if $unit.is_empty() {
                        $name.to_owned()
                    } else {
                        concat!($name, " (", $unit, ")").to_owned()
                    };
                    let curves = vec![("Facebook trace".to_owned(), values)];
                    section.figures.push(cdf(
                        concat!("The ", $name, " of coflows"),
                        [&axis, "coflows"],
                        None,
                        curves,
                        "A MB has 2^20 bytes.",
                    ));
                    Ok(())
                }))
            }),
        }
    };
}

pub(super) const FIGURE_1A: Item =
    distribution!("Figure 1(a)", "size", "MB", MB, Coflow::size_bytes);
pub(super) const FIGURE_1B: Item =
    distribution!("Figure 1(b)", "length", "MB", MB, Coflow::length_bytes);
pub(super) const FIGURE_1C: Item =
    distribution!("Figure 1(c)", "width", "flows", 1.0, |coflow| coflow.width() as f64);

pub(super) const TABLE_3: Item = Item {
    place: "Table 3",
    section: "IV-A",
    shows: "classes of coflows (A) and of jobs (B) by size",
    plan: Planning::Runs(|planner| {
        let whole = planner.trace;
        let stages = jobs(planner, Shape::Tao)?;
        Ok(Box::new(move |results, section| {
            section.note(
                "The table gives limits only: 100 MB, 1 GB, 10 GB and 100 GB for coflows, ten \
                 times as much for jobs. Class I begins at 1 MB and 6 MB there, at 0 here. Its \
                 smallest job is published, as six times the smallest coflow; our jobs therefore \
                 have six stages.",
            );
            let setting = Setting::FairComparison;
            let tables = [("A", whole, SizeTable::ManyToOne), ("B", stages, SizeTable::ManyToMany)];
            for (name, trace, table) in tables {
                let workload = results.plan.workload(trace);
                let jobs = Jobs::of(workload);
                let smallest = jobs.bytes(workload).into_iter().fold(f64::INFINITY, f64::min) / MB;
                let smallest = Finding::new(format!("{name}, smallest"), setting, &[], smallest)
                    .on(trace)
                    .unit("MB")
                    .published(results.published("Table 3", name, "smallest"), 0.0);
                // Our jobs are made of six stages so that theirs is as published.
                section.add(if name == "B" { smallest.check() } else { smallest });
                let classes = jobs.classes(workload, table);
                for class in SizeClass::ALL {
                    let inside = classes.iter().filter(|of| **of == class).count();
                    let share = 100.0 * inside as f64 / classes.len() as f64;
                    let what = format!("{name}, class {}", class.name());
                    section.add(Finding::new(what, setting, &[], share).on(trace).unit("%"));
                }
            }
            Ok(())
        }))
    }),
};
