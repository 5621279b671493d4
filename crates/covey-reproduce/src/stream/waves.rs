//! Table 2 and Figure 8: many-to-one coflows whose flows come in waves.

use covey_trace::stats::{SizeClass, SizeTable};

use super::contest::{Contest, EIGHT_PODS, OTHERS, Of, SPEEDS, WITHIN, extreme};
use super::networks::{WHY_BARAAT, WHY_FS, WHY_FS_MICE};
use super::workloads::{NOTE, in_waves};
use crate::finding::{Finding, Rule, Setting};
use crate::item::{Item, Planning};

/// The largest numbers of waves, and the paper's names for them.
const WAVES: [(u32, &str); 4] = [(1, "Single"), (2, "Two"), (3, "Three"), (4, "Four")];

pub(super) const TABLE_2: Item = Item {
    place: "Table 2",
    section: "IV-A",
    shows: "flows of a coflow by wave",
    plan: Planning::Runs(|planner| {
        let mut traces = Vec::new();
        for (max, row) in WAVES {
            traces.push((max, row, in_waves(planner, max)?));
        }
        Ok(Box::new(move |results, section| {
            section.note(
                "The flows of each coflow are dealt to waves, rounded to whole flows. The shares \
                 are of the flows of coflows with at least twenty flows, in which all waves have \
                 some.",
            );
            for (max, row, trace) in traces {
                let mut flows = [0_usize; 4];
                for coflow in &results.plan.workload(trace).coflows {
                    if coflow.width() < 20 {
                        continue;
                    }
                    let mut starts: Vec<f64> = coflow.flows.iter().map(|f| f.start_s).collect();
                    starts.sort_unstable_by(f64::total_cmp);
                    starts.dedup();
                    for flow in &coflow.flows {
                        let wave = starts.partition_point(|start| *start < flow.start_s);
                        flows[wave.min(3)] += 1;
                    }
                }
                let all: usize = flows.iter().sum();
                for (wave, count) in flows.into_iter().enumerate().take(max as usize) {
                    let column = (wave + 1).to_string();
                    let what = format!("{row}: wave {column}");
                    let share = 100.0 * count as f64 / all as f64;
                    section.add(
                        Finding::new(what, Setting::FairComparison, &[], share)
                            .on(trace)
                            .unit("%")
                            .published(results.published("Table 2", row, &column), 0.06)
                            .check()
                            .why("Whole flows are dealt."),
                    );
                }
            }
            Ok(())
        }))
    }),
};

pub(super) const FIGURE_8: Item = Item {
    place: "Figure 8",
    section: "IV-B",
    shows: "gain with two to four waves, 1G, eight pods",
    plan: Planning::Runs(|planner| {
        let mut contests = Vec::new();
        for (max, _) in &WAVES[1..] {
            let trace = in_waves(planner, *max)?;
            let table = SizeTable::ManyToOne;
            contests.push(Contest::plan(planner, trace, table, EIGHT_PODS, SPEEDS[0].1));
        }
        Ok(Box::new(move |results, section| {
            section.note(NOTE);
            section.note(
                "A wave begins when the one before would end alone; the paper does not say when.",
            );
            let published = |row, column| results.published("Figure 8", row, column);
            for (other, why) in [(0, WHY_BARAAT), (1, WHY_FS)] {
                let name = OTHERS[other].0;
                if let Some(finding) = extreme(&contests, results, other, Of::Mean)? {
                    section.add(finding.published(published("mean", name), WITHIN).why(why));
                }
            }
            let mice = Of::Class(SizeClass::I);
            if let Some(finding) = extreme(&contests, results, 1, mice)? {
                section.add(finding.published(published("smaller", "FS"), WITHIN).why(WHY_FS_MICE));
            }
            for ((max, _), contest) in WAVES[1..].iter().zip(&contests) {
                let label = format!("{max} waves");
                if let Some(finding) = contest.finding(results, &label, 2, Of::Mean)? {
                    let words = "similar performance to Aalo across waves";
                    section.add(finding.says(words, Rule::Between(0.9, 1.1)).why(WHY_AALO));
                }
                contest.add_ours_over(results, section, &label, 0, &[Of::Mean])?;
                contest.add_ours_over(results, section, &label, 1, &[Of::Mean])?;
                contest.add_ours(results, section, &label, &SizeClass::ALL.map(Of::Class))?;
            }
            Ok(())
        }))
    }),
};

const WHY_AALO: &str = "Receivers that share no sender do not know of each other; Aalo knows all.";
