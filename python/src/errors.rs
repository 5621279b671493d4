//! Exceptions, with the words of the command line.

use std::io;

use covey_client::RestError;
use pyo3::create_exception;
use pyo3::exceptions::{PyAttributeError, PyConnectionError, PyRuntimeError, PyValueError};
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
    CoordinatorError,
    PyRuntimeError,
    "A coordinator refuses what it was asked; `status` is that of HTTP."
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

/// What can go wrong in the client's threads, which do not have Python.
pub enum LiveError {
    Io(io::Error),
    Rest(RestError),
    Raised(PyErr),
}

impl From<io::Error> for LiveError {
    fn from(error: io::Error) -> LiveError {
        LiveError::Io(error)
    }
}

impl From<RestError> for LiveError {
    fn from(error: RestError) -> LiveError {
        LiveError::Rest(error)
    }
}

impl From<PyErr> for LiveError {
    fn from(error: PyErr) -> LiveError {
        LiveError::Raised(error)
    }
}

impl LiveError {
    /// The exception for it.
    pub fn raised(self, py: Python<'_>) -> PyErr {
        match self {
            LiveError::Raised(error) => error,
            LiveError::Io(error) => match error.kind() {
                io::ErrorKind::UnexpectedEof => {
                    PyConnectionError::new_err("the other side has gone before the flow's end")
                }
                io::ErrorKind::InvalidInput => PyValueError::new_err(error.to_string()),
                _ => error.into(),
            },
            LiveError::Rest(error) => match error {
                RestError::Away(_) | RestError::Late(..) => {
                    PyConnectionError::new_err(error.to_string())
                }
                RestError::Credentials { .. } | RestError::Tls(_) => {
                    InputError::new_err(error.to_string())
                }
                RestError::Answer(_) => CoordinatorError::new_err(error.to_string()),
                RestError::Refused { status, .. } => {
                    let raised = CoordinatorError::new_err(error.to_string());
                    match raised.value(py).setattr("status", status) {
                        Ok(()) => raised,
                        Err(other) => other,
                    }
                }
            },
        }
    }
}
