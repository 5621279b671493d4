//! Figure 7 and Section IV-B: many-to-one coflows in eight pods, by class.

use covey_trace::stats::{SizeClass, SizeTable};
use covey_trace::transform::split_receivers;

use super::contest::{
    BETTER, Contest, EIGHT_PODS, MICE, OTHERS, Of, SPEEDS, WITHIN, at_both_speeds,
};
use super::networks::{WHY_AALO, WHY_BARAAT, WHY_FS};
use super::workloads::{NOTE, many_to_one};
use crate::finding::{Finding, Rule, Setting};
use crate::item::{Item, Planning};
use crate::numbers::mean;

pub(super) const FIGURE_7: Item = Item {
    place: "Figure 7",
    section: "IV-B",
    shows: "gain by class in eight pods",
    plan: Planning::Runs(|planner| {
        let contests = at_both_speeds(planner, SizeTable::ManyToOne, many_to_one)?;
        Ok(Box::new(move |results, section| {
            section.note(NOTE);
            for ((speed, _), contest) in SPEEDS.iter().zip(&contests) {
                for class in SizeClass::ALL {
                    let of = Of::Class(class);
                    for other in [0, 1] {
                        if let Some(finding) = contest.finding(results, speed, other, of)? {
                            section
                                .add(finding.says("better in all classes", BETTER).why(WHY_CLASS));
                        }
                    }
                }
            }
            let published = |row, column| results.published("Figure 7", row, column);
            if let Some(finding) = contests[0].finding(results, "1G, mice", 1, MICE)? {
                let published = published("1G, smaller coflows", "FS");
                section.add(finding.published(published, WITHIN).why(WHY_FS));
            }
            let mut greatest: Option<Finding> = None;
            for class in [SizeClass::I, SizeClass::II] {
                let found = contests[0].finding(results, "1G, the greater", 0, Of::Class(class))?;
                let all = found.into_iter().chain(greatest.take());
                greatest = all.reduce(|a, b| if a.ours >= b.ours { a } else { b });
            }
            if let Some(finding) = greatest {
                let published = published("1G, classes I and II", "Baraat");
                section.add(finding.published(published, WITHIN).why(WHY_BARAAT));
            }
            for ((speed, _), contest) in SPEEDS.iter().zip(&contests) {
                if let Some(finding) = contest.finding(results, speed, 2, Of::Mean)? {
                    let words = "performs comparably well to Aalo on average";
                    section.add(finding.says(words, Rule::AtLeast(0.9)).why(WHY_AALO));
                }
                let classes = SizeClass::ALL.map(Of::Class);
                contest.add_ours_over(results, section, speed, 2, &classes)?;
            }
            Ok(())
        }))
    }),
};

const WHY_CLASS: &str = "The largest coflows gain nothing: each ends with its last byte under any order, and is served after \
    the smaller ones under Stream. Their class has few coflows.";

pub(super) const WHOLE: Item = Item {
    place: "Section IV-B, whole trace",
    section: "IV-B",
    shows: "many-to-one coflows of the whole trace, 1G, eight pods",
    plan: Planning::Runs(|planner| {
        let table = SizeTable::ManyToOne;
        let trace = planner.plan.derived("all many-to-one", planner.trace, split_receivers)?;
        let contest = Contest::plan(planner, trace, table, EIGHT_PODS, SPEEDS[0].1);
        let switch = OTHERS.map(|(_, policy)| planner.plan.exact(planner.trace, policy));
        Ok(Box::new(move |results, section| {
            section.note(
                "All 526 coflows at their arrivals. Published gains are those of Figure 6, the greatest of all sizes. \
                 Without a further word a coflow's time lasts until its last receiver has all; by receiver each \
                 receiver counts as a coflow, and wide coflows count many times.",
            );
            for (other, (name, _)) in OTHERS.iter().enumerate() {
                for (of, place, row) in
                    [(Of::Mean, "Figure 6(b)", "mean"), (MICE, "Figure 6(a)", "mice")]
                {
                    let why = [WHY_BARAAT, WHY_FS, WHY_AALO][other];
                    let published = results.published(place, row, name);
                    if let Some(finding) = contest.finding(results, "1G", other, of)? {
                        section.add(finding.published(published, WITHIN).why(why));
                    }
                }
            }
            contest.add_ours(results, section, "1G", &[Of::P95])?;
            let classes = [SizeClass::II, SizeClass::III, SizeClass::IV, SizeClass::V];
            contest.add_ours(results, section, "1G", &classes.map(Of::Class))?;
            let setting = Setting::FairComparison;
            for (other, (name, _)) in OTHERS.iter().enumerate() {
                let [base, stream] = contest.runs(other);
                let what = format!("1G, mean by receiver: gain over {name}");
                let gain = results.gain(base, stream)?;
                section.add(Finding::new(what, setting, &[base, stream], gain));
            }
            let mean_s = |run| Ok::<f64, String>(mean(&results.get(run)?.ccts_s));
            for ((name, _), run) in OTHERS.iter().zip(switch) {
                let what = format!("{name}, mean on a big switch");
                section.add(Finding::new(what, setting, &[run], mean_s(run)?).unit("s"));
            }
            let order = mean_s(switch[1])? / mean_s(switch[0])?;
            section.add(
                Finding::new("FS over Baraat on a big switch", setting, &switch[..2], order)
                    .says("Baraat is between Stream and FS", Rule::MoreThan(1.0))
                    .why(WHY_BARAAT),
            );
            Ok(())
        }))
    }),
};
