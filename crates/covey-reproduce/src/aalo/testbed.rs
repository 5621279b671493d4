//! §7.2 on a testbed: real flows under `aalo`, under TCP alone, and under the clairvoyant `sebf` in
//! place of Varys.

use covey_trace::shuffle_shares;

use super::distance::DOMINATED;
use crate::finding::{Finding, Rule, Setting};
use crate::item::{Item, Planning};
use crate::jobs::SEEDS;
use crate::numbers::{mean, percentile};
use crate::plan::TCP;

/// The items that are measured on a testbed, in the order of the paper.
pub const TESTBED_ITEMS: &[Item] = &[SECTION_7_2];

/// The reason for other gains.
const FOLDED: &str = "Sixteen hosts stand for 150 racks: the flows of a coflow between the same two hosts become one, and \
    coflows are narrower. Sizes and times are scaled, so that most coflows are over in less than a second.";

const SECTION_7_2: Item = Item {
    place: "Section 7.2",
    section: "7.2",
    shows: "gain over per-flow fairness, and distance to Varys (testbed)",
    plan: Planning::Runs(|planner| {
        let [fair, aalo, sebf] = planner.on_testbed(planner.trace, [TCP, "aalo", "sebf"]);
        Ok(Box::new(move |results, section| {
            section.note(format!(
                "The paper measured this on 100 machines. Here sixteen emulated hosts each stand for several racks. \
                 Communication dominates a job if it spends at least 75 % of its time in shuffle under fairness; which \
                 coflows belong to such jobs is drawn from the published classes, over {SEEDS} seeds. Fairness is TCP's."
            ));
            let (base, ours) = (&results.get(fair)?.ccts_s, &results.get(aalo)?.ccts_s);
            let mut gains = [const { Vec::new() }; 2];
            for seed in 1..=SEEDS {
                let shares = shuffle_shares(base.len(), seed);
                let jobs = base.iter().zip(ours).zip(shares).filter(|(_, s)| *s >= DOMINATED);
                let (base, ours): (Vec<f64>, Vec<f64>) =
                    jobs.map(|((base, ours), _)| (*base, *ours)).unzip();
                if !base.is_empty() {
                    gains[0].push(mean(&base) / mean(&ours));
                    gains[1].push(percentile(&base, 95.0) / percentile(&ours, 95.0));
                }
            }
            for (column, gains) in ["mean", "P95"].into_iter().zip(gains) {
                let what = format!("CCT of jobs dominated by communication, {column}");
                section.add(
                    Finding::new(what, Setting::Testbed, &[fair, aalo], mean(&gains))
                        .published(results.published("Section 7", "CCT", column), 0.1)
                        .why(FOLDED),
                );
            }
            let all = results.gain(fair, aalo)?;
            section.add(
                Finding::new("mean of all CCTs, over TCP", Setting::Testbed, &[fair, aalo], all)
                    .says("better than per-flow fairness", Rule::AtLeast(1.1))
                    .why(FOLDED),
            );
            let beside = results.gain(sebf, aalo)?;
            section.add(
                Finding::new(
                    "mean of all CCTs, over sebf",
                    Setting::Testbed,
                    &[sebf, aalo],
                    beside,
                )
                .says("within 12 % of Varys", Rule::AtLeast(1.0 / 1.12))
                .why(FOLDED),
            );
            Ok(())
        }))
    }),
};
