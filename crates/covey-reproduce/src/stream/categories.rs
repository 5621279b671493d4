//! Figure 7 and Section IV-B: many-to-one coflows in eight pods, by class.

use covey_trace::stats::{SizeClass, SizeTable};
use covey_trace::transform::split_receivers;

use super::contest::{
    EIGHT_PODS, MICE, OTHERS, Of, SPEEDS, STREAM, WITHIN, at_both_speeds, one_time,
};
use super::networks::{WHY_AALO, WHY_BARAAT, WHY_FS, WHY_FS_MICE};
use super::workloads::{NOTE, many_to_one};
use crate::finding::{BETTER, Finding, Rule, Setting};
use crate::item::{Item, Planning};
use crate::plan::Platform;

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
            if let Some(finding) = contests[0].finding(results, "1G, smaller coflows", 1, MICE)? {
                let published = published("1G, smaller coflows", "FS");
                section.add(finding.published(published, WITHIN).why(WHY_FS_MICE));
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
                    section.add(finding.says(words, Rule::Between(0.9, 1.1)).why(WHY_AALO));
                }
                let classes = SizeClass::ALL.map(Of::Class);
                contest.add_ours_over(results, section, speed, 2, &classes)?;
            }
            Ok(())
        }))
    }),
};

const WHY_CLASS: &str = "The largest coflows gain nothing: each ends with its last byte under any \
    order, and is served after the smaller ones under Stream. Their class has few coflows.";

pub(super) const WHOLE: Item = Item {
    place: "Section IV-B, whole trace",
    section: "IV-B",
    shows: "many-to-one coflows of the whole trace, 1G, eight pods",
    plan: Planning::Runs(|planner| {
        let trace = planner.plan.derived("all many-to-one", planner.trace, split_receivers)?;
        let (fabric, bps) = (EIGHT_PODS, SPEEDS[0].1);
        let mut run = |policy| planner.plan.run_on(Platform::on(fabric, bps), trace, policy);
        let stream = run(STREAM);
        let others = [(1, WHY_FS), (2, WHY_AALO)].map(|(k, why)| (OTHERS[k], why));
        let others = others.map(|((name, policy), why)| (name, run(policy), why));
        let switch = [0, 1].map(|k| planner.plan.exact(planner.trace, OTHERS[k].1));
        Ok(Box::new(move |results, section| {
            section.note(
                "All 526 coflows at their arrivals. Published gains are those of Figure 6, the \
                 greatest of all sizes. Without a further word a coflow's time lasts until its \
                 last receiver has all; by receiver each receiver counts as a coflow, and wide \
                 coflows count many times. Baraat on the FatTree is left out: its run \
                 takes many minutes.",
            );
            let workload = results.plan.workload(trace);
            let setting = Setting::FairComparison;
            for (name, base, why) in others {
                let classes = SizeClass::ALL.map(Of::Class);
                for of in [Of::Mean, Of::P95].into_iter().chain(classes) {
                    let time = |run| one_time(results, run, workload, SizeTable::ManyToOne, of);
                    let Some((base_s, stream_s)) = time(base)?.zip(time(stream)?) else { continue };
                    let published = match of {
                        Of::Mean => results.published("Figure 6(b)", "mean", name),
                        MICE => results.published("Figure 6(a)", "mice", name),
                        _ => None,
                    };
                    let what = format!("{}: gain over {name}", of.name());
                    section.add(
                        Finding::new(what, setting, &[base, stream], base_s / stream_s)
                            .published(published, WITHIN)
                            .why(if of == MICE && name == "FS" { WHY_FS_MICE } else { why }),
                    );
                }
                let gain = results.gain(base, stream)?;
                let what = format!("mean by receiver: gain over {name}");
                section.add(Finding::new(what, setting, &[base, stream], gain));
            }
            for (k, run) in switch.into_iter().enumerate() {
                let what = format!("{}, mean on a big switch", OTHERS[k].0);
                section.add(Finding::new(what, setting, &[run], results.mean(run)?).unit("s"));
            }
            let gain = results.gain(switch[1], switch[0])?;
            section.add(
                Finding::new("gain of Baraat over FS on a big switch", setting, &switch, gain)
                    .says("Baraat is faster than FS", BETTER)
                    .why(WHY_BARAAT),
            );
            Ok(())
        }))
    }),
};
