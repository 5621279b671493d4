//! What was found of a paper, ready to be printed, written as JSON or made a page of.

use covey_emulate::Simulator as Emulated;
use covey_report::Figure;
use serde::Serialize;

use crate::finding::{Finding, Published, Setting, Verdict};
use crate::item::{Item, Section};
use crate::plan::{LiveRun, Platform, Results, RunId};

/// How numbers are found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Method {
    /// In simulators.
    Simulation,
    /// From a live coordinator under simulated hosts.
    Live,
    /// From real flows between emulated hosts.
    Testbed,
}

/// All that was found.
#[derive(Debug, Clone, Serialize)]
pub struct Report {
    /// The paper's system.
    pub paper: String,
    /// Its title.
    pub title: String,
    /// Where and when it appeared.
    pub venue: String,
    /// The trace that was given.
    pub trace: String,
    /// Whether that is the one the paper had.
    pub comparable: bool,
    /// How it was found.
    pub by: Method,
    /// What was found, by table, figure, section and equation.
    pub sections: Vec<ItemReport>,
}

/// What was found of one of them.
#[derive(Debug, Clone, Serialize)]
pub struct ItemReport {
    /// Where it is.
    pub place: &'static str,
    /// The section that discusses it.
    pub section: &'static str,
    /// What it shows.
    pub shows: &'static str,
    /// Why there is nothing of it, if so.
    pub cannot: Option<String>,
    /// What was done.
    pub notes: Vec<String>,
    /// The numbers.
    pub findings: Vec<Number>,
    /// The runs these come from.
    pub runs: Vec<RunReport>,
    /// The drawings.
    pub figures: Vec<Figure>,
}

/// One number.
#[derive(Debug, Clone, Serialize)]
pub struct Number {
    /// What it is.
    pub what: String,
    /// In what it was found.
    pub setting: Setting,
    /// The runs it comes from, by their names.
    pub runs: Vec<String>,
    /// The unit of both values; empty for none.
    pub unit: &'static str,
    /// What was published, if that is a number.
    pub published: Option<f64>,
    /// What the paper says of it in words, if it has no number.
    pub says: Option<String>,
    /// What came out.
    pub ours: f64,
    /// Ours over the published value, less 1.
    pub difference: Option<f64>,
    /// When it counts as reproduced.
    pub rule: String,
    /// Whether it does.
    pub verdict: Verdict,
    /// Why it differs; empty if it does not.
    pub why: &'static str,
}

/// One run.
#[derive(Debug, Clone, Serialize)]
pub struct RunReport {
    /// What it is called here.
    pub name: String,
    /// The simulator: `exact`, or the one that is emulated.
    pub simulator: &'static str,
    /// The workload.
    pub trace: String,
    /// Speed of ports in bits per second.
    pub port_rate_bps: f64,
    /// The policy with all its parameters.
    pub policy: String,
    /// Mean CCT in seconds of the simulator.
    pub mean_cct_s: Option<f64>,
}

/// Names what a section refers to, and judges its findings.
pub(crate) fn resolve(item: &Item, section: Section, results: &Results<'_>) -> ItemReport {
    let mut runs: Vec<RunId> = Vec::new();
    for run in section.findings.iter().flat_map(|finding| &finding.runs) {
        if !runs.contains(run) {
            runs.push(*run);
        }
    }
    ItemReport {
        place: item.place,
        section: item.section,
        shows: item.shows,
        cannot: section.not_shown,
        notes: section.notes,
        findings: section.findings.iter().map(|f| number(f, results)).collect(),
        runs: runs.iter().map(|run| told(*run, results)).collect(),
        figures: section.figures,
    }
}

fn number(finding: &Finding, results: &Results<'_>) -> Number {
    let plan = results.plan;
    let of_runs = finding.runs.iter().map(|run| plan.get(*run).trace);
    let comparable = of_runs.chain(finding.traces.iter().copied()).all(|t| plan.is_papers_trace(t));
    let verdict = finding.verdict(comparable);
    let (published, says) = match &finding.published {
        Published::Nothing => (None, None),
        Published::Value(value) => (Some(*value), None),
        Published::Words(words) => (None, Some(words.clone())),
    };
    Number {
        what: finding.what.clone(),
        setting: finding.setting,
        runs: finding.runs.iter().map(|run| name(*run, results)).collect(),
        unit: finding.unit,
        published,
        says,
        ours: finding.ours,
        difference: finding.difference(),
        rule: match finding.published {
            Published::Nothing => String::new(),
            _ => finding.rule.to_string(),
        },
        verdict,
        why: if verdict == Verdict::Differs { finding.why } else { "" },
    }
}

/// Speed of ports live in bits per second.
pub const LIVE_RATE_BPS: f64 = 1e9;

/// Number of hosts of a testbed, and the speed of their links in bits per second.
pub const TESTBED_HOSTS: u32 = 16;
/// See [`TESTBED_HOSTS`].
pub const TESTBED_RATE_BPS: f64 = 1e8;

fn told(run: RunId, results: &Results<'_>) -> RunReport {
    let planned = results.plan.get(run);
    let params = results.get(run).map(|measured| measured.params.clone()).unwrap_or_default();
    let (simulator, port_rate_bps) = match &planned.platform {
        Platform::Exact { port_rate_bps, .. } => ("exact", *port_rate_bps),
        Platform::Emulated(simulator) => (simulator.name(), simulator.port_rate_bps()),
        Platform::Live(_) => ("live", LIVE_RATE_BPS),
        Platform::Testbed(_) => ("testbed", TESTBED_RATE_BPS),
    };
    let shown = params.iter().filter(|(key, _)| key != "sim").map(|(k, v)| format!("{k}={v}"));
    let shown = shown.collect::<Vec<_>>().join(",");
    let policy = planned.policy.split(':').next().unwrap_or_default();
    let joint = if shown.is_empty() { "" } else { ":" };
    RunReport {
        name: name(run, results),
        simulator,
        trace: results.plan.name(planned.trace).to_owned(),
        port_rate_bps,
        policy: format!("{policy}{joint}{shown}"),
        mean_cct_s: results.mean(run).ok(),
    }
}

/// What a run is called: the policy, the simulator if it is not the exact one, the speed of ports
/// if it is not 1 Gbps, and the workload.
fn name(run: RunId, results: &Results<'_>) -> String {
    let planned = results.plan.get(run);
    let platform = match &planned.platform {
        Platform::Exact { port_rate_bps, cpu, barrier } => {
            let rate = match port_rate_bps {
                1e9 => String::new(),
                bps if *bps < 1e6 => format!(" at {bps} bit/s"),
                bps => format!(" at {} Mbps", bps / 1e6),
            };
            let cpu = match cpu.changes() {
                [] => String::new(),
                [one] => format!(" with {} % of processors", 100.0 * one.share),
                _ => " with processors that come and go".to_owned(),
            };
            format!("{rate}{cpu}{}", if *barrier { "" } else { " without barriers" })
        }
        Platform::Emulated(Emulated::CoflowSim) => " in coflowsim".to_owned(),
        Platform::Emulated(Emulated::PhilaeAuthors) => " in philae-authors".to_owned(),
        Platform::Live(LiveRun { interval_s, reports_always }) => {
            let reports = if *reports_always { ", reports in each" } else { "" };
            format!(" live, intervals of {} ms{reports}", 1e3 * interval_s)
        }
        Platform::Testbed(_) => format!(" on {TESTBED_HOSTS} hosts"),
    };
    format!("{}{platform}, {}", planned.policy, results.plan.name(planned.trace))
}
