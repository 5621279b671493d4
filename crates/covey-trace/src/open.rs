//! Workloads by name.

use std::io;
use std::path::Path;

use crate::builtin::{self, builtin};
use crate::error::TraceError;
use crate::read::{read, read_path};
use crate::workload::Workload;

/// Opens the workload that `trace` names on a command line. `-` is a trace on standard input,
/// `builtin:NAME[:key=value,…]` a [`builtin`] one; any other text is the name of a file.
///
/// # Errors
/// Those of [`read_path`] and [`builtin`].
pub fn open(trace: &str) -> Result<Workload, TraceError> {
    match trace.strip_prefix("builtin:") {
        Some(spec) => builtin(spec),
        None if trace == "-" => read(io::stdin().lock(), "standard input"),
        None => read_path(Path::new(trace)).map_err(|error| match builtin::suggestion(trace) {
            Some(meant) => error.suggesting(&meant),
            None => error,
        }),
    }
}
