//! Reading a trace file: which format it is, and the checks every format shares.

mod benchmark;
mod draft;
mod fields;
mod gzip;
mod lines;
mod sincronia;

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;

pub(crate) use draft::{Draft, check_name};
use fields::Fields;
pub(crate) use fields::number;
pub(crate) use lines::Lines;

use crate::error::{TraceError, quote};
use crate::json_lines;
use crate::limits::{MAX_FLOWS, MAX_PORTS};
use crate::workload::Workload;

/// What begins a trace.
const FORMATS: &str = "PORTS COFLOWS (coflow-benchmark or Sincronia text), or the JSON header of \
    Covey JSON lines";

/// Reads a trace in any of the formats Covey knows, told apart by content; `name` is what
/// messages call it.
///
/// - *coflow-benchmark* text: `PORTS COFLOWS`, then a line `ID ARRIVAL_MS M mapper… R
///   reducer:MB…` for each coflow. A reducer's MB (of 1,048,576 bytes) are shared equally by the
///   mappers; flows come mapper by mapper in the order of the line.
/// - *Covey JSON lines*, see [`write`](crate::write()).
/// - *Sincronia* text: `PORTS COFLOWS`, then `ID ARRIVAL_MS FLOWS SOURCES DESTINATIONS (src dst
///   MB)…` for each coflow.
///
/// Any of them may be compressed by gzip.
///
/// Coflows keep the order of the file, whether or not it is that of their arrivals. Blank lines
/// are skipped, lines may end in CR LF, and the last needs no end.
///
/// # Errors
/// [`TraceError::Bad`] names the line and field that make no workload, or exceed the limits in
/// [`limits`](mod@crate::limits); [`TraceError::Io`] is a failure to read.
pub fn read(mut source: impl BufRead, name: &str) -> Result<Workload, TraceError> {
    if gzip::is_gzip(&mut source).map_err(|e| TraceError::io(name, e))? {
        return read_text(gzip::decompressed(source), name);
    }
    read_text(source, name)
}

/// Reads a trace that is not compressed.
fn read_text(source: impl BufRead, name: &str) -> Result<Workload, TraceError> {
    let mut lines = Lines::new(source, name);
    let Some((place, header)) = lines.next()? else {
        let expected = "PORTS COFLOWS, or a JSON header";
        return Err(lines.place().bad("header", expected, "an empty file"));
    };
    if header.trim_start().starts_with('{') {
        let header = json_lines::header(place, header)?;
        return json_lines::coflows(header, lines, name);
    }

    if header.contains(',') {
        let found = "values separated by commas (a CSV file?)";
        return Err(place.bad("header", FORMATS, found));
    }

    let mut fields = Fields::new(place, header);
    let ports = fields.integer("number of ports", "an integer", 1..=MAX_PORTS)?;
    let coflows = fields.integer("number of coflows", "an integer", 0..=MAX_FLOWS)?;
    fields.end("PORTS COFLOWS")?;

    let mut draft = Draft::new(ports);
    // Only coflow-benchmark text has a colon in every line.
    let mut parse = None;
    while let Some((place, line)) = lines.next()? {
        if draft.len() == coflows as usize {
            let expected = format_args!("{coflows}, as the first line says");
            let found = format_args!("one more: {}", quote(line));
            return Err(place.bad("coflows", expected, found));
        }
        let parse = parse.get_or_insert(if line.contains(':') {
            benchmark::coflow
        } else {
            sincronia::coflow
        });
        parse(Fields::new(place, line), &mut draft)?;
    }
    if draft.len() < coflows as usize {
        let expected = format_args!("{coflows}, as the first line says");
        let found = format_args!("{} at the end of the file", draft.len());
        return Err(lines.place().bad("coflows", expected, found));
    }
    draft.finish(name)
}

/// Reads the trace in the file `path`, as [`read`] does.
///
/// # Errors
/// Those of [`read`]; [`TraceError::Io`] also where the file cannot be opened.
pub fn read_path(path: &Path) -> Result<Workload, TraceError> {
    let name = path.display().to_string();
    let file = File::open(path).map_err(|e| TraceError::io(&name, e))?;
    read(BufReader::with_capacity(1 << 16, file), &name)
}
