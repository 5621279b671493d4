//! Comparisons of the same policies on several traces, which differ by their seed.

use std::path::PathBuf;

use covey_report::{Column, Results, SeedsSpeedup, Values, results_page};
use pyo3::prelude::*;

use crate::errors::raised;
use crate::frame::Frame;
use crate::html;
use crate::json::as_python;
use crate::run::{Comparison, write_page};

/// Comparisons, one a seed, while they are made.
#[pyclass(module = "covey._core")]
pub struct Seeds(covey_report::Seeds);

#[pymethods]
impl Seeds {
    /// None yet, on the trace of this name.
    #[new]
    fn new(trace: String) -> Seeds {
        Seeds(covey_report::Seeds::on(trace))
    }

    /// Add what was found with a seed.
    fn add(&mut self, seed: u64, comparison: PyRef<'_, Comparison>) -> PyResult<()> {
        self.0.add(seed, &comparison.comparison()?);
        Ok(())
    }

    /// What all of them say.
    fn finish(&self) -> PyResult<OverSeeds> {
        Ok(OverSeeds(self.0.clone().finish().map_err(raised)?))
    }
}

/// Several policies on several traces, which differ by their seed.
#[pyclass(frozen, module = "covey")]
pub struct OverSeeds(covey_report::OverSeeds);

#[pymethods]
impl OverSeeds {
    /// The label of the policy that the others are measured against.
    #[getter]
    fn baseline(&self) -> &str {
        &self.0.speedups()[self.0.baseline()].label
    }

    /// The seeds.
    #[getter]
    fn seeds(&self) -> Vec<u64> {
        self.0.seeds().collect()
    }

    /// The policies by their mean CCT, the fastest first: ``sebf < covey ~ fair``.
    ///
    /// Where there is a ``<``, it is certain at 95 % that the first is faster than the second.
    #[getter]
    fn ranking(&self) -> String {
        self.0.certainty().ranking()
    }

    /// A row for each policy, as in the table of ``covey compare --seeds``.
    ///
    /// policy, mean_cct_s (the mean over the seeds), speedup_of_mean and speedup_median (geometric
    /// means over the seeds), speedup_low and speedup_high (the 95 % interval of speedup_of_mean;
    /// null for the baseline).
    #[getter]
    fn table(&self) -> PyResult<Frame> {
        let all = self.0.speedups();
        let number = |of: fn(&SeedsSpeedup) -> f64| Values::Number(all.iter().map(of).collect());
        let end = |of: fn(covey_report::Interval) -> f64| {
            Values::Maybe(all.iter().map(|it| it.interval.map(of)).collect())
        };
        let labels = all.iter().map(|it| Some(it.label.as_str())).collect();
        Frame::of(vec![
            Column { name: "policy", values: Values::Text(labels) },
            Column { name: "mean_cct_s", values: number(|it| it.mean_cct_s) },
            Column { name: "speedup_of_mean", values: number(|it| it.mean_of_means) },
            Column { name: "speedup_median", values: number(|it| it.p50) },
            Column { name: "speedup_low", values: end(|interval| interval.low) },
            Column { name: "speedup_high", values: end(|interval| interval.high) },
        ])
    }

    /// A row for each policy and seed: policy, seed, speedup.
    ///
    /// The speed-up is that of the mean CCT over the baseline: above 1 is faster.
    #[getter]
    fn by_seed(&self) -> PyResult<Frame> {
        let labels: Vec<&str> = self.0.speedups().iter().map(|it| it.label.as_str()).collect();
        let places = 0..labels.len();
        let n = self.0.seeds().count();
        let policy = places.clone().flat_map(|place| vec![place as u32; n]);
        let seeds = places.clone().flat_map(|_| self.0.seeds().map(|seed| seed as f64));
        let speedups = places.flat_map(|place| self.0.by_seed(place));
        Frame::of(vec![
            Column { name: "policy", values: Values::Name(labels.clone(), policy.collect()) },
            Column { name: "seed", values: Values::Number(seeds.collect()) },
            Column { name: "speedup", values: Values::Number(speedups.collect()) },
        ])
    }

    /// Statistics, as of ``covey compare --seeds --json``.
    fn summary<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        as_python(py, &self.0)
    }

    /// `table` as a `pandas.DataFrame`. Needs pyarrow.
    fn to_pandas<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        Bound::new(py, self.table()?)?.call_method0("to_pandas")
    }

    /// `table` as a `polars.DataFrame`.
    fn to_polars<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        Bound::new(py, self.table()?)?.call_method0("to_polars")
    }

    /// The table of `covey compare --seeds`.
    fn __str__(&self) -> String {
        self.0.to_string()
    }

    fn _repr_html_(&self) -> String {
        html::over_seeds(&self.0)
    }

    fn __repr__(&self) -> String {
        format!("<covey.OverSeeds: {}>", self.ranking())
    }

    /// Write a page with table and plot that needs no other file.
    ///
    /// `command` is what the page says made it.
    #[pyo3(signature = (path, command="a Python program"))]
    fn report(&self, path: PathBuf, command: &str) -> PyResult<()> {
        let mut results = Results::of(command.to_owned(), None);
        results.add_over_seeds(self.0.clone());
        write_page(&path, &results_page(&results))
    }
}
