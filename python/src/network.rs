//! Networks, and workloads on them.

use std::ffi::CString;
use std::sync::Arc;

use covey_experiment::Setup;
use covey_topology::Network;
use covey_trace::Workload;
use pyo3::exceptions::PyUserWarning;
use pyo3::prelude::*;

use crate::errors::{InputError, raised};

/// The network, and the workload with the network's hosts as its ports. Warns in Python if several
/// ports share a host. The warning names the code that is `stack_level` calls of Python functions
/// away; 1 is the nearest.
pub fn placed(
    py: Python<'_>,
    workload: &Arc<Workload>,
    setup: &Setup,
    stack_level: i32,
) -> PyResult<(Network, Arc<Workload>)> {
    let network = setup.network(workload.ports).map_err(raised)?;
    if !network.has_inner_links() {
        return Ok((network, Arc::clone(workload)));
    }
    let (workload, folded) = network.place(Workload::clone(workload));
    warn(py, folded, stack_level)?;
    Ok((network, Arc::new(workload)))
}

/// Warns in Python, with a warning for each line. `stack_level` is as in [`placed`].
pub fn warn(
    py: Python<'_>,
    lines: impl IntoIterator<Item = String>,
    stack_level: i32,
) -> PyResult<()> {
    let warning = py.get_type::<PyUserWarning>();
    for line in lines {
        let line = CString::new(line).map_err(|error| InputError::new_err(error.to_string()))?;
        PyErr::warn(py, &warning, &line, stack_level)?;
    }
    Ok(())
}
