//! A paper's evaluation, run.

use std::sync::atomic::AtomicBool;

use covey_core::suggest::{did_you_mean, nearest};
use covey_reproduce::published::{Paper, papers};
use covey_reproduce::report::Report;
use covey_reproduce::reproduction::{
    Part, Reproduction, Selection, items, live_items, testbed_items,
};
use covey_sim::SimError;
use covey_trace::Workload;

use crate::parallel::{self, Task};
use crate::progress::Watch;
use crate::{Error, Progress};

/// What stands in for the Facebook trace, which the papers used.
pub const STAND_IN: &str = "builtin:fb-like";

/// Plans a paper's evaluation on a trace, which is given as users name it.
///
/// # Errors
/// When nothing is published of the paper, when it has nothing of that number, or when the trace
/// cannot be read.
pub fn plan(paper: &str, selection: &Selection, trace: &str) -> Result<Reproduction, Error> {
    let paper = known(paper)?;
    selection.check(&paper.name, items(&paper.name))?;
    let (name, workload) = open(trace)?;
    Ok(Reproduction::new(paper, selection, name, workload))
}

/// Plans what can be measured live of a paper's evaluation, on the first seconds of a trace.
///
/// # Errors
/// As [`plan`].
pub fn plan_live(
    paper: &str,
    selection: &Selection,
    trace: &str,
    seconds: f64,
) -> Result<Reproduction, Error> {
    let paper = known(paper)?;
    selection.check(&paper.name, live_items(&paper.name))?;
    let (name, workload) = open(trace)?;
    Ok(Reproduction::live(paper, selection, name, workload, seconds))
}

/// Plans what is selected of what can be measured of a paper on a testbed, of a part of what there is.
///
/// # Errors
/// As [`plan`].
pub fn plan_testbed(
    paper: &str,
    selection: &Selection,
    trace: &str,
    part: Part,
) -> Result<Reproduction, Error> {
    let paper = known(paper)?;
    selection.check(&paper.name, testbed_items(&paper.name))?;
    let (name, workload) = open(trace)?;
    Ok(Reproduction::testbed(paper, selection, name, workload, part))
}

/// What is published of a paper.
fn known(name: &str) -> Result<Paper, Error> {
    let mut papers = papers().map_err(|error| Error::Published(error.to_string()))?;
    match papers.iter().position(|paper| paper.name.eq_ignore_ascii_case(name)) {
        Some(place) => Ok(papers.swap_remove(place)),
        None => {
            let names: Vec<_> = papers.iter().map(|paper| paper.name.as_str()).collect();
            let expected = format!("one of {}", names.join(", "));
            let meant = did_you_mean(nearest(name, names));
            Err(Error::argument("paper", expected, format!("'{name}'{meant}")))
        }
    }
}

/// The trace with its name.
fn open(trace: &str) -> Result<(&str, Workload), Error> {
    let workload = covey_trace::open(trace)?;
    Ok((if trace == "-" { "standard input" } else { trace }, workload))
}

/// Coflows of all runs together, of which progress is told.
pub fn coflows(reproduction: &Reproduction) -> usize {
    reproduction.runs().map(|run| reproduction.coflows(run)).sum()
}

/// Does all runs, `jobs` at a time, and tells what was found. A run that fails is told there.
///
/// # Errors
/// [`SimError::Interrupted`] where `progress` says that nobody wants the results.
pub fn reproduce(
    reproduction: Reproduction,
    jobs: usize,
    progress: &dyn Progress,
) -> Result<Report, Error> {
    let never = AtomicBool::new(false);
    let runs: Vec<_> = reproduction.runs().collect();
    let mut measured = Vec::new();
    measured.resize_with(runs.len(), || Err("it was not run".to_owned()));
    let mut tasks: Vec<Task<'_>> = Vec::new();
    for (run, place) in runs.into_iter().zip(&mut measured) {
        let (reproduction, failed) = (&reproduction, &never);
        tasks.push(Box::new(move || {
            if progress.is_stopped() {
                return;
            }
            *place = reproduction.measure(run, &mut Watch { progress, failed, seen: 0 });
            if !reproduction.is_observed(run) {
                progress.advance(reproduction.coflows(run));
            }
        }));
    }
    parallel::run(tasks, jobs);
    if progress.is_stopped() {
        return Err(Error::Sim(SimError::Interrupted));
    }
    Ok(reproduction.finish(measured))
}
