//! Reads a trace file in any of the formats.

mod benchmark;
mod counted;
mod draft;
mod fields;
mod format;
mod gzip;
mod lines;
mod sincronia;

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;

pub(crate) use draft::{Draft, check_name};
pub(crate) use fields::number;
pub(crate) use format::{Format, Rest};
pub(crate) use gzip::{decompressed, is_gzip};
pub use lines::Lines;

use crate::error::TraceError;
use crate::json_lines;
use crate::workload::Workload;

/// All formats. The first one that accepts the first line of a trace reads the trace.
static FORMATS: &[Format] = &[counted::FORMAT, json_lines::FORMAT];

/// Reads a trace in any format that Covey knows; its content decides which. Messages call it
/// `name`.
///
/// - *coflow-benchmark* text: `PORTS COFLOWS`, then a line `ID ARRIVAL_MS M mapper… R reducer:MB…`
///   for each coflow. The mappers share a reducer's MB (of 1,048,576 bytes) equally. Flows are
///   ordered mapper by mapper, as in the line.
/// - *Covey JSON lines*, see [`write`](crate::write()).
/// - *Sincronia* text: `PORTS COFLOWS`, then `ID ARRIVAL_MS FLOWS SOURCES DESTINATIONS (src dst
///   MB)…` for each coflow.
///
/// A trace in any of these formats may be compressed by gzip.
///
/// Coflows keep the order of the file, even if they arrive in another. Blank lines are skipped,
/// lines may end in CR LF, and the last line needs no end.
///
/// # Errors
/// [`TraceError::Bad`] names the line and field that are invalid, or exceed the limits in
/// [`limits`](mod@crate::limits); [`TraceError::Io`] is a failure to read.
pub fn read(mut source: impl BufRead, name: &str) -> Result<Workload, TraceError> {
    if is_gzip(&mut source).map_err(|e| TraceError::io(name, e))? {
        return read_text(decompressed(source), name);
    }
    read_text(source, name)
}

/// Reads a trace that is not compressed.
fn read_text(mut source: impl BufRead, name: &str) -> Result<Workload, TraceError> {
    let mut lines: Rest<'_> = Lines::new(&mut source, name);
    let Some((location, header)) = lines.next()? else {
        let expected = "PORTS COFLOWS, or a JSON header";
        return Err(lines.location().bad("header", expected, "an empty file"));
    };
    let header = header.to_owned();
    let format = FORMATS.iter().find(|format| (format.accepts)(&header));
    match format {
        Some(format) => (format.read)(location, &header, lines, name),
        None => {
            let headers: Vec<_> = FORMATS.iter().map(|format| format.header).collect();
            let found = "values separated by commas (a CSV file?)";
            Err(location.bad("header", headers.join(", or "), found))
        }
    }
}

/// Reads the trace in the file `path`, as [`read`] does.
///
/// # Errors
/// Those of [`read`]; [`TraceError::Io`] also if the file cannot be opened.
pub fn read_path(path: &Path) -> Result<Workload, TraceError> {
    let name = path.display().to_string();
    let file = File::open(path).map_err(|e| TraceError::io(&name, e))?;
    read(BufReader::with_capacity(1 << 16, file), &name)
}
