//! Exceptions, with the words of the command line.

use pyo3::create_exception;
use pyo3::exceptions::{PyAttributeError, PyRuntimeError, PyValueError};
use pyo3::prelude::*;

create_exception!(
    covey,
    InputError,
    PyValueError,
    "A trace, a policy or an argument is wrong; the message says where, and what was expected."
);
create_exception!(
    covey,
    SimulationError,
    PyRuntimeError,
    "A simulation could not go on, most often because of what a policy planned."
);
create_exception!(
    covey,
    KnowledgeError,
    PyAttributeError,
    "A policy asked for what its level of knowledge does not grant."
);
create_exception!(
    covey,
    ConformanceError,
    PyRuntimeError,
    "A policy does not keep to what every policy must; the message has a workload that shows it."
);

/// The exception for an error of the crates.
pub fn raised(error: impl Into<covey_experiment::Error>) -> PyErr {
    let error = error.into();
    match &error {
        // An argument is a keyword here: `port_rate` and not `--port-rate`.
        covey_experiment::Error::Argument { argument, problem } => {
            InputError::new_err(format!("{}: {problem}", argument.replace('-', "_")))
        }
        error if error.is_input() => InputError::new_err(error.to_string()),
        error => SimulationError::new_err(error.to_string()),
    }
}

/// An argument that means nothing.
pub fn bad(argument: &str, expected: &str, found: &str) -> PyErr {
    InputError::new_err(format!("{argument}: expected {expected}, found '{found}'"))
}
