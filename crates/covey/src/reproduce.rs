//! `covey reproduce`: a paper's evaluation again.

use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use covey_experiment::reproduction::{self, STAND_IN};
use covey_experiment::{Progress, cores};
use covey_load::{Replay, Replayed};
use covey_report::write_json;
use covey_reproduce::live::{Live, LiveRun, Spread};
use covey_reproduce::plan::{Measured, OnHosts, RunId, Sim};
use covey_reproduce::report::{Report, TESTBED_HOSTS, TESTBED_RATE_BPS};
use covey_reproduce::reproduction::{
    LEAST_LIVE_S, Part, Reproduction, Selection, live_items, replays_trace, testbed_items,
};
use covey_sim::CoflowOutcome;

use crate::failure::Failure;
use crate::live;
use crate::output;
use crate::progress::Bar;
use crate::testbed::Emulated;
use crate::transform::Folding;

/// Repeat a paper's evaluation: published values, ours, and whether they hold
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  covey reproduce philae --trace FB2010-1Hr-150-0.txt --report philae.html
  covey reproduce philae --trace FB2010-1Hr-150-0.txt --table 3
  covey reproduce swallow --figure 4
  covey reproduce swallow --table VI --json
  covey reproduce aalo --trace FB2010-1Hr-150-0.txt
  covey reproduce philae --live --trace FB2010-1Hr-150-0.txt
  covey reproduce philae --live --table 1 --seconds 60
  covey reproduce philae --testbed --trace FB2010-1Hr-150-0.txt
  covey reproduce philae --testbed --table 5 --seconds 900
  covey reproduce swallow --testbed
  covey reproduce swallow --testbed --every 4 --table VII
The papers used an hour of a Facebook cluster, which is public (README tells where) and not included.
Without it builtin:fb-like stands in, and what was found on it cannot be compared with published
values. Examples and workloads that the papers define themselves need no trace.
With --live the coordinator runs in a process of its own, with an agent for each port: of Philae,
Tables 1, 6 and 7. It takes --seconds for each of three policies, and for each number of ports: for
Tables 1 and 6 three times --seconds, with Table 7 six times.
With --testbed real flows go between 16 emulated hosts of 100 Mbit/s (see covey testbed), for which it takes root:
of Philae, Table 5 and Figure 6, four to six minutes for each of four runs; of Swallow, Tables I and VII
and Figures 7a and 7b, on shuffles that are made as compressible as Table I's, seven minutes in all.")]
pub struct Reproduce {
    /// The paper
    #[arg(value_enum, ignore_case = true)]
    paper: Name,
    /// The Facebook trace, or what is to stand for it
    #[arg(long, value_name = "TRACE", default_value = STAND_IN)]
    trace: String,
    /// Only this table, such as 3 or VI
    #[arg(long, value_name = "N", conflicts_with = "figure")]
    table: Option<String>,
    /// Only this figure, such as 4 or 4a
    #[arg(long, value_name = "N")]
    figure: Option<String>,
    /// Measure what only a live coordinator shows
    #[arg(long, group = "replay")]
    live: bool,
    /// With --live, and of Philae with --testbed: how much of the trace to replay, in seconds of the
    /// trace; less than 600 is not compared with published values [default: 600 live, all of it on the
    /// testbed]
    #[arg(long, value_name = "S", requires = "replay")]
    seconds: Option<f64>,
    /// Measure with real flows between emulated hosts
    #[arg(long, group = "replay")]
    testbed: bool,
    /// With --testbed: only every Nth coflow; of Swallow, every Nth application
    #[arg(long, value_name = "N", default_value_t = 1, requires = "testbed")]
    every: usize,
    /// Print one JSON object instead of text
    #[arg(long)]
    json: bool,
    /// Write a page with tables and figures that needs no other file
    #[arg(long, value_name = "FILE.html")]
    report: Option<PathBuf>,
}

/// The most of a trace that is replayed: a day.
const MOST_S: f64 = 86400.0;

/// Progress of all runs of a plan.
fn bar(plan: &Reproduction) -> Bar {
    let what = format!("coflows of {} runs", plan.runs().len());
    Bar::coflows(reproduction::coflows(plan), &what)
}

/// What the coordinator's metrics say of a replay, by scheduling interval.
fn live_of(replayed: &Replayed) -> Live {
    let Replayed { before, after, .. } = replayed;
    let since = |name: &str| after.get(name) - before.get(name);
    let intervals = since("covey_intervals_total");
    let spread = |part: &str| {
        let of = |sum: &str| {
            since(&format!("covey_interval_cpu_seconds_{sum}{{part=\"{part}\"}}")) / intervals
        };
        let mean_s = of("sum");
        let deviation_s = (of("squares") - mean_s * mean_s).max(0.0).sqrt();
        Spread { mean_ms: 1e3 * mean_s, deviation_ms: 1e3 * deviation_s }
    };
    let each = |name: &str| since(name) / intervals;
    let p99_ms = |name: &str| after.quantile_ms(before, name, 0.99);
    Live {
        intervals,
        coflows: since("covey_coflows_registered_total"),
        calculate: spread("calculate"),
        send: spread("send"),
        receive: spread("receive"),
        all: spread("all"),
        missed: each("covey_intervals_missed_total"),
        unflushed: each("covey_intervals_without_flush_total"),
        agents_heard: each("covey_interval_agents_total"),
        ends: each("covey_messages_ended_total"),
        reports: each("covey_messages_sent_total"),
        schedules: each("covey_schedules_sent_total"),
        decisions: each("covey_decisions_total"),
        decide_p99_ms: p99_ms("covey_decide_cpu_seconds"),
        push_p99_ms: p99_ms("covey_push_cpu_seconds"),
        process_cpu: since("process_cpu_seconds_total") / replayed.seconds,
        late_s: replayed.late_s,
        agents_lost: replayed.agents_lost,
    }
}

/// Does a live run.
async fn measure(
    covey: &Path,
    plan: &Reproduction,
    run: RunId,
    seconds: f64,
    bar: &Bar,
) -> Result<Measured, String> {
    let (run, workload) = plan.of(run);
    let Sim::Live(LiveRun { interval_s, reports_always }) = run.sim else {
        return Err("it is not to be run live".to_owned());
    };
    let replay = Replay { workload, policy: &run.policy, interval_s, reports_always, seconds };
    let found = covey_load::replay(covey, &replay, &|s| bar.advance_s(s)).await;
    let live = Some(live_of(&found.map_err(|error| error.to_string())?));
    Ok(Measured { live, ..Measured::default() })
}

/// The papers that can be repeated.
#[derive(Debug, Clone, Copy, ValueEnum)]
enum Name {
    // USENIX ATC 2019.
    Philae,
    // IPDPS 2018.
    Swallow,
    // SIGCOMM 2015.
    Aalo,
}

impl Reproduce {
    /// Does it.
    pub fn run(self) -> Result<(), Failure> {
        let report = match (self.live, self.testbed) {
            (true, _) => self.measure()?,
            (_, true) => self.replay()?,
            _ => self.simulate()?,
        };
        if let Some(file) = &self.report {
            let page = report.html_page(&output::command());
            output::write(file, |out| out.write_all(page.as_bytes()))?;
        }
        output::print(
            |out| {
                if self.json { write_json(&report, out) } else { write!(out, "{report}") }
            },
        )
    }

    fn simulate(&self) -> Result<Report, Failure> {
        let plan = reproduction::plan(self.paper(), &self.selection(), &self.trace)?;
        self.check_report()?;
        let bar = bar(&plan);
        Ok(reproduction::reproduce(plan, cores(), &bar)?)
    }

    fn measure(&self) -> Result<Report, Failure> {
        if live_items(self.paper()).is_empty() {
            return Err(Failure::argument("--live", "philae", self.paper()));
        }
        let (selection, seconds) = (self.selection(), self.seconds()?.unwrap_or(LEAST_LIVE_S));
        let plan = reproduction::plan_live(self.paper(), &selection, &self.trace, seconds)?;
        self.check_report()?;
        let covey = std::env::current_exe();
        let covey = covey.map_err(|error| Failure::Other(format!("this program: {error}")))?;
        let bar = Bar::seconds(plan.runs().len() as f64 * seconds);
        let runtime = live::runtime(cores())?;
        let measure = |run| runtime.block_on(measure(&covey, &plan, run, seconds, &bar));
        let measured = plan.runs().map(measure).collect();
        Ok(plan.finish(measured))
    }

    fn replay(&self) -> Result<Report, Failure> {
        if testbed_items(self.paper()).is_empty() {
            return Err(Failure::argument("--testbed", "philae or swallow", self.paper()));
        }
        if self.every == 0 {
            return Err(Failure::argument("--every", "1 or more", self.every));
        }
        if self.seconds.is_some() && !replays_trace(self.paper()) {
            let expected = "philae, which replays a trace; --every shortens swallow";
            return Err(Failure::argument("--seconds", expected, self.paper()));
        }
        let part = Part { every: self.every, seconds: self.seconds()? };
        let plan = reproduction::plan_testbed(self.paper(), &self.selection(), &self.trace, part)?;
        self.check_report()?;
        let bar = bar(&plan);
        let testbed = Emulated::start(TESTBED_HOSTS, TESTBED_RATE_BPS / 8.0)?;
        let mut measured = Vec::new();
        for run in plan.runs() {
            let (run, workload) = plan.of(run);
            let Sim::Testbed(OnHosts { fold, ratio }) = run.sim else {
                return Err(Failure::Other(format!("{}: it is not to be replayed", run.policy)));
            };
            let workload = match fold {
                Some(every) => Folding::usual(every).fold(workload, TESTBED_HOSTS)?,
                None => workload.clone(),
            };
            let advance = |coflows| bar.advance(coflows);
            let found = testbed.replay(&workload, &run.policy, ratio, &advance)?;
            let ccts_s = found.outcome.coflows.iter().map(CoflowOutcome::cct_s).collect();
            let wire_bytes = found.wire_bytes;
            measured.push(Ok(Measured { ccts_s, wire_bytes, ..Measured::default() }));
        }
        Ok(plan.finish(measured))
    }

    fn seconds(&self) -> Result<Option<f64>, Failure> {
        match self.seconds {
            Some(seconds) if !(1.0..=MOST_S).contains(&seconds) => {
                Err(Failure::argument("--seconds", format!("from 1 to {MOST_S}"), seconds))
            }
            seconds => Ok(seconds),
        }
    }

    fn check_report(&self) -> Result<(), Failure> {
        let check = |file: &Path| output::check_format("--report", file, output::PAGE);
        self.report.as_deref().map_or(Ok(()), check)
    }

    fn paper(&self) -> &'static str {
        match self.paper {
            Name::Philae => "philae",
            Name::Swallow => "swallow",
            Name::Aalo => "aalo",
        }
    }

    fn selection(&self) -> Selection {
        match (&self.table, &self.figure) {
            (Some(number), _) => Selection::Table(number.clone()),
            (None, Some(number)) => Selection::Figure(number.clone()),
            (None, None) => Selection::All,
        }
    }
}
