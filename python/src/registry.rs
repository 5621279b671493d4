//! What there is to choose from.

use std::collections::HashMap;

use covey_experiment::Setup;
use covey_sched::Info;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};

use crate::errors::raised;

/// The list of `covey policies --json`.
#[pyfunction]
pub fn policies(py: Python<'_>) -> PyResult<Bound<'_, PyList>> {
    let each = covey_sched::policies().iter().map(|info| entry(py, info));
    PyList::new(py, each.collect::<PyResult<Vec<_>>>()?)
}

fn entry<'py>(py: Python<'py>, info: &Info) -> PyResult<Bound<'py, PyDict>> {
    let params = PyList::empty(py);
    for param in info.all_params() {
        let each = PyDict::new(py);
        each.set_item("name", param.name)?;
        each.set_item("default", param.default)?;
        each.set_item("help", param.help)?;
        params.append(each)?;
    }
    let entry = PyDict::new(py);
    entry.set_item("name", info.name)?;
    entry.set_item("knows", info.knows)?;
    entry.set_item("params", params)?;
    entry.set_item("source", info.source)?;
    entry.set_item("summary", info.summary)?;
    Ok(entry)
}

/// The unit of a number, by parameter, for those of a policy that are sizes or durations.
#[pyfunction]
pub fn units(name: &str) -> HashMap<&'static str, &'static str> {
    let params = covey_sched::find(name).into_iter().flat_map(Info::all_params);
    params.filter_map(|param| Some((param.name, param.unit()?))).collect()
}

/// Whether another seed may give another result of a policy, or of none, on the trace of this name.
#[pyfunction]
#[pyo3(signature = (trace, policy, seed, rung=None, sim="exact"))]
pub fn uses_seed(
    trace: &str,
    policy: Option<&str>,
    seed: Option<u64>,
    rung: Option<String>,
    sim: &str,
) -> PyResult<bool> {
    let setup = Setup { seed, rung, ..Setup::default() };
    let policy = policy.filter(|_| sim == "exact");
    let contender = policy.map(|policy| setup.contender(policy)).transpose().map_err(raised)?;
    Ok(setup.uses_seed(trace, contender.as_slice()))
}

/// The policies of a list as it is written on the command line. Spaces beside the commas do not
/// matter.
#[pyfunction]
pub fn split_list(list: &str) -> Vec<String> {
    let items: Vec<&str> = list.split(',').map(str::trim).collect();
    covey_sched::split_list(&items.join(","))
}
