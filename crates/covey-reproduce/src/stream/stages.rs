//! Figures 12 and 13, and Section III-C: many-to-many coflows, which are jobs of several stages.

use covey_trace::TraceError;
use covey_trace::stats::{SizeClass, SizeTable};
use covey_trace::transform::Shape;

use super::contest::{Contest, EIGHT_PODS, MICE, OTHERS, Of, SPEEDS, STREAM, WITHIN, one_time};
use super::workloads::{JOBS_NOTE, jobs};
use crate::finding::{Finding, Rule, Setting};
use crate::item::{Evaluate, Item, Planner, Planning};
use crate::plan::Platform;

const TABLE: SizeTable = SizeTable::ManyToMany;

fn figure(
    planner: &mut Planner,
    place: &'static str,
    shape: Shape,
) -> Result<Evaluate, TraceError> {
    let trace = jobs(planner, shape)?;
    let contests = SPEEDS.map(|(_, bps)| Contest::plan(planner, trace, TABLE, EIGHT_PODS, bps));
    Ok(Box::new(move |results, section| {
        section.note(JOBS_NOTE);
        for ((speed, _), contest) in SPEEDS.iter().zip(&contests) {
            for (other, (name, _)) in OTHERS.iter().enumerate() {
                for (of, row) in [(Of::Mean, "mean"), (MICE, "class I")] {
                    let published = results.published(place, &format!("{speed}, {row}"), name);
                    let why = match *name {
                        "Baraat" => WHY_BARAAT,
                        "FS" => WHY_FS,
                        _ => WHY_AALO,
                    };
                    if let Some(finding) = contest.finding(results, speed, other, of)? {
                        section.add(match published {
                            Some(_) => finding.published(published, WITHIN).why(why),
                            None if *name == "Aalo" => finding
                                .says("comparable to Aalo on average", Rule::Between(0.9, 1.1))
                                .why(why),
                            None => finding,
                        });
                    }
                }
            }
            for class in [SizeClass::II, SizeClass::III, SizeClass::IV, SizeClass::V] {
                contest.add_ours(results, section, speed, &[Of::Class(class)])?;
            }
        }
        Ok(())
    }))
}

const WHY_FS: &str = "The stages of our jobs are copies of one coflow, as in the paper, but their \
    order and number are ours. Jobs of terabytes decide the mean; they gain little, since their \
    stages end with the last byte of one link.";
const WHY_BARAAT: &str = "Our Baraat counts each stage for itself, link by link. A receiver of \
    Stream begins each stage with what the stages before it have told, so later stages begin in \
    lower queues. Without the parts of Section III-C Stream is ahead of Baraat in the mean, also at \
    10G.";
const WHY_AALO: &str = "Aalo counts all bytes of a job from the first on. A receiver of Stream \
    begins each stage with what the stages before it have told.";

pub(super) const FIGURE_12: Item = Item {
    place: "Figure 12",
    section: "IV-B",
    shows: "gain on jobs like TPC-DS query 42, eight pods",
    plan: Planning::Runs(|planner| figure(planner, "Figure 12", Shape::Query42)),
};

pub(super) const FIGURE_13: Item = Item {
    place: "Figure 13",
    section: "IV-B",
    shows: "gain on jobs like FB-Tao, eight pods",
    plan: Planning::Runs(|planner| figure(planner, "Figure 13", Shape::Tao)),
};

/// What can be switched off, with the paper's name.
const SWITCHES: [(&str, &str); 3] = [
    ("weighted priority", "wp=false"),
    ("information relay", "relay=false"),
    ("child-to-parent", "cp=false"),
];

pub(super) const SECTION_3C: Item = Item {
    place: "Section III-C",
    section: "III-C",
    shows: "what weighted priority, information relay and child-to-parent give, 1G, eight pods",
    plan: Planning::Runs(|planner| {
        let mut shapes = Vec::new();
        for (name, shape) in [("TPC-DS query 42", Shape::Query42), ("FB-Tao", Shape::Tao)] {
            let trace = jobs(planner, shape)?;
            let mut run = |policy: &str| {
                planner.plan.run_on(Platform::on(EIGHT_PODS, SPEEDS[0].1), trace, policy)
            };
            let all = run(STREAM);
            let without = SWITCHES.map(|(_, off)| run(&format!("{STREAM},{off}")));
            shapes.push((name, trace, all, without));
        }
        Ok(Box::new(move |results, section| {
            section.note(JOBS_NOTE);
            section.note("Above 1 Stream is faster with the part. The paper has no such table.");
            for (name, trace, all, without) in shapes {
                let workload = results.plan.workload(trace);
                let classes = SizeClass::ALL.map(Of::Class);
                for ((part, _), run) in SWITCHES.iter().zip(without) {
                    for of in [Of::Mean, Of::P95].into_iter().chain(classes) {
                        let time = |run| one_time(results, run, workload, TABLE, of);
                        if let Some((without, with)) = time(run)?.zip(time(all)?) {
                            let what = format!("{name}, {}: gain from {part}", of.name());
                            let (setting, gain) = (Setting::FairComparison, without / with);
                            section.add(Finding::new(what, setting, &[run, all], gain));
                        }
                    }
                }
            }
            Ok(())
        }))
    }),
};
