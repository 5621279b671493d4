//! The load of the coordinator (§5, Table 1; §9.3, Tables 6 and 7), measured live.
//!
//! The coordinator is real; simulated hosts report transfers without sending data. Aalo runs twice:
//! as in the paper, with reports in every interval, and as in Covey, where an agent reports only
//! after a coflow has sent a given part of the bytes that separate it from its next queue. The
//! paper has no numbers for the second.

use covey_report::{Live, Spread};
use covey_trace::{TraceError, transform};

use crate::finding::{Finding, Rule, Setting};
use crate::item::{Evaluate, Item, Planner, Planning, Section};
use crate::plan::{LiveRun, Platform, Results, RunId};

/// The items that are measured live, in the order of the paper.
pub const LIVE_ITEMS: &[Item] = &[
    Item {
        place: "Table 1",
        section: "5",
        shows: "how often coordinator and agents interact",
        plan: Planning::Runs(table_1),
    },
    Item {
        place: "Table 6",
        section: "9.3",
        shows: "processor time of the coordinator in an interval, 900 ports",
        plan: Planning::Runs(table_6),
    },
    Item {
        place: "Table 7",
        section: "9.3",
        shows: "intervals in which the coordinator was too slow",
        plan: Planning::Runs(table_7),
    },
];

/// δ in seconds on the ports of the trace (§8). On `n` times the ports, δ is `n` times as long.
const INTERVAL_S: f64 = 0.008;

/// Number of copies of the trace on 900 ports.
const COPIES: u32 = 6;

/// The reason for different times.
const HARDWARE: &str = "The machines and the programs differ. The paper's coordinator is 5,200 lines of C++ on a \
    Xeon E5-2673 v3, and its times may include work on sockets. Ours are CPU times of the thread that \
    decides; other threads serve the connections.";

/// The reason for different numbers of messages and agents.
const LIGHT: &str = "Only the beginning of the trace is replayed, whose load is light. The paper does not say when it \
    counts an agent as heard from; here an agent counts if it has reported bytes or ends.";

/// The reason for different ratios of both policies.
const RELATION: &str = "Covey's Philae looks only at changes when it decides, and sends schedules only to agents \
    whose schedule has changed. Aalo with reports in every interval decides in each interval and shares \
    links among all flows. Therefore Philae saves more here than in the paper.";

/// The live runs on one number of ports.
struct LiveRuns {
    philae: RunId,
    /// Aalo with reports in every interval, as in the paper.
    aalo: RunId,
    /// Aalo with reports when they are due, as Covey runs it.
    aalo_when_due: RunId,
}

impl LiveRuns {
    fn new(planner: &mut Planner, copies: u32) -> Result<LiveRuns, TraceError> {
        let name = format!("{} on {copies} times the ports", planner.plan.name(planner.trace));
        let trace = match copies {
            1 => planner.trace,
            _ => planner
                .plan
                .derived(&name, planner.trace, |all| transform::replicate(all, copies))?,
        };
        let interval_s = INTERVAL_S * f64::from(copies);
        let aalo = format!("aalo:delta={}ms", 1e3 * interval_s);
        let mut run = |policy: &str, reports_always| {
            let platform = Platform::Live(LiveRun { interval_s, reports_always });
            planner.plan.run_on(platform, trace, policy)
        };
        Ok(LiveRuns {
            philae: run("philae", false),
            aalo: run(&aalo, true),
            aalo_when_due: run(&aalo, false),
        })
    }

    /// For each run: its row in the paper's tables if there is one, its name, and the run.
    fn each(&self) -> [(Option<&'static str>, &'static str, RunId); 3] {
        [
            (Some("Philae"), "Philae", self.philae),
            (Some("Aalo"), "Aalo", self.aalo),
            (None, "Aalo, reports when due", self.aalo_when_due),
        ]
    }
}

/// The measurements of a run.
fn live_result<'a>(results: &'a Results<'_>, run: RunId) -> Result<&'a Live, String> {
    results.get(run)?.live.as_ref().ok_or_else(|| "the run was not executed live".to_owned())
}

/// A finding without a unit, from one run.
fn live_finding(what: String, run: RunId, ours: f64) -> Finding {
    Finding::new(what, Setting::Live, &[run], ours).unit("")
}

/// Describes the runs in notes.
fn notes(runs: &LiveRuns, results: &Results<'_>, section: &mut Section) -> Result<(), String> {
    let plan = results.plan;
    for (_, name, run) in runs.each() {
        let live = live_result(results, run)?;
        let Platform::Live(replay) = plan.get(run).platform else { continue };
        section.note(format!(
            "{name}: {} coflows on {} ports, {:.0} s in intervals of {} ms; 99th percentile of the CPU time of \
             a decision at most {} ms, of a push at most {} ms; the whole process used {:.1} % of a core; \
             coflows were registered at most {:.2} s late; {} agents lost.",
            live.coflows,
            plan.workload(plan.get(run).trace).ports,
            live.intervals * replay.interval_s,
            1e3 * replay.interval_s,
            live.decide_p99_ms,
            live.push_p99_ms,
            100.0 * live.process_cpu,
            live.late_s,
            live.agents_lost,
        ));
    }
    Ok(())
}

fn table_1(planner: &mut Planner) -> Result<Evaluate, TraceError> {
    let runs = LiveRuns::new(planner, COPIES)?;
    Ok(Box::new(move |results, section| {
        notes(&runs, results, section)?;
        section.note(
            "Numbers are messages or decisions per interval, on 900 ports. Acknowledgements of schedules are \
             not counted: the paper does not say whether it has them. It does not define events either; \
             here a change of the queues' time slots is an event.",
        );
        let philae = live_result(results, runs.philae)?;
        let aalo = live_result(results, runs.aalo)?;
        let add = |section: &mut Section, what: &str, run, ours, says: &str, rule| {
            section.add(live_finding(what.to_owned(), run, ours).says(says, rule));
        };
        let none = Rule::AtMost(0.0);
        add(section, "Philae, reports of bytes", runs.philae, philae.reports, "none", none);
        let some = Rule::AtLeast(0.001);
        add(section, "Philae, reports of ends", runs.philae, philae.ends, "yes", some);
        section.add(live_finding("Philae, decisions".to_owned(), runs.philae, philae.decisions));
        section.add(
            live_finding(
                "Philae, intervals with a decision sent, %".to_owned(),
                runs.philae,
                percent_with_schedule(philae),
            )
            .says("triggered by events: not in every interval", Rule::AtMost(99.0)),
        );
        section.add(live_finding("Philae, schedules".to_owned(), runs.philae, philae.schedules));
        section.add(live_finding("Aalo, schedules".to_owned(), runs.aalo, aalo.schedules));
        let one = Rule::AtLeast(1.0);
        let says = "periodic: in every interval";
        add(section, "Aalo, reports of bytes", runs.aalo, aalo.reports, says, one);
        add(section, "Aalo, reports of ends", runs.aalo, aalo.ends, "yes", some);
        add(section, "Aalo, decisions", runs.aalo, aalo.decisions, says, one);
        let aalo_when_due = live_result(results, runs.aalo_when_due)?;
        for (what, ours) in [
            ("reports of bytes", aalo_when_due.reports),
            ("reports of ends", aalo_when_due.ends),
            ("decisions", aalo_when_due.decisions),
            ("schedules", aalo_when_due.schedules),
        ] {
            section.add(live_finding(
                format!("Aalo, reports when due, {what}"),
                runs.aalo_when_due,
                ours,
            ));
        }
        Ok(())
    }))
}

/// Percentage of the intervals in which a schedule was sent.
fn percent_with_schedule(live: &Live) -> f64 {
    100.0 * (1.0 - live.unflushed)
}

/// The CPU times of the steps of an interval, by the columns of Table 6.
fn steps(live: &Live) -> [(&'static str, Spread); 4] {
    [
        ("calculate", live.calculate),
        ("send", live.send),
        ("receive", live.receive),
        ("all", live.all),
    ]
}

fn table_6(planner: &mut Planner) -> Result<Evaluate, TraceError> {
    let runs = LiveRuns::new(planner, COPIES)?;
    Ok(Box::new(move |results, section| {
        notes(&runs, results, section)?;
        section.note(
            "A published time holds if ours is at most as long, since the machines differ. The ratios of the \
             two policies do not depend on the machine.",
        );
        let paper = |row: Option<&str>, column: &str| results.published("Table 6", row?, column);
        for (row, name, run) in runs.each() {
            let live = live_result(results, run)?;
            for (step, Spread { mean_ms, deviation_ms }) in steps(live) {
                let mean =
                    live_finding(format!("{name}, {step}"), run, mean_ms).unit("ms").why(HARDWARE);
                section.add(mean.at_most(paper(row, step)));
                let deviation =
                    live_finding(format!("{name}, {step}, deviation"), run, deviation_ms);
                let published = paper(row, &format!("{step}, deviation"));
                section.add(deviation.unit("ms").why(HARDWARE).at_most(published));
            }
        }
        let philae = live_result(results, runs.philae)?;
        for (row, name, run) in &runs.each()[1..] {
            let aalo = live_result(results, *run)?;
            for ((step, aalo), (_, philae)) in steps(aalo).into_iter().zip(steps(philae)) {
                let ours = aalo.mean_ms / philae.mean_ms;
                let published =
                    paper(*row, step).zip(paper(Some("Philae"), step)).map(|(a, p)| a / p);
                let what = format!("{name}, over Philae, {step}");
                let ratio = Finding::new(what, Setting::Live, &[*run, runs.philae], ours);
                section.add(ratio.published(published, HALF).why(RELATION));
            }
        }
        let published = results.published("Section 9.3", "Philae", "intervals without a flush");
        let unflushed = live_finding(
            "Philae, without a flush".to_owned(),
            runs.philae,
            100.0 - percent_with_schedule(philae),
        );
        section.add(unflushed.unit("%").published(published, TENTH).why(LIGHT));
        for (row, name, run) in runs.each() {
            let heard = live_result(results, run)?.agents_heard;
            let published =
                row.and_then(|row| results.published("Section 9.3", row, "agents heard"));
            let heard = live_finding(format!("{name}, agents heard"), run, heard);
            section.add(heard.published(published, HALF).why(LIGHT));
        }
        Ok(())
    }))
}

/// Shares by which numbers from another machine and another part of the trace may differ from
/// published ones.
const HALF: f64 = 0.5;
const TENTH: f64 = 0.1;

fn table_7(planner: &mut Planner) -> Result<Evaluate, TraceError> {
    let all_runs = [(1, "150 ports"), (COPIES, "900 ports")];
    let all_runs = all_runs.map(|(copies, column)| (column, LiveRuns::new(planner, copies)));
    let mut planned = Vec::new();
    for (column, runs) in all_runs {
        planned.push((column, runs?));
    }
    Ok(Box::new(move |results, section| {
        for (column, runs) in &planned {
            notes(runs, results, section)?;
            for (row, name, run) in runs.each() {
                let missed = 100.0 * live_result(results, run)?.missed;
                let published = row.and_then(|row| results.published("Table 7", row, column));
                let missed = live_finding(format!("{name}, {column}"), run, missed).unit("%");
                section.add(missed.at_most(published).why(HARDWARE));
            }
        }
        Ok(())
    }))
}
