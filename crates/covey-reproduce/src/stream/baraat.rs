//! The LM-Effect: why Baraat is behind.

use covey_trace::stats::SizeTable;
use covey_trace::{Flow, Workload};

use super::contest::{EIGHT_PODS, OTHERS, Of, SPEEDS, STREAM, one_time};
use super::networks::WHY_BARAAT;
use super::workloads::{NOTE, many_to_one};
use crate::finding::{BETTER, Finding, Setting};
use crate::item::{Item, Planning};
use crate::plan::Platform;

/// The same coflows, each with one flow from a sender of its own. Only the links of receivers limit
/// rates.
fn receivers_only(workload: &Workload) -> Workload {
    let mut coflows = workload.coflows.clone();
    for (index, coflow) in (0..).zip(&mut coflows) {
        let (dst, bytes) = (coflow.flows[0].dst, coflow.size_bytes());
        coflow.flows = vec![Flow { src: workload.ports + index, dst, bytes, start_s: 0.0 }];
        coflow.restarts.clear();
    }
    Workload::new(workload.ports + coflows.len() as u32, coflows)
}

pub(super) const LM_EFFECT: Item = Item {
    place: "Section IV-B, LM-Effect",
    section: "IV-B",
    shows: "Baraat with and without coupled links, many-to-one, 1G",
    plan: Planning::Runs(|planner| {
        let trace = many_to_one(planner)?;
        let alone = planner.plan.derived::<std::convert::Infallible>(
            "many-to-one, receivers' links only",
            trace,
            |workload| Ok(receivers_only(workload)),
        );
        let Ok(alone) = alone;
        let bps = SPEEDS[0].1;
        let policies = [
            ("Stream", STREAM),
            OTHERS[0],
            ("Baraat, heavy from 100 MB", "fifo-lm:heavy=100MiB"),
            ("Baraat, switches tell each other", "fifo-lm:tell=true"),
            OTHERS[1],
        ];
        let coupled =
            policies.map(|(_, p)| planner.plan.run_on(Platform::on(EIGHT_PODS, bps), trace, p));
        let single = policies.map(|(_, p)| planner.plan.run_on(Platform::at(bps), alone, p));
        Ok(Box::new(move |results, section| {
            section.note(NOTE);
            section.note(
                "With receivers' links only, each coflow is one flow from a sender of its own, on \
                 a big switch. The link that serves a coflow then is the only one it needs. In the \
                 FatTree it needs several, each with an order of its own, and the head of one \
                 waits for another while that link idles.",
            );
            let networks = [
                ("FatTree", trace, coupled, WHY_BARAAT),
                ("receivers' links only", alone, single, WHY_ALONE),
            ];
            let setting = Setting::FairComparison;
            for (network, trace, runs, why) in networks {
                let workload = results.plan.workload(trace);
                let time = |run, of| one_time(results, run, workload, SizeTable::ManyToOne, of);
                for ((name, _), run) in policies.iter().zip(runs) {
                    if let Some(seconds) = time(run, Of::Mean)? {
                        let what = format!("{network}, {name}: mean");
                        section.add(Finding::new(what, setting, &[run], seconds).unit("s"));
                    }
                }
                let (stream, baraat, fair) = (runs[0], runs[1], runs[4]);
                let gain = |base, run| -> Result<f64, String> {
                    Ok(time(base, Of::Mean)?
                        .zip(time(run, Of::Mean)?)
                        .map_or(f64::NAN, |(b, r)| b / r))
                };
                for (what, base, run, words) in [
                    ("gain of Stream over Baraat", baraat, stream, "Stream is faster than Baraat"),
                    ("gain of Baraat over FS", fair, baraat, "Baraat is faster than FS"),
                ] {
                    let what = format!("{network}: {what}");
                    section.add(
                        Finding::new(what, setting, &[base, run], gain(base, run)?)
                            .says(words, BETTER)
                            .why(why),
                    );
                }
            }
            Ok(())
        }))
    }),
};

const WHY_ALONE: &str = "Where a coflow needs one link only, Baraat is within 2 % of FS and of \
    Stream: links no longer idle. What is left of the difference is the order.";
