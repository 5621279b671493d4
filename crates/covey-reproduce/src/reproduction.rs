//! The evaluation of a paper again: which of its tables and figures, what is run for them, and what
//! is found.

use covey_sim::Observer;
use covey_trace::{TraceError, Workload};
use serde::Serialize;

use crate::finding::Finding;
use crate::plan::{Measured, Plan, Results, Run, RunId, TraceId};
use crate::published::Paper;
use crate::report::{Report, resolve};
use covey_report::Figure;

/// A table, figure, section or equation of a paper.
pub struct Item {
    /// Where it is, such as `Table 3` or `Figure 4(a)`.
    pub place: &'static str,
    /// The section that discusses it.
    pub section: &'static str,
    /// What it shows.
    pub shows: &'static str,
    /// Plans its runs, and tells what to make of them.
    pub plan: fn(&mut Lab) -> Result<Evaluate, TraceError>,
}

/// Makes findings of results.
pub type Evaluate = Box<dyn FnOnce(&Results<'_>, &mut Section) -> Result<(), String> + Send + Sync>;

/// What items plan with.
pub struct Lab {
    /// Workloads and runs.
    pub plan: Plan,
    /// The trace that was given, at best the paper's.
    pub trace: TraceId,
    /// What was published.
    pub paper: Paper,
    /// On a testbed: only every so many-th of what there is many of, to be quick.
    pub every: usize,
}

/// What was found of an item.
#[derive(Debug, Default)]
pub struct Section {
    /// What was done, a paragraph each.
    pub notes: Vec<String>,
    /// The numbers.
    pub findings: Vec<Finding>,
    /// The drawings.
    pub figures: Vec<Figure>,
    /// Why there is nothing of it, if so.
    pub cannot: Option<String>,
}

impl Section {
    /// Adds a paragraph.
    pub fn note(&mut self, text: impl Into<String>) {
        self.notes.push(text.into());
    }

    /// Adds a finding.
    pub fn add(&mut self, finding: Finding) {
        self.findings.push(finding);
    }
}

/// An item of which a simulator can show nothing.
pub fn cannot(why: &'static str) -> Result<Evaluate, TraceError> {
    Ok(Box::new(move |_, section| {
        section.cannot = Some(why.to_owned());
        Ok(())
    }))
}

/// Which items of a paper.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Selection {
    /// All.
    All,
    /// The table of this number.
    Table(String),
    /// The figure of this number, all its parts if no part is named.
    Figure(String),
}

/// There is nothing of that number.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{argument}: expected one of {known} for {paper}, found '{found}'")]
pub struct UnknownItem {
    argument: &'static str,
    known: String,
    paper: String,
    found: String,
}

/// How numbers are found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Means {
    /// In simulators.
    Simulation,
    /// From a live coordinator under simulated hosts.
    Live,
    /// From real flows between emulated hosts.
    Testbed,
}

/// The evaluation of a paper again, planned.
pub struct Reproduction {
    paper: Paper,
    plan: Plan,
    trace: TraceId,
    by: Means,
    items: Vec<(&'static Item, Result<Evaluate, String>)>,
}

/// How much of a trace is replayed live at least for a comparison with what was published, in seconds:
/// the beginning of the Facebook trace is light.
pub const LEAST_LIVE_S: f64 = 600.0;

/// Which part of what there is a testbed replays, to be quick.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Part {
    /// Only every so many-th coflow or application.
    pub every: usize,
    /// Only what arrives in the first so many seconds of the trace; all of it if `None`.
    pub seconds: Option<f64>,
}

/// Adds the first seconds of a trace, which are the paper's only if they are [`LEAST_LIVE_S`] or more.
fn add_first(plan: &mut Plan, name: &str, mut workload: Workload, seconds: f64) -> TraceId {
    let is_the_papers = is_facebook(&workload) && seconds >= LEAST_LIVE_S;
    workload.coflows.retain(|coflow| coflow.arrival_s < seconds);
    plan.add(&format!("first {seconds} s of {name}"), workload, is_the_papers)
}

impl Reproduction {
    /// Plans the items of `paper` that are selected, on `workload`, which is called `name`.
    pub fn new(paper: Paper, selection: &Selection, name: &str, workload: Workload) -> Self {
        let mut plan = Plan::default();
        let is_the_papers = is_facebook(&workload);
        let trace = plan.add(name, workload, is_the_papers);
        let all = items(&paper.name);
        Self::planned(Lab { plan, trace, paper, every: 1 }, all, selection, Means::Simulation)
    }

    /// Plans what is selected of what can be measured live, on the first seconds of `workload`. The
    /// runs are [`Sim::Live`](crate::plan::Sim::Live); whoever does them hands [`finish`](Self::finish) what came out.
    pub fn live(
        paper: Paper,
        selection: &Selection,
        name: &str,
        mut workload: Workload,
        seconds: f64,
    ) -> Self {
        let mut plan = Plan::default();
        workload.coflows.sort_by(|a, b| a.arrival_s.total_cmp(&b.arrival_s));
        let trace = add_first(&mut plan, name, workload, seconds);
        let all = live_items(&paper.name);
        Self::planned(Lab { plan, trace, paper, every: 1 }, all, selection, Means::Live)
    }

    /// Plans what is selected of what can be measured on a testbed, of a part of what there is. The runs are [`Sim::Testbed`](crate::plan::Sim::Testbed).
    pub fn testbed(
        paper: Paper,
        selection: &Selection,
        name: &str,
        workload: Workload,
        part: Part,
    ) -> Self {
        let mut plan = Plan::default();
        let trace = match part.seconds {
            Some(seconds) => add_first(&mut plan, name, workload, seconds),
            None => {
                let is_the_papers = is_facebook(&workload);
                plan.add(name, workload, is_the_papers)
            }
        };
        let all = testbed_items(&paper.name);
        Self::planned(Lab { plan, trace, paper, every: part.every }, all, selection, Means::Testbed)
    }

    fn planned(mut lab: Lab, items: &'static [Item], selection: &Selection, by: Means) -> Self {
        let selected = items.iter().filter(|item| selection.has(item.place));
        let items = selected.map(|item| {
            let evaluate = (item.plan)(&mut lab).map_err(|error| error.to_string());
            (item, evaluate)
        });
        let items = items.collect();
        Self { paper: lab.paper, plan: lab.plan, trace: lab.trace, by, items }
    }

    /// All runs that are needed, in the order in which [`finish`](Self::finish) wants them.
    pub fn runs(&self) -> impl ExactSizeIterator<Item = RunId> + use<> {
        self.plan.runs()
    }

    /// Number of coflows of a run.
    pub fn coflows(&self, run: RunId) -> usize {
        self.plan.coflows(run)
    }

    /// What a run is, and its workload.
    pub fn of(&self, run: RunId) -> (&Run, &Workload) {
        let run = self.plan.of(run);
        (run, self.plan.workload(run.trace))
    }

    /// Whether the runs take place in the exact simulator, which tells its observer of progress.
    pub fn is_observed(&self, run: RunId) -> bool {
        matches!(self.plan.of(run).sim, crate::plan::Sim::Exact { .. })
    }

    /// Does a run.
    ///
    /// # Errors
    /// Why it cannot be done, in one line.
    pub fn measure(&self, run: RunId, observer: &mut dyn Observer) -> Result<Measured, String> {
        self.plan.measure(run, observer)
    }

    /// What was found, from what the runs found.
    pub fn finish(self, measured: Vec<Result<Measured, String>>) -> Report {
        let results = Results::new(&self.plan, &self.paper, measured);
        let sections = self.items.into_iter().map(|(item, evaluate)| {
            let mut section = Section::default();
            let done = evaluate.and_then(|evaluate| evaluate(&results, &mut section));
            if let Err(error) = done {
                section = Section { cannot: Some(error), ..Section::default() };
            }
            resolve(item, section, &results)
        });
        Report {
            title: self.paper.title.clone(),
            venue: self.paper.venue.clone(),
            paper: self.paper.name.clone(),
            trace: self.plan.name(self.trace).to_owned(),
            comparable: self.plan.is_the_papers(self.trace),
            by: self.by,
            sections: sections.collect(),
        }
    }
}

/// The items of a paper that can be measured live, in its order.
pub fn live_items(paper: &str) -> &'static [Item] {
    match paper {
        "philae" => crate::philae::LIVE_ITEMS,
        _ => &[],
    }
}

/// Whether what is measured of a paper on a testbed is a replay of the trace.
pub fn replays_trace(paper: &str) -> bool {
    paper == "philae"
}

/// The items of a paper that can be measured on a testbed, in its order.
pub fn testbed_items(paper: &str) -> &'static [Item] {
    match paper {
        "philae" => crate::philae::TESTBED_ITEMS,
        "swallow" => crate::swallow::TESTBED_ITEMS,
        _ => &[],
    }
}

/// The items of a paper, in its order.
pub fn items(paper: &str) -> &'static [Item] {
    match paper {
        "philae" => crate::philae::ITEMS,
        "swallow" => crate::swallow::ITEMS,
        "aalo" => crate::aalo::ITEMS,
        _ => &[],
    }
}

impl Selection {
    /// Whether it takes in the item at a place.
    fn has(&self, place: &str) -> bool {
        let (kind, number) = match self {
            Self::All => return true,
            Self::Table(number) => ("Table ", number),
            Self::Figure(number) => ("Figure ", number),
        };
        let plain = |text: &str| text.replace(['(', ')'], "").to_lowercase();
        place.strip_prefix(kind).is_some_and(|found| {
            let whole = found.split('(').next().unwrap_or(found);
            let number = plain(number);
            plain(found) == number || plain(whole) == number
        })
    }

    /// Checks that among the items of a paper is something of that number.
    ///
    /// # Errors
    /// What there is, if it does not.
    pub fn check(&self, paper: &str, all: &[Item]) -> Result<(), UnknownItem> {
        if all.iter().any(|item| self.has(item.place)) {
            return Ok(());
        }
        let (argument, kind, found) = match self {
            Self::Table(number) => ("--table", "Table ", number.as_str()),
            Self::Figure(number) => ("--figure", "Figure ", number.as_str()),
            Self::All => ("paper", "", ""),
        };
        let known = all.iter().filter_map(|item| item.place.strip_prefix(kind));
        let known = known.collect::<Vec<_>>().join(", ");
        Err(UnknownItem { argument, known, paper: paper.to_owned(), found: found.to_owned() })
    }
}

/// Whether a workload is the public Facebook trace, told by its counts.
fn is_facebook(workload: &Workload) -> bool {
    workload.ports == 150
        && workload.coflows.len() == 526
        && workload.num_flows() == 706_397
        && workload.bytes() == 37_259_610_947_584.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_means_all_parts_of_a_figure() {
        let figure = |number: &str| Selection::Figure(number.to_owned());
        assert!(figure("4").has("Figure 4(a)") && figure("4a").has("Figure 4(a)"));
        assert!(figure("4(A)").has("Figure 4(a)"));
        assert!(!figure("4b").has("Figure 4(a)") && !figure("4").has("Figure 14"));
        assert!(!figure("4").has("Table 4"));
        assert!(Selection::Table("vi".to_owned()).has("Table VI"));
    }
}
