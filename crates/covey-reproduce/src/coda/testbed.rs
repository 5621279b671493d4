//! §6.2 on a testbed: programs that know nothing of coflows, whose flows `coda` finds and
//! schedules.

use crate::finding::{Finding, Setting};
use crate::item::{Item, Planning};
use crate::numbers::percentile;
use crate::plan::TCP;

/// The items that are measured on a testbed, in the order of the paper.
pub const TESTBED_ITEMS: &[Item] = &[SECTION_6_2];

/// The reason for other gains.
const FOLDED: &str = "The paper's 40 servers had links of 1 Gbit/s and Spark's jobs; here sixteen emulated hosts have 100 \
    Mbit/s and the folded trace, whose coflows are narrower and, scaled, begin closer together.";

const SECTION_6_2: Item = Item {
    place: "Section 6.2",
    section: "6.2",
    shows: "gain over per-flow fairness of applications that are not changed (testbed)",
    plan: Planning::Runs(|planner| {
        let [fair, coda] = planner.on_testbed(planner.trace, [TCP, "coda"]);
        Ok(Box::new(move |results, section| {
            section.note(
                "Senders and receivers know nothing of Covey. Agents see their connections, the coordinator puts these \
                 into coflows by itself, and the kernel of each host holds and paces them. Fairness is TCP's.",
            );
            let (base, ours) = (&results.get(fair)?.ccts_s, &results.get(coda)?.ccts_s);
            let p95 = percentile(base, 95.0) / percentile(ours, 95.0);
            for (column, ours) in [("mean", results.gain(fair, coda)?), ("P95", p95)] {
                let published = results.published("Section 6.2", "testbed", column);
                let what = format!("CCT, {column}, over TCP");
                section.add(
                    Finding::new(what, Setting::Testbed, &[fair, coda], ours)
                        .published(published, 0.1)
                        .why(FOLDED),
                );
            }
            Ok(())
        }))
    }),
};
