//! Reads a trace file in any of the formats.

mod bare;
mod benchmark;
mod compressed;
mod connections;
mod counted;
mod draft;
mod fields;
mod foreign;
mod format;
mod hpcc;
mod line_formats;
mod lines;
mod shuffle;
mod sincronia;
mod sunflow;

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;

pub use compressed::decompressed;
pub(crate) use draft::{Draft, check_name};
pub(crate) use fields::{check_total, number};
pub(crate) use format::{First, Format, Notes, Rest};
pub use lines::Lines;

use crate::error::{Location, TraceError, quote};
use crate::json_lines;
use crate::records::{Options, Reader, coflows_of};
use crate::workload::Workload;

/// All formats. The first one that accepts the first line of a trace reads the trace.
static FORMATS: &[Format] = &[
    json_lines::FORMAT,
    hpcc::FORMAT,
    connections::FORMAT,
    sunflow::FORMAT,
    bare::FORMAT,
    counted::FORMAT,
];

/// Reads a trace in any format that Covey knows; its content decides which. Messages call it
/// `name`. `notes` gets each line about what was guessed, merged or left out.
///
/// - *coflow-benchmark* text: `PORTS COFLOWS`, then a line `ID ARRIVAL_MS M mapper… R reducer:MB…`
///   for each coflow. The mappers share a reducer's MB (of 1,048,576 bytes) equally. Flows are
///   ordered mapper by mapper, as in the line. The first line may be missing; a weight may stand
///   behind the id, as in the traces of IAOA and Yosemite.
/// - *Covey JSON lines*, see [`write`](crate::write()).
/// - *Sincronia* text: `PORTS COFLOWS`, then `ID ARRIVAL_MS FLOWS SOURCES DESTINATIONS (src dst
///   MB)…` for each coflow.
/// - *Sunflow* text: `ID ARRIVAL_MS MAPPERS REDUCERS mapper,…#reducer:MB,…` for each coflow.
/// - *htsim* connection matrices, and *HPCC* flows: each flow is a coflow.
///
/// A trace in any of these formats may be compressed by gzip or zstd.
///
/// Coflows keep the order of the file, even if they arrive in another. Blank lines are skipped,
/// lines may end in CR LF, and the last line needs no end.
///
/// Flow records are read, too, as [`Source::open`](crate::Source::open) does.
///
/// # Errors
/// [`TraceError::Bad`] names the line and field that are invalid, or exceed the limits in
/// [`limits`](mod@crate::limits), or what the file seems to be that is no trace;
/// [`TraceError::Io`] is a failure to read.
pub fn read_noting(
    source: impl BufRead,
    name: &str,
    notes: &mut dyn FnMut(&str),
) -> Result<Workload, TraceError> {
    let mut records = Reader::new(Options::default());
    match read_either(source, name, &mut records, notes)? {
        Some(workload) => Ok(workload),
        None => coflows_of(records, name, notes),
    }
}

/// Reads a trace, or else flow records, which `records` takes.
pub(crate) fn read_either(
    mut source: impl BufRead,
    name: &str,
    records: &mut Reader,
    notes: &mut dyn FnMut(&str),
) -> Result<Option<Workload>, TraceError> {
    let io = |e| TraceError::io(name, e);
    refuse_binary(&mut source, name)?;
    let mut source = decompressed(source).map_err(io)?;
    // What was compressed may be binary as well.
    refuse_binary(&mut source, name)?;
    let mut lines: Rest<'_> = Lines::new(&mut source, name);
    let Some((location, header)) = lines.next()? else {
        let expected = "PORTS COFLOWS, or a JSON header";
        return Err(lines.location().bad("header", expected, "an empty file"));
    };
    let header = header.to_owned();
    if records.is_told() {
        return records.read_lines((location, &header), lines).map(|()| None);
    }
    let document = foreign::document(&header);
    let is_json = header.trim_start().starts_with('{');
    let is_trace = !is_json || header.contains("\"covey_trace\"");
    let trace = FORMATS.iter().find(|format| document.is_none() && (format.accepts)(&header));
    match trace {
        Some(format) if is_trace => (format.read)((location, &header), lines, notes).map(Some),
        // An array that begins with its own line is one of nfdump.
        _ if records.accepts(&header) && (document.is_none() || header.trim() == "[") => {
            records.read_lines((location, &header), lines).map(|()| None)
        }
        Some(format) => (format.read)((location, &header), lines, notes).map(Some),
        None => {
            let found = document.or_else(|| foreign::table(&header));
            let found = found.map_or_else(|| quote(&header), str::to_owned);
            Err(location.bad("file", "a trace (docs/traces.md)", found))
        }
    }
}

fn refuse_binary(source: &mut impl BufRead, name: &str) -> Result<(), TraceError> {
    let first = compressed::first_bytes(source).map_err(|e| TraceError::io(name, e))?;
    match foreign::binary(first) {
        None => Ok(()),
        Some(found) => Err(Location { name, line: 1 }.bad("file", "a trace, which is text", found)),
    }
}

/// [`read_noting`], without the notes.
///
/// # Errors
/// Those of [`read_noting`].
pub fn read(source: impl BufRead, name: &str) -> Result<Workload, TraceError> {
    read_noting(source, name, &mut |_| ())
}

/// Reads the trace in the file `path`, as [`read_noting`] does.
///
/// # Errors
/// Those of [`read_noting`]; [`TraceError::Io`] also if the file cannot be opened.
pub fn read_path_noting(path: &Path, notes: &mut dyn FnMut(&str)) -> Result<Workload, TraceError> {
    let name = path.display().to_string();
    let file = File::open(path).map_err(|e| TraceError::io(&name, e))?;
    read_noting(BufReader::with_capacity(1 << 16, file), &name, notes)
}

/// [`read_path_noting`], without the notes.
///
/// # Errors
/// Those of [`read_path_noting`].
pub fn read_path(path: &Path) -> Result<Workload, TraceError> {
    read_path_noting(path, &mut |_| ())
}
