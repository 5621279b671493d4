//! Flow records: what a host or a collector wrote down about each flow, with or without the true coflow.
//!
//! ```text
//!   file ── Format ──▶ Draft ── finish ──▶ Records ── identify ──▶ groups ── Grouped ──▶ coflows, a Workload
//! ```
//!
//! A [`Format`] is a file of this folder; its content tells which one a file has. All formats fill the same
//! draft, which repairs what it can and counts the [`Repairs`].

mod clock;
mod csv;
mod draft;
mod fields;
mod format;
mod grouped;
mod json;
mod nfdump;
mod ss;
mod table;
mod write;
mod zeek;

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;

use covey_core::suggest::{did_you_mean, nearest};
use covey_identify::{Address, Observed};

use crate::error::{TraceError, quote};
use crate::read::{Lines, is_gzip};
use draft::Draft;

pub use draft::Repairs;
pub use format::Format;
pub use grouped::{Grouped, Left};
pub use write::{write_records, write_with_groups};

/// All formats. The first one that accepts the first line of a file reads the file.
pub static FORMATS: &[Format] =
    &[csv::FORMAT, zeek::FORMAT, json::FORMAT, nfdump::FORMAT, ss::FORMAT];

/// Maximum of bytes of a line.
const MAX_LINE_BYTES: usize = 1 << 20;

/// Flow records in order of their starts.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Records {
    /// What identification may see of each flow.
    pub flows: Vec<Observed>,
    /// What it may not see, in the same order.
    pub hidden: Vec<Hidden>,
    /// The labels, in order of their first records; [`Hidden::label`] is a place in this list.
    pub labels: Vec<String>,
    /// Names of hosts; [`Address::name_number`] is a place in this list.
    pub names: Vec<String>,
    /// What was repaired.
    pub repairs: Repairs,
}

/// What is known of a recorded flow only afterwards.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Hidden {
    /// Bytes sent, where known.
    pub bytes: Option<f64>,
    /// End in seconds, on the clock of the starts, where known.
    pub end_s: Option<f64>,
    /// The true coflow, where given: a place in [`Records::labels`].
    pub label: Option<u32>,
}

impl Records {
    /// A host as a person would write it.
    pub fn host(&self, address: Address) -> String {
        match address.name_number().and_then(|number| self.names.get(number as usize)) {
            Some(name) => name.clone(),
            None => address.to_string(),
        }
    }

    /// The number of flows that have a label.
    pub fn labelled(&self) -> usize {
        self.hidden.iter().filter(|hidden| hidden.label.is_some()).count()
    }
}

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
/// be compressed by gzip. Memory grows with the number of flows and hosts, not with the length of lines.
///
/// # Errors
/// [`TraceError::Bad`] names the line and field that are invalid; [`TraceError::Io`] is a failure to read.
pub fn read(
    mut source: impl BufRead,
    name: &str,
    format: Option<&Format>,
) -> Result<Records, TraceError> {
    let is_gzip = is_gzip(&mut source).map_err(|e| TraceError::io(name, e))?;
    if is_gzip {
        return read_text(crate::read::decompressed(source), name, format);
    }
    read_text(source, name, format)
}

fn read_text(
    mut source: impl BufRead,
    name: &str,
    format: Option<&Format>,
) -> Result<Records, TraceError> {
    let source: &mut dyn BufRead = &mut source;
    let mut lines = Lines::with_limit(source, name, MAX_LINE_BYTES);
    let Some((location, first)) = lines.next()? else {
        return Err(lines.location().bad("header", "flow records", "an empty file"));
    };
    let first = first.trim_start_matches('\u{feff}').to_owned();
    let format = match format.or_else(|| FORMATS.iter().find(|it| (it.accepts)(&first))) {
        Some(format) => format,
        None => return Err(format::unknown(location, &first)),
    };
    let mut draft = Draft::new();
    (format.read)((location, &first), lines, &mut draft)?;
    Ok(draft.finish())
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
