//! The command line, as the command `covey` of the package runs it.

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

use covey_experiment::outside::{self, Outside};
use covey_experiment::{Contender, Error};
use pyo3::prelude::*;

use crate::halt::Halt;
use crate::policy::policy;

/// Where the policies of the command line note what they raise.
static HALT: OnceLock<Arc<Halt>> = OnceLock::new();

/// Runs a command line in this process, which does nothing else; returns the exit status. The first
/// of the arguments is the name of the program; `program` is the file that starts the command once
/// more.
#[pyfunction]
pub fn run_command(py: Python<'_>, arguments: Vec<OsString>, program: PathBuf) -> u8 {
    outside::offer(Outside { make, fault });
    py.detach(|| covey::main(arguments, program))
}

/// The contender of a class in a file, or of one that an installed package offers.
fn make(spec: &str) -> Result<Option<Contender>, Error> {
    Python::attach(|py| {
        let made = py.import("covey._outside")?.call_method1("make", (spec,))?;
        if made.is_none() {
            return Ok(None);
        }
        let (label, params, object): (String, Vec<(String, String)>, Bound<'_, PyAny>) =
            made.extract()?;
        let halt = Arc::clone(HALT.get_or_init(Arc::default));
        Ok(Some(Contender::new(&label, params, policy(&object, halt)?)))
    })
    .map_err(|error: PyErr| Error::Outside(said(&error)))
}

/// What a policy has raised.
fn fault() -> Option<String> {
    let raised = HALT.get()?.take()?;
    Some(Python::attach(|py| {
        let place = || -> PyResult<String> {
            let exception = raised.value(py);
            exception.setattr("__traceback__", raised.traceback(py))?;
            let text = py.import("covey._outside")?.call_method1("where", (exception,))?;
            text.extract()
        };
        place().unwrap_or_else(|_| said(&raised))
    }))
}

/// The message of an exception, in a line.
fn said(error: &PyErr) -> String {
    let text = Python::attach(|py| error.value(py).to_string());
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
