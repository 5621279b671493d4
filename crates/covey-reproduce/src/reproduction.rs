//! The reproduction of a paper: from the selected items to their runs, and from the results to a
//! report.

use covey_sim::Observer;
use covey_trace::Workload;

use crate::item::{Evaluate, Item, Planner, Planning, Section};
use crate::plan::{HostCodec, Plan, Platform, Results, Run, RunId, RunResult, TraceId};
use crate::published::{Paper, papers};
use crate::report::{Counts, ItemReport, Method, Report, resolve};
use crate::selection::Selection;
use crate::spark::SparkRuns;
use crate::{aalo, coda, philae, stream, swallow};

/// The planned reproduction of a paper's evaluation.
pub struct Reproduction {
    paper: Paper,
    plan: Plan,
    trace: TraceId,
    method: Method,
    items: Vec<(&'static Item, Result<Evaluate, String>)>,
}

/// Shortest part of a trace, in seconds, whose replay is compared with published values. The
/// beginning of the Facebook trace has a light load.
pub const MIN_LIVE_S: f64 = 600.0;

/// How numbers are found, and on how much of the trace.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Scope {
    /// In simulators, on the whole trace.
    Simulation,
    /// From a live coordinator. Runs are [`Platform::Live`]; the caller executes them.
    Live {
        /// Seconds of the trace from its beginning.
        seconds: f64,
    },
    /// On a testbed. Runs are [`Platform::Testbed`]; the caller executes them.
    Testbed {
        /// Only every `every`-th coflow or application is sent.
        every: usize,
        /// Seconds of the trace from its beginning; all of it if `None`.
        seconds: Option<f64>,
    },
    /// On a cluster of Spark, where all has been measured before. There are no runs.
    Spark,
}

impl Scope {
    /// How numbers are found.
    pub fn method(self) -> Method {
        match self {
            Self::Simulation => Method::Simulation,
            Self::Live { .. } => Method::Live,
            Self::Testbed { .. } => Method::Testbed,
            Self::Spark => Method::Spark,
        }
    }
}

impl Reproduction {
    /// Plans the selected items of `paper` on `workload`; `name` is the workload's name in reports.
    /// The beginning of the Facebook trace counts as the paper's trace if it lasts at least
    /// [`MIN_LIVE_S`].
    pub fn new(
        paper: Paper,
        selection: &Selection,
        name: &str,
        mut workload: Workload,
        scope: Scope,
    ) -> Self {
        let (seconds, every) = match scope {
            Scope::Simulation | Scope::Spark => (None, 1),
            Scope::Live { seconds } => (Some(seconds), 1),
            Scope::Testbed { every, seconds } => (seconds, every),
        };
        let method = scope.method();
        if method == Method::Live {
            workload.coflows.sort_by(|a, b| a.arrival_s.total_cmp(&b.arrival_s));
        }
        let mut is_papers_trace = is_facebook(&workload);
        let mut name = name.to_owned();
        if let Some(seconds) = seconds {
            is_papers_trace &= seconds >= MIN_LIVE_S;
            workload.coflows.retain(|coflow| coflow.arrival_s < seconds);
            name = format!("first {seconds} s of {name}");
        }
        let mut plan = Plan::default();
        let trace = plan.add(&name, workload, is_papers_trace);
        let mut planner = Planner { plan, trace, paper, every };
        let all = items(&planner.paper.name, method);
        let selected = all.iter().filter(|item| selection.has(item.place));
        let planned = selected.map(|item| {
            let evaluate = match item.plan {
                Planning::Runs(plan) => plan(&mut planner).map_err(|error| error.to_string()),
                Planning::NotShown(why) => Err(why.to_owned()),
            };
            (item, evaluate)
        });
        let items = planned.collect();
        Self { paper: planner.paper, plan: planner.plan, trace: planner.trace, method, items }
    }

    /// Moves all runs in the exact simulator to another network, in a form that
    /// [`Network::open`](covey_topology::Network::open) reads. No result can be compared with
    /// published values then.
    #[must_use]
    pub fn on(mut self, fabric: &str) -> Self {
        self.plan.move_to(fabric);
        self
    }

    /// All runs, in the order in which [`finish`](Self::finish) expects their results.
    pub fn runs(&self) -> impl ExactSizeIterator<Item = RunId> + use<> {
        self.plan.runs()
    }

    /// Whether the given trace may change a result. Where there are runs, it does so through their
    /// workloads.
    pub fn uses_trace(&self) -> bool {
        let mut of = self.runs().map(|run| self.plan.get(run).trace);
        let is_replayed = self.method != Method::Live || replays_trace_live(&self.paper.name);
        is_replayed && (of.len() == 0 || of.any(|trace| !self.plan.is_own(trace)))
    }

    /// Sets what was measured of the codecs on this machine, which items on a testbed show.
    pub fn set_codecs(&mut self, codecs: Vec<HostCodec>) {
        self.plan.set_codecs(codecs);
    }

    /// Sets what was measured on a cluster of Spark, which items of [`Scope::Spark`] show.
    pub fn set_spark(&mut self, runs: SparkRuns) {
        self.plan.set_spark(runs);
    }

    /// Number of coflows of a run.
    pub fn coflows(&self, run: RunId) -> usize {
        self.plan.coflows(run)
    }

    /// A run and its workload.
    pub fn get(&self, run: RunId) -> (&Run, &Workload) {
        let run = self.plan.get(run);
        (run, self.plan.workload(run.trace))
    }

    /// Whether a run is in the exact simulator, which reports its progress to an observer.
    pub fn is_observed(&self, run: RunId) -> bool {
        matches!(self.plan.get(run).platform, Platform::Exact { .. })
    }

    /// Simulates a run.
    ///
    /// # Errors
    /// One line that says why the run failed.
    pub fn measure(&self, run: RunId, observer: &mut dyn Observer) -> Result<RunResult, String> {
        self.plan.measure(run, observer)
    }

    /// Evaluates the results of all runs, and returns the report.
    pub fn finish(self, run_results: Vec<Result<RunResult, String>>) -> Report {
        let results = Results::new(&self.plan, &self.paper, run_results);
        let sections = self.items.into_iter().map(|(item, evaluate)| {
            let mut section = Section::default();
            let evaluated = evaluate.and_then(|evaluate| evaluate(&results, &mut section));
            if let Err(error) = evaluated {
                section = Section { not_shown: Some(error), ..Section::default() };
            }
            resolve(item, section, &results)
        });
        let sections: Vec<ItemReport> = sections.collect();
        let found = sections.iter().flat_map(|section| &section.findings);
        Report {
            title: self.paper.title.clone(),
            venue: self.paper.venue.clone(),
            paper: self.paper.name.clone(),
            trace: self.plan.name(self.trace).to_owned(),
            comparable: self.plan.is_papers_trace(self.trace),
            by: self.method,
            counts: Counts::of(found.map(|found| found.verdict)),
            sections,
        }
    }
}

/// The items of a paper that `method` reproduces, in the order of the paper. None if the paper has
/// no items of that method, or if no such paper is known: callers make an error of that.
pub fn items(paper: &str, method: Method) -> &'static [Item] {
    match (paper, method) {
        ("philae", Method::Simulation) => philae::ITEMS,
        ("philae", Method::Live) => philae::LIVE_ITEMS,
        ("philae", Method::Testbed) => philae::TESTBED_ITEMS,
        ("swallow", Method::Simulation) => swallow::ITEMS,
        ("swallow", Method::Testbed) => swallow::TESTBED_ITEMS,
        ("swallow", Method::Spark) => swallow::SPARK_ITEMS,
        ("aalo", Method::Simulation) => aalo::ITEMS,
        ("aalo", Method::Live) => aalo::LIVE_ITEMS,
        ("aalo", Method::Testbed) => aalo::TESTBED_ITEMS,
        ("stream", Method::Simulation) => stream::ITEMS,
        ("stream", Method::Testbed) => stream::TESTBED_ITEMS,
        ("coda", Method::Simulation) => coda::ITEMS,
        ("coda", Method::Testbed) => coda::TESTBED_ITEMS,
        _ => &[],
    }
}

/// Names of the papers of which `method` reproduces something, for an error: `philae or aalo`.
pub fn papers_with(method: Method) -> String {
    let names = papers().into_iter().map(|paper| paper.name);
    let with: Vec<String> = names.filter(|name| !items(name, method).is_empty()).collect();
    with.join(" or ")
}

/// Whether testbed runs of a paper replay the given trace. For other papers they replay workloads
/// that the paper defines.
pub fn replays_trace(paper: &str) -> bool {
    matches!(paper, "philae" | "aalo" | "coda")
}

/// Whether live runs of a paper replay the given trace.
pub fn replays_trace_live(paper: &str) -> bool {
    paper == "philae"
}

/// Whether a workload is the public Facebook trace, judged by its numbers of ports, coflows, flows
/// and bytes.
fn is_facebook(workload: &Workload) -> bool {
    workload.ports == 150
        && workload.coflows.len() == 526
        && workload.num_flows() == 706_397
        && workload.bytes() == 37_259_610_947_584.0
}
