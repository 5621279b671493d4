//! FatTrees with ECMP: mean times that another program found.

use covey_trace::{Coflow, Flow, MB, Workload};

use super::contest::OTHERS;
use crate::finding::{Finding, Rule, Setting};
use crate::item::{Item, Planning};
use crate::plan::Platform;

/// Mean times on the whole trace in eight pods, in seconds, by network and policy. A program
/// written apart from Covey found them.
const MEANS: [(&str, &str, f64); 3] = [
    ("fat-tree:k=8,ecmp=modulo,place=pack", "FS", 211.496_303),
    ("fat-tree:k=8,ecmp=spray,place=pack", "FS", 211.481_534),
    ("fat-tree:k=8,ecmp=modulo,place=pack", "Aalo", 157.805_309),
];

/// Times of flows between hosts in opposite pods, in seconds. With `modulo` four flows share each
/// link.
const OPPOSITE: [(&str, f64); 2] =
    [("fat-tree:k=4,ecmp=modulo", 0.033_554_432), ("fat-tree:k=4,ecmp=spray", 0.008_388_608)];

/// Each of 16 hosts sends 1 MB to the host at distance 8.
fn opposite() -> Workload {
    let flow = |src| Flow { src, dst: (src + 8) % 16, bytes: MB, start_s: 0.0 };
    let coflow = Coflow::new("opposite".to_owned(), 0.0, (0..16).map(flow).collect());
    Workload::new(16, vec![coflow])
}

pub(super) const SECTION_4A: Item = Item {
    place: "Section IV-A, ECMP",
    section: "IV-A",
    shows: "mean times on FatTrees, beside those of another program",
    plan: Planning::Runs(|planner| {
        let trace = planner.trace;
        let means = MEANS.map(|(fabric, name, seconds)| {
            let policy = OTHERS.iter().find(|(other, _)| *other == name).map_or("", |(_, p)| *p);
            let run = planner.plan.run_on(Platform::on(fabric, 1e9), trace, policy);
            (format!("{name} on {fabric}"), seconds, run)
        });
        let flows = planner.plan.defined_by_paper("16 opposite hosts", opposite());
        let opposite = OPPOSITE.map(|(fabric, seconds)| {
            let fabric_of_hosts = format!("{fabric},place=pack");
            let run = planner.plan.run_on(Platform::on(&fabric_of_hosts, 1e9), flows, "fair");
            (format!("opposite hosts on {fabric}"), seconds, run)
        });
        Ok(Box::new(move |results, section| {
            section.note(
                "The paper has no such values. A program written apart from Covey found them; they \
                 have to agree to the digits that it printed.",
            );
            for (what, seconds, run) in means.into_iter().chain(opposite) {
                let within = Rule::Between(seconds * (1.0 - 1e-6), seconds * (1.0 + 1e-6));
                section.add(
                    Finding::new(what, Setting::FairComparison, &[run], results.mean(run)?)
                        .unit("s")
                        .says(format!("another program finds {seconds} s"), within)
                        .check(),
                );
            }
            Ok(())
        }))
    }),
};
