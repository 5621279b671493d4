//! Flow records: what a host or a collector wrote down about each flow, with or without the true coflow.
//!
//! ```text
//!   file ── Format ──▶ Draft ── finish ──▶ Records ── identify ──▶ groups ── Grouped ──▶ coflows, a Workload
//! ```
//!
//! A [`Format`] is a file of this folder; its content tells which one a file has. All formats fill the same
//! draft, which repairs what it can and counts the [`Repairs`].

mod clock;
mod connection;
mod csv;
mod draft;
mod fields;
mod format;
mod grouped;
mod json;
mod nfdump;
mod record;
mod ss;
mod table;
mod write;
mod zeek;

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;

use covey_core::suggest::{did_you_mean, nearest};

use crate::error::{Location, TraceError, quote};
use crate::read::Lines;
use draft::Draft;

pub use format::Format;
pub use grouped::{Group, Grouped, Left};
pub use record::{Hidden, Records, Repairs};
pub use write::{RecordWriter, write_records, write_with_groups};

/// All formats. The first one that accepts the first line of a file reads the file.
pub static FORMATS: &[Format] =
    &[csv::FORMAT, zeek::FORMAT, json::FORMAT, nfdump::FORMAT, ss::FORMAT];

/// Maximum of bytes of a line.
const MAX_LINE_BYTES: usize = 1 << 20;

/// The format of this name.
///
/// # Errors
/// [`TraceError::Argument`] if there is none.
pub fn format(name: &str) -> Result<&'static Format, TraceError> {
    FORMATS.iter().find(|format| format.name.eq_ignore_ascii_case(name)).ok_or_else(|| {
        let names = || FORMATS.iter().map(|format| format.name);
        TraceError::Argument {
            argument: "--from".to_owned(),
            expected: format!("one of {}", names().collect::<Vec<_>>().join(", ")),
            found: format!("{}{}", quote(name), did_you_mean(nearest(name, names()))),
        }
    })
}

/// Reads flow records in `format`, or in the one that the content has. Messages call the source `name`. It may
/// be compressed by gzip or zstd. Memory grows with the number of flows and hosts, not with the length of lines.
///
/// # Errors
/// [`TraceError::Bad`] names the line and field that are invalid; [`TraceError::Io`] is a failure to read.
pub fn read(
    source: impl BufRead,
    name: &str,
    format: Option<&Format>,
) -> Result<Records, TraceError> {
    let mut source = crate::read::text(source).map_err(|e| TraceError::io(name, e))?;
    let source: &mut dyn BufRead = &mut source;
    let mut lines = Lines::with_limit(source, name, MAX_LINE_BYTES);
    let Some((location, first)) = lines.next()? else {
        return Err(lines.location().bad("header", "flow records", "an empty file"));
    };
    let first = first.to_owned();
    let format = match format.or_else(|| FORMATS.iter().find(|it| (it.accepts)(&first))) {
        Some(format) => format,
        None => return Err(unknown(location, &first)),
    };
    let mut draft = Draft::new();
    (format.read)((location, &first), lines, &mut draft)?;
    Ok(draft.finish())
}

/// The error for a first line that no format accepts.
fn unknown(location: Location<'_>, line: &str) -> TraceError {
    let names: Vec<String> =
        FORMATS.iter().map(|format| format!("{} ({})", format.name, format.what)).collect();
    let expected = format!("flow records as {}", names.join(", "));
    let counts = line.split_ascii_whitespace().map(str::parse::<u32>);
    let is_trace = line.contains("covey_trace") || counts.map(|it| it.is_ok()).eq([true; 2]);
    let found = match is_trace {
        true => {
            "a trace, whose coflows are known (covey trace records makes flow records of it)".into()
        }
        false => format!("{}; --from says which one it is", quote(line)),
    };
    location.bad("header", expected, found)
}

/// Opens flow records as the command line names them: `-` is standard input, any other text a file. Calls
/// `progress` with the number of bytes of each piece that was read of it.
///
/// # Errors
/// Those of [`read`]; [`TraceError::Io`] also if the file cannot be opened.
pub fn open(
    file: &str,
    format: Option<&Format>,
    progress: impl Fn(usize),
) -> Result<Records, TraceError> {
    let buffered = |source: Box<dyn Read>| {
        BufReader::with_capacity(1 << 16, Counted { source, progress: &progress })
    };
    if file == "-" {
        return read(buffered(Box::new(io::stdin().lock())), "standard input", format);
    }
    let source = File::open(Path::new(file)).map_err(|e| TraceError::io(file, e))?;
    read(buffered(Box::new(source)), file, format)
}

/// A source that says how much of it was read.
struct Counted<'a, P> {
    source: Box<dyn Read>,
    progress: &'a P,
}

impl<P: Fn(usize)> Read for Counted<'_, P> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let bytes = self.source.read(buffer)?;
        (self.progress)(bytes);
        Ok(bytes)
    }
}
