//! The command line, as the command `covey` of the package runs it.

use std::ffi::OsString;
use std::path::PathBuf;

use pyo3::prelude::*;

/// Runs a command line in this process, which does nothing else; returns the exit status. The first of the
/// arguments is the name of the program; `program` is the file that starts the command once more.
#[pyfunction]
pub fn run_command(py: Python<'_>, arguments: Vec<OsString>, program: PathBuf) -> u8 {
    py.detach(|| covey::main(arguments, program))
}
