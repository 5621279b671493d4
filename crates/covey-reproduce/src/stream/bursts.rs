//! Figures 9 and 10: many-to-one coflows that all arrive at once.

use covey_trace::stats::{SizeClass, SizeTable};

use super::contest::{OTHERS, Of, SPEEDS, WITHIN, at_both_speeds};
use super::networks::{WHY_BARAAT, WHY_FS};
use super::times::times;
use super::workloads::{BURST_NOTE, in_a_burst};
use crate::finding::{BETTER, Finding, Rule, Setting};
use crate::item::{Item, Planning};
use crate::plots::curves;

pub(super) const FIGURE_9: Item = Item {
    place: "Figure 9",
    section: "IV-B",
    shows: "gain by class if all coflows arrive at once, eight pods",
    plan: Planning::Runs(|planner| {
        let contests = at_both_speeds(planner, SizeTable::ManyToOne, in_a_burst)?;
        Ok(Box::new(move |results, section| {
            section.note(BURST_NOTE);
            let published = |row: &str, column| results.published("Figure 9", row, column);
            for ((speed, _), contest) in SPEEDS.iter().zip(&contests) {
                for (other, why) in [(0, WHY_BARAAT), (1, WHY_FS)] {
                    let Some(finding) = contest.finding(results, speed, other, Of::Mean)? else {
                        continue;
                    };
                    let value = published(&format!("{speed}, mean"), OTHERS[other].0);
                    section.add(if *speed == "1G" {
                        let least = value.unwrap_or(1.0);
                        finding.says("at least 1.9 times as fast", Rule::AtLeast(least)).why(why)
                    } else {
                        finding.published(value, WITHIN).why(why)
                    });
                }
                for class in SizeClass::ALL {
                    let of = Of::Class(class);
                    if let Some(finding) = contest.finding(results, speed, 2, of)? {
                        let words = "similar to Aalo across the classes, within 7 % at 10G";
                        let rule = Rule::Between(0.93, 1.07);
                        section.add(finding.says(words, rule).why(WHY_BURST));
                    }
                }
            }
            for other in [0, 1] {
                let of = Of::Class(SizeClass::II);
                if let Some(finding) = contests[0].finding(results, "1G", other, of)? {
                    let value = published("1G, class II", OTHERS[other].0);
                    section.add(finding.published(value, WITHIN).why(WHY_CLASS_II));
                }
            }
            for ((speed, _), contest) in SPEEDS.iter().zip(&contests) {
                let classes = SizeClass::ALL.map(Of::Class);
                contest.add_ours_over(results, section, speed, 0, &classes)?;
                contest.add_ours_over(results, section, speed, 1, &classes)?;
            }
            Ok(())
        }))
    }),
};

const WHY_CLASS_II: &str =
    "Class II has few coflows here, and the published gain is the greatest in a figure.";

pub(super) const FIGURE_10: Item = Item {
    place: "Figure 10",
    section: "IV-B",
    shows: "times of the first coflows that complete, Baraat and Stream, if all arrive at once",
    plan: Planning::Runs(|planner| {
        let contests = at_both_speeds(planner, SizeTable::ManyToOne, in_a_burst)?;
        Ok(Box::new(move |results, section| {
            section.note(BURST_NOTE);
            section.note(
                "The paper draws the first 100 coflows that complete. Here these are the first \
                 fifth of the coflows, as in 100 of 526.",
            );
            let mut drawn = Vec::new();
            for ((speed, _), contest) in SPEEDS.iter().zip(&contests) {
                let mut last = [0.0; 2];
                for (k, (name, run)) in [("Baraat", contest.other(0)), ("Stream", contest.stream())]
                    .into_iter()
                    .enumerate()
                {
                    let mut ends = times(results, run)?;
                    ends.sort_unstable_by(f64::total_cmp);
                    ends.truncate(ends.len().div_ceil(5));
                    last[k] = ends.last().copied().unwrap_or(f64::NAN);
                    let what = format!("{speed}, {name}: time of the last of them");
                    let finding = Finding::new(what, Setting::FairComparison, &[run], last[k]);
                    section.add(finding.unit("s"));
                    let points = ends.iter().enumerate();
                    let points = points.map(|(n, end)| [(n + 1) as f64, *end]).collect();
                    drawn.push((format!("{name}, {speed}"), points));
                }
                section.add(
                    Finding::new(
                        format!("{speed}, time of the last of them: gain over Baraat"),
                        Setting::FairComparison,
                        &contest.runs(0),
                        last[0] / last[1],
                    )
                    .says("the curve of Stream is flat, that of Baraat rises", BETTER)
                    .why(WHY_FLAT),
                );
            }
            section.figures.push(curves(
                "The first coflows that complete",
                ["coflow, in order of completion", "time (s)"],
                drawn,
                "All coflows arrive at once.",
            ));
            Ok(())
        }))
    }),
};

const WHY_FLAT: &str = "The first coflows to complete are small, and they have few others before \
    them at their links in either order.";

const WHY_BURST: &str = "All coflows begin at once. Aalo counts the bytes of a coflow at all its \
    receivers. A receiver of Stream counts its own and those that senders relay, so large coflows \
    stay beside the small ones for longer.";
