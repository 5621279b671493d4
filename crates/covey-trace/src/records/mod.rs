//! Flow records: what a host or a collector wrote down about each flow, with or without the true
//! coflow.
//!
//! ```text
//!   files ── Format ──▶ Draft ── stitch ──▶ Records ── identify ──▶ groups ── Grouped ──▶ coflows, a Workload
//! ```
//!
//! A [`Format`] is a file of this folder; its content tells which one a file has. All formats fill
//! the same draft, which repairs what it can and counts the [`Repairs`].

mod any_table;
mod aws;
mod azure;
mod clock;
mod coflows;
mod columns;
mod common_names;
mod connection;
mod csv;
mod draft;
mod fields;
mod format;
mod gcp;
mod grouped;
mod json;
mod json_document;
mod layout;
mod nfdump;
mod nfdump_json;
mod nfdump_lines;
mod options;
mod parquet;
mod protocols;
mod record;
mod scalar;
mod socket;
mod ss;
mod states;
mod stitch;
mod table;
mod write;
mod zeek;
mod zeek_counted;
mod zeek_json;

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;

use covey_core::suggest::{did_you_mean, nearest};

use crate::error::{Location, TraceError, quote};
use crate::read::{First, Lines, Rest};
use draft::Draft;
use format::Reading;

pub(crate) use coflows::coflows_of;
pub use columns::Columns;
pub use format::Format;
pub use grouped::{Group, Grouped, Left};
pub use options::Options;
pub use record::{Hidden, Put, Records, Repairs, Together};
pub use stitch::Stitch;
pub use write::{RecordWriter, write_records, write_with_groups};

/// All formats. The first one that accepts the first line of a file reads the file.
pub static FORMATS: &[Format] = &[
    gcp::FORMAT,
    azure::FORMAT,
    csv::FORMAT,
    zeek::FORMAT,
    json::FORMAT,
    nfdump::FORMAT,
    aws::FORMAT,
    ss::FORMAT,
    any_table::FORMAT,
];

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

/// Reads flow records in `format`, or in the one that the content has, as a [`Reader`] reads one
/// source.
///
/// # Errors
/// Those of [`Reader::read`] and [`Reader::finish`].
pub fn read(
    source: impl BufRead,
    name: &str,
    format: Option<&'static Format>,
) -> Result<Records, TraceError> {
    let mut reader = Reader::new(Options { format, ..Options::default() });
    reader.read(source, name)?;
    reader.finish()
}

/// Reads flow records from one source or several, each in its own format. A flow that is in several
/// of them is one flow. Memory grows with the number of flows and hosts, not with the length of
/// lines.
pub struct Reader {
    format: Option<&'static Format>,
    columns: Option<Columns>,
    draft: Draft,
}

impl Reader {
    /// A reader that has read nothing.
    pub fn new(options: Options) -> Reader {
        let Options { format, columns, stitch, skip_bad, strict } = options;
        Reader { format, columns, draft: Draft::new(stitch, skip_bad, strict) }
    }

    /// Reads a source, which may be compressed by gzip or zstd. Messages call it `name`.
    ///
    /// # Errors
    /// [`TraceError::Bad`] names the line and field that are invalid; [`TraceError::Io`] is a
    /// failure to read.
    pub fn read(&mut self, source: impl BufRead, name: &str) -> Result<(), TraceError> {
        let io = |e| TraceError::io(name, e);
        let source = crate::read::decompressed(source).map_err(io)?;
        let (head, mut source) = crate::read::with_head(source).map_err(io)?;
        let source: &mut dyn BufRead = &mut source;
        if self.is_document(&head) {
            return self.read_document(source, name, &head);
        }
        let mut lines = Lines::with_limit(source, name, MAX_LINE_BYTES);
        if !lines.advance()? {
            return Err(lines.location().bad("header", "flow records", "an empty file"));
        }
        let (location, first) = lines.current();
        let first = first.trim_start_matches('\u{feff}').to_owned();
        match self.accepts(&first) {
            true => self.read_lines((location, &first), lines),
            false => Err(unknown(location, &first)),
        }
    }

    /// Whether a file that begins with `head` is a document of JSON, which has no lines.
    pub(crate) fn is_document(&self, head: &str) -> bool {
        let is_document = |it: &&Format| matches!(it.read, Reading::Document(_));
        match self.format {
            Some(format) => is_document(&format),
            None if self.columns.is_some() => false,
            None => FORMATS.iter().filter(is_document).any(|it| (it.accepts)(head)),
        }
    }

    /// Reads a [document](Reader::is_document).
    pub(crate) fn read_document(
        &mut self,
        source: &mut dyn BufRead,
        name: &str,
        head: &str,
    ) -> Result<(), TraceError> {
        self.draft.begin_file();
        match self.format_of(head).map(|format| &format.read) {
            Some(Reading::Document(read)) => read(source, name, &mut self.draft),
            _ => Err(unknown(Location { name, line: 1 }, head)),
        }
    }

    /// Whether it reads a file with this first line.
    pub(crate) fn accepts(&self, first: &str) -> bool {
        self.columns.is_some() || self.format_of(first).is_some()
    }

    fn format_of(&self, first: &str) -> Option<&'static Format> {
        self.format.or_else(|| FORMATS.iter().find(|it| (it.accepts)(first)))
    }

    /// Whether the format was said, and is not to be recognised.
    pub(crate) fn is_told(&self) -> bool {
        self.columns.is_some() || self.format.is_some()
    }

    /// Reads a file that it [accepts](Reader::accepts), from its first line and the lines after it.
    pub(crate) fn read_lines<'a>(
        &mut self,
        first: First<'a>,
        lines: Rest<'a>,
    ) -> Result<(), TraceError> {
        self.draft.begin_file();
        match (&self.columns, self.format_of(first.1)) {
            (Some(columns), _) => columns.read(first, lines, &mut self.draft),
            (None, Some(Format { read: Reading::Lines(read), .. })) => {
                read(first, lines, &mut self.draft)
            }
            (None, _) => Err(unknown(first.0, first.1)),
        }
    }

    /// Reads a source as the command line names it: `-` is standard input, any other text a file.
    /// Calls `progress` with the number of bytes of each piece that was read of it.
    ///
    /// # Errors
    /// Those of [`Reader::read`]; [`TraceError::Io`] also if the file cannot be opened.
    pub fn open(&mut self, file: &str, progress: impl Fn(usize)) -> Result<(), TraceError> {
        let buffered = |source: Box<dyn Read>| {
            BufReader::with_capacity(1 << 16, Counted { source, progress: &progress })
        };
        if file == "-" {
            return self.read(buffered(Box::new(io::stdin().lock())), "standard input");
        }
        let mut source = File::open(Path::new(file)).map_err(|e| TraceError::io(file, e))?;
        if self.read_parquet(&mut source, file)? {
            return Ok(());
        }
        self.read(buffered(Box::new(source)), file)
    }

    /// Reads a file if it is one of Parquet; says whether it is.
    pub(crate) fn read_parquet(&mut self, file: &mut File, name: &str) -> Result<bool, TraceError> {
        let io = |e| TraceError::io(name, e);
        if !parquet::is_parquet(file).map_err(io)? {
            return Ok(false);
        }
        self.draft.begin_file();
        let file = file.try_clone().map_err(io)?;
        parquet::read(file, name, self.columns.as_ref(), &mut self.draft).map(|()| true)
    }

    /// All records of all sources.
    ///
    /// # Errors
    /// If there are records, but all of them were passed over: the first one.
    pub fn finish(self) -> Result<Records, TraceError> {
        self.draft.finish()
    }
}

/// The error for a first line that no format accepts.
fn unknown(location: Location<'_>, line: &str) -> TraceError {
    let names: Vec<String> =
        FORMATS.iter().map(|format| format!("{} ({})", format.name, format.what)).collect();
    let expected = format!("flow records as {}", names.join(", "));
    let counts = line.split_ascii_whitespace().map(str::parse::<u32>);
    let is_trace = line.contains("covey_trace") || counts.map(|it| it.is_ok()).eq([true; 2]);
    let is_table = [',', ';', '\t'].iter().any(|separator| line.matches(*separator).count() >= 3);
    let found = match (is_trace, is_table) {
        (true, _) => {
            "a trace, whose coflows are known (covey trace records makes flow records of it)".into()
        }
        (false, true) => format!("{}; --columns says what the columns are", quote(line)),
        (false, false) => format!("{}; --from says which one it is", quote(line)),
    };
    location.bad("header", expected, found)
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
