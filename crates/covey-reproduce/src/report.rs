//! The report on a paper: the data that the text, the JSON and the HTML page show.

use covey_emulate::Simulator as Emulated;
use covey_report::Figure;
use serde::Serialize;

use crate::finding::{Finding, Published, Setting, Verdict};
use crate::item::{Item, Section};
use crate::plan::{BIG_SWITCH, LiveRun, Platform, Results, RunId, TestbedNetwork, TestbedRun};

/// How the numbers of a report are found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Method {
    /// In simulators.
    Simulation,
    /// From a live coordinator under simulated hosts.
    Live,
    /// From real flows between emulated hosts.
    Testbed,
    /// From applications on a cluster of Spark.
    Spark,
}

/// The report on a paper.
#[derive(Debug, Clone, Serialize)]
pub struct Report {
    /// The system that the paper describes, in lower case.
    pub paper: String,
    /// The paper's title.
    pub title: String,
    /// Where and when the paper appeared.
    pub venue: String,
    /// The name of the trace that the user gave.
    pub trace: String,
    /// Whether this trace is the paper's.
    pub comparable: bool,
    /// How the numbers were found.
    pub by: Method,
    /// How many findings have each verdict.
    pub counts: Counts,
    /// The findings, by table, figure, section and equation.
    pub sections: Vec<ItemReport>,
}

/// How many findings have each verdict.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Counts {
    /// [`Verdict::Check`].
    pub checks: usize,
    /// [`Verdict::Holds`].
    pub holds: usize,
    /// [`Verdict::Differs`].
    pub differs: usize,
    /// [`Verdict::NotComparable`].
    pub not_comparable: usize,
    /// [`Verdict::NotPublished`].
    pub ours_only: usize,
}

impl Counts {
    /// Counts the verdicts.
    pub fn of(verdicts: impl IntoIterator<Item = Verdict>) -> Counts {
        let mut counts = Counts::default();
        for verdict in verdicts {
            *match verdict {
                Verdict::Check => &mut counts.checks,
                Verdict::Holds => &mut counts.holds,
                Verdict::Differs => &mut counts.differs,
                Verdict::NotComparable => &mut counts.not_comparable,
                Verdict::NotPublished => &mut counts.ours_only,
            } += 1;
        }
        counts
    }
}

/// The findings of one table, figure, section or equation.
#[derive(Debug, Clone, Serialize)]
pub struct ItemReport {
    /// The item's name in the paper, such as `Table 3`.
    pub place: &'static str,
    /// The section that discusses it.
    pub section: &'static str,
    /// What the item shows.
    pub shows: &'static str,
    /// Why the item is not reproduced; `None` if it is.
    pub cannot: Option<String>,
    /// How the numbers were found, one paragraph each.
    pub notes: Vec<String>,
    /// The numbers.
    pub findings: Vec<Number>,
    /// The runs that the numbers come from.
    pub runs: Vec<RunReport>,
    /// The plots.
    pub figures: Vec<Figure>,
}

/// One number beside the paper's.
#[derive(Debug, Clone, Serialize)]
pub struct Number {
    /// The label.
    pub what: String,
    /// How the number was found.
    pub setting: Setting,
    /// The names of the runs that the number comes from.
    pub runs: Vec<String>,
    /// The unit of both values; empty for none.
    pub unit: &'static str,
    /// The published value, if the paper has a number.
    pub published: Option<f64>,
    /// What the paper says in words, if it has no number.
    pub says: Option<String>,
    /// The number that Covey found.
    pub ours: f64,
    /// `ours / published - 1`, if the paper has a number.
    pub difference: Option<f64>,
    /// The rule by which the published value counts as reproduced; empty without one.
    pub rule: String,
    /// Whether ours satisfies the rule, and whether it could have failed to.
    pub verdict: Verdict,
    /// Why ours differs; empty for any other verdict.
    pub why: &'static str,
}

/// One run of a report.
#[derive(Debug, Clone, Serialize)]
pub struct RunReport {
    /// The name by which [`Number::runs`] refers to it.
    pub name: String,
    /// Where the policy ran: `exact`, `live`, `testbed`, or the name of the emulated simulator.
    pub simulator: &'static str,
    /// The workload.
    pub trace: String,
    /// Speed of each port in bits per second.
    pub port_rate_bps: f64,
    /// The policy with all its parameters.
    pub policy: String,
    /// Mean CCT in the platform's seconds, if the run succeeded.
    pub mean_cct_s: Option<f64>,
}

/// Replaces ids of runs by their names, and gives each finding its verdict.
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
        runs: runs.iter().map(|run| run_report(*run, results)).collect(),
        figures: section.figures,
    }
}

fn number(finding: &Finding, results: &Results<'_>) -> Number {
    let plan = results.plan;
    let traces_of_runs = finding.runs.iter().map(|run| plan.get(*run).trace);
    let comparable =
        traces_of_runs.chain(finding.traces.iter().copied()).all(|t| plan.is_papers_trace(t));
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
            _ => finding.deciding_rule().to_string(),
        },
        verdict,
        why: if verdict == Verdict::Differs { finding.why } else { "" },
    }
}

/// Speed of each port of a live run, in bits per second.
pub const LIVE_RATE_BPS: f64 = 1e9;

/// Speed of each host's link of the testbed, in bits per second.
pub const TESTBED_RATE_BPS: f64 = 1e8;

fn run_report(run: RunId, results: &Results<'_>) -> RunReport {
    let planned = results.plan.get(run);
    let params = results.get(run).map(|result| result.params.clone()).unwrap_or_default();
    let (simulator, port_rate_bps) = match &planned.platform {
        Platform::Exact { port_rate_bps, .. } => ("exact", *port_rate_bps),
        Platform::Emulated(simulator) => (simulator.name(), simulator.port_rate_bps()),
        Platform::Live(_) => ("live", LIVE_RATE_BPS),
        Platform::Testbed(_) => ("testbed", TESTBED_RATE_BPS),
    };
    let settings = params.iter().filter(|(key, _)| key != "sim").map(|(k, v)| format!("{k}={v}"));
    let settings = settings.collect::<Vec<_>>().join(",");
    let policy = planned.policy.split(':').next().unwrap_or_default();
    let joint = if settings.is_empty() { "" } else { ":" };
    RunReport {
        name: name(run, results),
        simulator,
        trace: results.plan.name(planned.trace).to_owned(),
        port_rate_bps,
        policy: format!("{policy}{joint}{settings}"),
        mean_cct_s: results.mean(run).ok(),
    }
}

/// The name of a run: the policy, the platform unless it is the exact simulator, the speed of ports
/// unless it is 1 Gbps, and the workload.
fn name(run: RunId, results: &Results<'_>) -> String {
    let planned = results.plan.get(run);
    let platform = match &planned.platform {
        Platform::Exact { fabric, port_rate_bps, cpu, barrier } => {
            let fabric = match fabric.as_str() {
                BIG_SWITCH => String::new(),
                other => format!(" on {other}"),
            };
            let rate = match port_rate_bps {
                1e9 => String::new(),
                bps if *bps < 1e6 => format!(" at {bps} bit/s"),
                bps => format!(" at {} Mbps", bps / 1e6),
            };
            let cpu = match cpu.changes() {
                [] => String::new(),
                [change] => format!(" with {} % of processors", 100.0 * change.share),
                _ => " with processors that come and go".to_owned(),
            };
            format!("{fabric}{rate}{cpu}{}", if *barrier { "" } else { " without barriers" })
        }
        Platform::Emulated(Emulated::CoflowSim) => " in coflowsim".to_owned(),
        Platform::Emulated(Emulated::PhilaeAuthors) => " in philae-authors".to_owned(),
        Platform::Live(LiveRun { interval_s, reports_always }) => {
            let reports = if *reports_always { ", reports in each" } else { "" };
            format!(" live, intervals of {} ms{reports}", 1e3 * interval_s)
        }
        Platform::Testbed(TestbedRun { network, .. }) => {
            let TestbedNetwork { hosts, switch_queues, background } = network;
            let queues = switch_queues.map_or_else(String::new, |n| format!(", {n} queues"));
            let background = match *background {
                0.0 => String::new(),
                share => format!(", background {} %", 100.0 * share),
            };
            format!(" on {hosts} hosts{queues}{background}")
        }
    };
    format!("{}{platform}, {}", planned.policy, results.plan.name(planned.trace))
}
