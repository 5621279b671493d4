//! Lower bounds.

use covey_experiment::{NO_BOUND, Setup, landmarks};
use pyo3::prelude::*;

use crate::errors::{InputError, raised};
use crate::json::as_python;
use crate::network::placed;
use crate::trace::Trace;

/// The bounds of a trace, as of ``covey bound --json``.
#[pyfunction]
#[pyo3(signature = (trace, *, fabric, port_rate))]
pub fn bound<'py>(
    py: Python<'py>,
    trace: &Bound<'py, Trace>,
    fabric: String,
    port_rate: Option<String>,
) -> PyResult<Bound<'py, PyAny>> {
    let setup = Setup { fabric, port_rate, ..Setup::default() };
    let rate = setup.port_rate().map_err(raised)?;
    let trace = trace.get();
    let (network, workload) = placed(py, &trace.workload, &setup, 2)?;
    if !workload.is_static() {
        let [expected, found] = NO_BOUND;
        return Err(InputError::new_err(format!("trace: expected {expected}, found {found}")));
    }
    let found = py.detach(|| landmarks(&workload, &network, rate, &trace.name));
    as_python(py, &found)
}
