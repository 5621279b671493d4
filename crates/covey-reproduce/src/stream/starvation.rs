//! Section III-D: flows that starve, and the escape.

use covey_stream::EscapeRules;
use covey_trace::{Coflow, Flow, MB, Workload};

use crate::finding::{Finding, Rule, Setting};
use crate::item::{Item, Planning};
use crate::learning::Recording;
use crate::numbers::maximum;
use crate::plan::{Platform, Run};

/// Seconds for which small coflows keep the links busy.
const BUSY_S: f64 = 100.0;
/// Number of coflows that starve, at a link each.
const VICTIMS: u32 = 4;
/// Bytes of a flow that starves: less than it sends in one raise.
const LAST: f64 = 1e4;
/// Load of each link.
const LOAD: f64 = 1.05;
/// Speed of links in bytes per second.
const RATE: f64 = 125e6;

/// Coflows that fall to the last queue, and then have a small flow left, while new small coflows
/// more than fill the link of each.
fn adversary() -> Workload {
    let mut coflows = Vec::new();
    for victim in 0..VICTIMS {
        let src = 2 * VICTIMS + victim;
        let flow = |bytes, start_s| Flow { src, dst: victim, bytes, start_s };
        // The last flow begins after the first has ended, at another time for each.
        let start_s = 30.0 + 3.1 * f64::from(victim);
        let flows = vec![flow(2048.0 * MB, 0.0), flow(LAST, start_s)];
        coflows.push(Coflow::new(format!("victim {victim}"), 0.0, flows));
    }
    let bytes = 8.0 * MB;
    let gap_s = bytes / RATE / LOAD;
    for n in 0..(BUSY_S / gap_s) as u32 {
        for victim in 0..VICTIMS {
            let flow = Flow { src: VICTIMS + victim, dst: victim, bytes, start_s: 0.0 };
            let arrival_s = 25.0 + f64::from(n) * gap_s;
            coflows.push(Coflow::new(format!("{victim}.{n}"), arrival_s, vec![flow]));
        }
    }
    Workload::new(3 * VICTIMS, coflows)
}

pub(super) const SECTION_3D: Item = Item {
    place: "Section III-D",
    section: "III-D",
    shows: "how long a flow waits, with and without the escape from starvation",
    plan: Planning::Runs(|planner| {
        let trace = planner.plan.defined_by_paper("adversarial stream", adversary());
        let mut run = |policy: &str| {
            let (platform, policy) = (Platform::exact(), policy.to_owned());
            planner.plan.run(Run { trace, platform, policy, recording: Recording::FlowTimes })
        };
        let [with, without] = [run("stream:K=4"), run("stream:K=4,escape=off")];
        Ok(Box::new(move |results, section| {
            let rules = EscapeRules { first_s: 0.01, raise_s: 0.01, longest_s: 10.0 };
            let bound_s = rules.max_wait_s(4);
            section.note(format!(
                "Small coflows fill the links of {VICTIMS} receivers to {} % for {BUSY_S} s. At \
                 each a coflow in the last queue has a flow of {} kB left. By the constants of the \
                 escape no flow waits longer than {bound_s} s: two times the patience, and a raise \
                 of 10 ms for each queue.",
                (100.0 * LOAD).round(),
                LAST / 1e3,
            ));
            // The second flow of each of the first coflows.
            let waits_s = |run| -> Result<Vec<f64>, String> {
                let times = &results.get(run)?.fcts_s;
                Ok((0..VICTIMS as usize).map(|k| times[2 * k + 1] - LAST / RATE).collect())
            };
            let setting = Setting::FairComparison;
            let longest = maximum(&waits_s(with)?);
            section.add(
                Finding::new("longest wait, with the escape", setting, &[with], longest)
                    .unit("s")
                    .says("no flow starves", Rule::AtMost(bound_s))
                    .why("The flow needs more than one raise to send its bytes."),
            );
            let least = waits_s(without)?.into_iter().fold(f64::INFINITY, f64::min);
            section.add(
                Finding::new("shortest wait, without it", setting, &[without], least)
                    .unit("s")
                    .says("strict priorities may starve a flow", Rule::AtLeast(BUSY_S / 2.0)),
            );
            let means = [results.mean(with)?, results.mean(without)?];
            let what = "mean of all coflows, with the escape over without it";
            section.add(Finding::new(what, setting, &[with, without], means[0] / means[1]));
            Ok(())
        }))
    }),
};
