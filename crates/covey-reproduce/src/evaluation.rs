//! Plans a paper's evaluation from the names that users type, and runs it on several cores.

use std::sync::atomic::AtomicBool;

use covey_core::suggest::{did_you_mean, nearest};
use covey_experiment::parallel::{self, Task};
use covey_experiment::{Error, Progress, Watch};
use covey_sim::SimError;
use covey_trace::Workload;

use crate::published::{Paper, papers};
use crate::report::{Method, Report};
use crate::reproduction::{Reproduction, Scope, items, papers_with};
use crate::selection::Selection;
use crate::spark::SparkRuns;

/// The workload that is used in place of the papers' Facebook trace.
pub const STAND_IN: &str = "builtin:fb-like";

/// Plans the selected part of a paper's evaluation. `trace` is a file or a builtin, as on the
/// command line.
///
/// # Errors
/// If no paper has the name `paper`, if the paper has no selected item for this scope, or if the
/// trace cannot be read.
pub fn plan(
    paper: &str,
    selection: &Selection,
    trace: &str,
    scope: Scope,
) -> Result<Reproduction, Error> {
    let paper = paper_named(paper)?;
    selection.check(&paper.name, items(&paper.name, scope.method()))?;
    let workload = covey_trace::open(trace)?;
    let name = if trace == "-" { "standard input" } else { trace };
    Ok(Reproduction::new(paper, selection, name, workload, scope))
}

/// Shows the selected part of a paper's evaluation as measured on a cluster of Spark.
///
/// # Errors
/// If no paper has the name `paper`, or if nothing selected of it was measured there.
pub fn on_spark(paper: &str, selection: &Selection, runs: SparkRuns) -> Result<Report, Error> {
    let paper = paper_named(paper)?;
    let all = items(&paper.name, Method::Spark);
    if all.is_empty() {
        return Err(Error::argument(
            "spark",
            papers_with(Method::Spark),
            format!("'{}'", paper.name),
        ));
    }
    selection.check(&paper.name, all)?;
    let name = format!(
        "Spark {} with {} hosts, links of {} Mbps, and tables of up to {} rows",
        runs.spark,
        runs.hosts,
        runs.link_bps / 1e6,
        runs.rows
    );
    let nothing = Workload::new(1, Vec::new());
    let mut reproduction = Reproduction::new(paper, selection, &name, nothing, Scope::Spark);
    reproduction.set_spark(runs);
    Ok(reproduction.finish(Vec::new()))
}

/// The paper of that name.
fn paper_named(name: &str) -> Result<Paper, Error> {
    let mut papers = papers();
    match papers.iter().position(|paper| paper.name.eq_ignore_ascii_case(name)) {
        Some(index) => Ok(papers.swap_remove(index)),
        None => {
            let names: Vec<_> = papers.iter().map(|paper| paper.name.as_str()).collect();
            let expected = format!("one of {}", names.join(", "));
            let meant = did_you_mean(nearest(name, names));
            Err(Error::argument("paper", expected, format!("'{name}'{meant}")))
        }
    }
}

/// Number of coflows of all runs together, for a progress bar.
pub fn coflows(reproduction: &Reproduction) -> usize {
    reproduction.runs().map(|run| reproduction.coflows(run)).sum()
}

/// Executes all runs, `jobs` at a time. The report also shows the errors of failed runs.
///
/// # Errors
/// [`SimError::Interrupted`] if `progress` stops the runs.
pub fn reproduce(
    reproduction: Reproduction,
    jobs: usize,
    progress: &dyn Progress,
) -> Result<Report, Error> {
    let never = AtomicBool::new(false);
    let runs: Vec<_> = reproduction.runs().collect();
    let mut results = Vec::new();
    results.resize_with(runs.len(), || Err("the run was not executed".to_owned()));
    let mut tasks: Vec<Task<'_>> = Vec::new();
    for (run, result) in runs.into_iter().zip(&mut results) {
        let (reproduction, failed) = (&reproduction, &never);
        tasks.push(Box::new(move || {
            if progress.is_stopped() {
                return;
            }
            *result = reproduction.measure(run, &mut Watch::new(progress, failed));
            if !reproduction.is_observed(run) {
                progress.advance(reproduction.coflows(run));
            }
        }));
    }
    parallel::run(tasks, jobs);
    if progress.is_stopped() {
        return Err(Error::Sim(SimError::Interrupted));
    }
    Ok(reproduction.finish(results))
}
