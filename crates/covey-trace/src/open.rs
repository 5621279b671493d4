//! Workloads by name.

use std::io;
use std::path::Path;

use crate::builtin::{self, builtin};
use crate::error::TraceError;
use crate::read::{read_noting, read_path_noting};
use crate::workload::Workload;

/// Opens the workload that `trace` names on a command line. `-` is a trace on standard input,
/// `builtin:NAME[:key=value,…]` a [`builtin`] one; any other text is the name of a file. `notes`
/// gets each line about what was guessed, merged or left out.
///
/// # Errors
/// Those of [`read_path_noting`] and [`builtin`].
pub fn open_noting(trace: &str, notes: &mut dyn FnMut(&str)) -> Result<Workload, TraceError> {
    match trace.strip_prefix("builtin:") {
        Some(spec) => builtin(spec),
        None if trace == "-" => read_noting(io::stdin().lock(), "standard input", notes),
        None => {
            let read = read_path_noting(Path::new(trace), notes);
            read.map_err(|error| match builtin::suggestion(trace) {
                Some(meant) => error.suggesting(&meant),
                None => error,
            })
        }
    }
}

/// [`open_noting`], without the notes.
///
/// # Errors
/// Those of [`open_noting`].
pub fn open(trace: &str) -> Result<Workload, TraceError> {
    open_noting(trace, &mut |_| ())
}
