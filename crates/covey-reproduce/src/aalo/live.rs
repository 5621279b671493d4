//! §7.6, measured live: the time in which all agents are brought in line, on 100 agents and on
//! 10,000.
//!
//! The coordinator is real, and so are the agents and their connections; flows send no bytes. Every
//! agent has a flow in service, so that all of them report in every interval δ. What the decision
//! thread does in an interval is its CPU time: to take over all reports, to decide, and to make the
//! schedules that have changed.

use covey_report::Live;
use covey_trace::{Coflow, Flow, Workload};

use crate::finding::{Finding, Rule, Setting};
use crate::item::{Item, Planning, Section};
use crate::plan::{LiveRun, Platform, Results, RunId};

/// The items that are measured live, in the order of the paper.
pub const LIVE_ITEMS: &[Item] = &[SECTION_7_6];

const SECTION_7_6: Item = Item {
    place: "Section 7.6",
    section: "7.6",
    shows: "agents that a coordinator keeps in line within an interval",
    plan: Planning::Runs(|planner| {
        let mut runs = Vec::new();
        for &(ports, interval_s, says) in SIZES {
            let name = format!("{ports} agents that all send");
            let trace = planner.plan.defined_by_paper(&name, everybody_sends(ports));
            let platform = Platform::Live(LiveRun { interval_s, reports_always: true });
            let policy = format!("aalo:delta={}ms", 1e3 * interval_s);
            runs.push((ports, interval_s, says, planner.plan.run_on(platform, trace, &policy)));
        }
        Ok(Box::new(move |results, section| {
            section.note(format!(
                "Agents and connections are real, flows send no bytes. Port k sends to port k + 1 in coflows of \
                 {WIDTH} flows that never end. All agents report in every interval. The paper's time is from the \
                 first report to the last agent's order; ours is the CPU time of the thread that decides, in an \
                 interval: taking over all reports, deciding, and making schedules. An interval is missed if there \
                 is more to do in it than it is long."
            ));
            for (ports, interval_s, says, run) in runs {
                findings(ports, interval_s, says, run, results, section)?;
            }
            Ok(())
        }))
    }),
};

/// Numbers of agents, the interval δ in seconds, and what the paper says of it. The paper's δ for
/// 10,000 agents is not in our text. Ours is 100 times that for 100 agents, because there are 100
/// times as many.
const SIZES: &[(u32, f64, &str)] = &[
    (100, 0.008, "100 machines are in line within 8 ms on average"),
    (10_000, 0.8, "O(10,000) daemons with minimal performance loss"),
];

/// Flows of a coflow.
const WIDTH: u32 = 100;

/// Bytes of a flow: more than it sends in any run.
const ENDLESS: f64 = 1e15;

/// Coflows in which each port sends a flow to the next port, for as long as anybody looks.
fn everybody_sends(ports: u32) -> Workload {
    let flow = |src: u32| Flow { src, dst: (src + 1) % ports, bytes: ENDLESS, start_s: 0.0 };
    let coflow = |first: u32| {
        let flows = (first..ports.min(first + WIDTH)).map(flow).collect();
        Coflow::new(format!("{first}"), 0.0, flows)
    };
    Workload::new(ports, (0..ports).step_by(WIDTH as usize).map(coflow).collect())
}

/// The reason for intervals that take longer.
const MACHINE: &str = "The coordinator shares its machine with all agents of this run.";

fn findings(
    ports: u32,
    interval_s: f64,
    says: &str,
    run: RunId,
    results: &Results<'_>,
    section: &mut Section,
) -> Result<(), String> {
    let live = results.get(run)?.live.as_ref();
    let live: &Live = live.ok_or_else(|| "the run was not executed live".to_owned())?;
    let of = |what: &str, ours: f64, unit| {
        let what = format!("{ports} agents, δ of {} ms, {what}", 1e3 * interval_s);
        Finding::new(what, Setting::Live, &[run], ours).unit(unit)
    };
    let all = of("CPU of an interval", live.all.mean_ms, "ms");
    section.add(all.says(says, Rule::AtMost(1e3 * interval_s)).why(MACHINE));
    let missed = of("intervals missed", 100.0 * live.missed, "%");
    section.add(missed.says(says, Rule::AtMost(1.0)).why(MACHINE));
    section.add(of("agents heard in an interval", live.agents_heard, ""));
    section.add(of("schedules in an interval", live.schedules, ""));
    section.add(of("99th percentile of a decision", live.decide_p99_ms, "ms"));
    section.add(of("agents lost", live.agents_lost as f64, ""));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_port_sends_one_flow_and_receives_one() {
        for ports in [100, 250] {
            let workload = everybody_sends(ports);
            let flows = || workload.coflows.iter().flat_map(|coflow| &coflow.flows);
            let mut ends: Vec<[u32; 2]> = flows().map(|flow| [flow.src, flow.dst]).collect();
            ends.sort_unstable();
            assert_eq!(ends.len(), ports as usize);
            assert!(ends.iter().zip(0..).all(|(it, k)| *it == [k, (k + 1) % ports]));
            assert_eq!(workload.coflows.len(), (ports as usize).div_ceil(WIDTH as usize));
        }
    }
}
