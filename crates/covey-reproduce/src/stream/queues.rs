//! Figures 11 and 14: the number of queues, and the threshold of the first.

use covey_trace::stats::{SizeClass, SizeTable};
use covey_trace::transform::Shape;

use super::contest::{EIGHT_PODS, Of, SPEEDS, one_time};
use super::workloads::{JOBS_NOTE, NOTE, jobs, many_to_one};
use crate::finding::{BETTER, Finding, Rule, Setting};
use crate::item::{Item, Planning};
use crate::plan::Platform;
use crate::plots::curves;

pub(super) const FIGURE_11: Item = Item {
    place: "Figure 11",
    section: "IV-B",
    shows: "mean time with 2 to 7 queues, 1G, eight pods",
    plan: Planning::Runs(|planner| {
        let trace = many_to_one(planner)?;
        let queues = [2_u32, 3, 4, 5, 6, 7];
        let runs = queues.map(|count| {
            let platform = Platform::on(EIGHT_PODS, SPEEDS[0].1);
            planner.plan.run_on(platform, trace, &format!("stream:K={count}"))
        });
        Ok(Box::new(move |results, section| {
            section.note(NOTE);
            section.note("Only the simulated curve is repeated; the other one is of a testbed.");
            let workload = results.plan.workload(trace);
            let mut means = Vec::new();
            for run in runs {
                let mean = one_time(results, run, workload, SizeTable::ManyToOne, Of::Mean)?;
                means.push(mean.unwrap_or(f64::NAN));
            }
            let setting = Setting::FairComparison;
            for ((count, run), mean) in queues.iter().zip(runs).zip(&means) {
                let what = format!("K = {count}, mean");
                section.add(Finding::new(what, setting, &[run], *mean).unit("s"));
            }
            let of = |count: usize| means[count - 2];
            section.add(
                Finding::new("mean with 4 queues over that with 7", setting, &runs, of(4) / of(7))
                    .says("four queues are sufficient", Rule::AtMost(1.05))
                    .why(WHY_SUFFICIENT),
            );
            let (first, later) = (of(2) - of(4), of(4) - of(7));
            section.add(
                Finding::new(
                    "what 2 more queues save, less what 3 more save",
                    setting,
                    &runs,
                    first - later,
                )
                .unit("s")
                .says("diminishing returns", Rule::MoreThan(0.0))
                .why(WHY_SUFFICIENT),
            );
            let points = queues.iter().zip(&means).map(|(k, mean)| [f64::from(*k), *mean]);
            let drawn = vec![("Stream".to_owned(), points.collect())];
            let axes = ["number of queues K", "mean time (s)"];
            section.figures.push(curves("Mean time by number of queues", axes, drawn, ""));
            Ok(())
        }))
    }),
};

const WHY_SUFFICIENT: &str = "Thresholds are 10, 100 and 1000 MB and so on. Each further queue \
    separates coflows ten times as large, and the mean is theirs: here it goes on falling until \
    queues reach the largest coflows.";

pub(super) const FIGURE_14: Item = Item {
    place: "Figure 14",
    section: "IV-B",
    shows: "time by class and threshold of the first queue, FB-Tao, 1G, eight pods",
    plan: Planning::Runs(|planner| {
        let trace = jobs(planner, Shape::Tao)?;
        let thresholds = [1_u32, 10, 100, 1000];
        let runs = thresholds.map(|mb| {
            let platform = Platform::on(EIGHT_PODS, SPEEDS[0].1);
            let first = if mb == 10 { String::new() } else { format!(",q1={mb}MiB") };
            planner.plan.run_on(platform, trace, &format!("stream:K=4{first}"))
        });
        Ok(Box::new(move |results, section| {
            section.note(JOBS_NOTE);
            let workload = results.plan.workload(trace);
            let time = |run, of| one_time(results, run, workload, SizeTable::ManyToMany, of);
            let setting = Setting::FairComparison;
            for (mb, run) in thresholds.iter().zip(runs) {
                for of in [Of::Mean].into_iter().chain(SizeClass::ALL.map(Of::Class)) {
                    if let Some(seconds) = time(run, of)? {
                        let what = format!("{mb} MB, {}", of.name());
                        section.add(Finding::new(what, setting, &[run], seconds).unit("s"));
                    }
                }
            }
            for (k, mb) in thresholds.iter().enumerate().skip(1) {
                let pair = [runs[k - 1], runs[k]];
                let mut worst = 0.0_f64;
                for class in SizeClass::ALL.map(Of::Class) {
                    let times = time(pair[0], class)?.zip(time(pair[1], class)?);
                    worst = times.map_or(worst, |(before, after)| worst.max(after / before));
                }
                let what = format!(
                    "{mb} MB instead of {} MB: loss of the class that loses most",
                    thresholds[k - 1]
                );
                section.add(
                    Finding::new(what, setting, &pair, worst)
                        .says("some class gets slower", BETTER)
                        .why("Sizes are not exponential here, so all classes can gain at once."),
                );
            }
            Ok(())
        }))
    }),
};
