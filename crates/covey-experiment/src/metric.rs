//! Metrics in files, which `covey identify --train` writes.

use std::fs;
use std::path::Path;

use covey_identify::Metric;
use covey_trace::TraceError;

use crate::Error;

/// Reads a metric file.
///
/// # Errors
/// If the file cannot be read, or is no metric. The message names file, line and field.
pub fn read_metric(file: &Path) -> Result<Metric, Error> {
    let name = file.display().to_string();
    let text = fs::read_to_string(file).map_err(|error| TraceError::io(&name, error))?;
    Metric::from_text(&text).map_err(|error| Error::Metric { file: name, error })
}
