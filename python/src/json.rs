//! From what the crates write as JSON to Python's dicts.

use covey_report::write_json;
use pyo3::intern;
use pyo3::prelude::*;
use serde::Serialize;

/// The dicts, lists and numbers that a value is as JSON.
pub fn as_python<'py>(py: Python<'py>, value: &impl Serialize) -> PyResult<Bound<'py, PyAny>> {
    let mut text = Vec::new();
    write_json(value, &mut text)?;
    py.import(intern!(py, "json"))?.call_method1(intern!(py, "loads"), (text,))
}
