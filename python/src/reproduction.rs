//! A paper's evaluation again.

use std::path::PathBuf;
use std::sync::Arc;

use covey_reproduce::Selection;
use covey_reproduce::evaluation::{self, STAND_IN};
use covey_reproduce::report::Report;
use covey_reproduce::reproduction::Scope;
use pyo3::prelude::*;

use crate::errors::raised;
use crate::html;
use crate::json::as_python;
use crate::run::{Watch, in_thread, write_page};

/// What was found of a paper's evaluation: published values, ours, and whether they hold.
#[pyclass(frozen, module = "covey")]
pub struct Reproduction {
    report: Report,
}

/// Repeats what a paper published, all of it or a table or a figure. `progress` is called with the
/// number of coflows that have ended, over all runs.
#[pyfunction]
#[pyo3(signature = (paper, *, table, figure, trace, jobs, progress))]
pub fn reproduce(
    py: Python<'_>,
    paper: &str,
    table: Option<String>,
    figure: Option<String>,
    trace: Option<&str>,
    jobs: Option<usize>,
    progress: Option<Bound<'_, PyAny>>,
) -> PyResult<Reproduction> {
    let selection = match (table, figure) {
        (Some(number), _) => Selection::Table(number),
        (None, Some(number)) => Selection::Figure(number),
        (None, None) => Selection::All,
    };
    let trace = trace.unwrap_or(STAND_IN);
    let plan = || evaluation::plan(paper, &selection, trace, Scope::Simulation);
    let plan = py.detach(plan).map_err(raised)?;
    let total = evaluation::coflows(&plan);
    let jobs = jobs.unwrap_or_else(covey_experiment::cores).max(1);
    let watch = Arc::new(Watch::default());
    let report = in_thread(py, &watch, total, progress.as_ref(), {
        let watch = Arc::clone(&watch);
        move || evaluation::reproduce(plan, jobs, watch.as_ref())
    })?;
    Ok(Reproduction { report: report.map_err(raised)? })
}

#[pymethods]
impl Reproduction {
    /// Give what was found, as of ``covey reproduce --json``.
    fn summary<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        as_python(py, &self.report)
    }

    /// The text of `covey reproduce`.
    fn __str__(&self) -> String {
        self.report.to_string()
    }

    fn _repr_html_(&self) -> String {
        html::report(&self.report)
    }

    /// Write a page with tables and figures that needs no other file.
    #[pyo3(signature = (path, command="a Python program"))]
    fn report(&self, path: PathBuf, command: &str) -> PyResult<()> {
        write_page(&path, &self.report.html_page(command))
    }
}
