//! Workloads from files, and by name.

use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::path::Path;

use crate::builtin::{self, builtin};
use crate::error::{Location, TraceError, quote};
use crate::merge::merge;
use crate::read::{FORMATS, Lines, Rest, decompressed, first_bytes, foreign, with_head};
use crate::records::{Columns, Options, Reader, coflows_of};
use crate::workload::Workload;

/// What a workload is read from: traces, or flow records.
///
/// Each item is what a command line names: `-` is standard input, `builtin:NAME[:key=value,…]` a
/// [`builtin`] trace, and any other text the name of a file.
#[derive(Debug, Clone, Default)]
pub struct Source {
    /// The traces, or the files of flow records. Several are laid on one clock, as one workload.
    pub items: Vec<String>,
    /// The columns of tables of flows.
    pub columns: Option<Columns>,
    /// Whether names are taken out of the workload, as [`Workload::anonymised`] does.
    pub anonymise: bool,
}

impl From<&str> for Source {
    fn from(item: &str) -> Source {
        Source { items: vec![item.to_owned()], ..Source::default() }
    }
}

impl Source {
    /// What messages and reports call it. Names of files may say whose they are.
    pub fn name(&self) -> String {
        if self.anonymise {
            return "anonymised".to_owned();
        }
        let name = |item: &String| match item.as_str() {
            "-" => "standard input".to_owned(),
            item => item.to_owned(),
        };
        match self.items.as_slice() {
            [first, _, _, ..] => format!("{} and {} more files", name(first), self.items.len() - 1),
            items => items.iter().map(name).collect::<Vec<_>>().join(" and "),
        }
    }

    /// Reads all items. `notes` gets each line about what was guessed, merged or left out.
    ///
    /// Several traces are one workload: a host of the same name, or a port of the same number, is
    /// the same. The flow records of several files are read as those of one. A label of flow
    /// records is a coflow; without any, coflows are found as `covey identify` finds them.
    ///
    /// # Errors
    /// Those of [`read_noting`](crate::read_noting) and [`builtin`]; if some items are traces and
    /// others flow records, or only some traces name hosts.
    pub fn open(&self, notes: &mut dyn FnMut(&str)) -> Result<Workload, TraceError> {
        let options = Options { columns: self.columns.clone(), ..Options::default() };
        let mut records = Reader::new(options);
        let mut traces: Vec<(&str, Workload)> = Vec::new();
        let mut first_records: Option<&str> = None;
        for item in &self.items {
            match open_either(item, &mut records, notes)? {
                Some(workload) => traces.push((item, workload)),
                None => first_records = first_records.or(Some(item)),
            }
            if let (Some((trace, _)), Some(records)) = (traces.first(), first_records) {
                let found = format!("a trace, {trace}, and flow records, {records}");
                return Err(TraceError::argument("files", "traces or flow records alone", found));
            }
        }
        let workload = match first_records {
            Some(_) => coflows_of(&records.finish()?, &self.name(), notes),
            None => merge(traces, notes),
        };
        workload.map(|it| if self.anonymise { it.anonymised() } else { it })
    }
}

/// What a file seems to be, by its first line, if it has flows without tasks: a trace, or flow
/// records.
pub fn flows_in(file: &str) -> Option<&'static str> {
    let file = BufReader::new(File::open(Path::new(file)).ok()?);
    let mut source = decompressed(file).ok()?;
    let mut lines = Lines::with_limit(&mut source, "", 1 << 20);
    let (_, first) = lines.next().ok()??;
    let is_records = Reader::new(Options::default()).accepts(first);
    let is_trace = first.contains("\"covey_trace\"") || {
        let mut numbers = first.split_ascii_whitespace().map(str::parse::<u32>);
        numbers.by_ref().take(2).filter(Result::is_ok).count() == 2 && numbers.all(|it| it.is_ok())
    };
    match (is_trace, is_records) {
        (true, _) => Some("a trace"),
        (false, true) => Some("flow records"),
        (false, false) => None,
    }
}

/// Opens a trace, or reads flow records into `records`.
fn open_either(
    item: &str,
    records: &mut Reader,
    notes: &mut dyn FnMut(&str),
) -> Result<Option<Workload>, TraceError> {
    if let Some(spec) = item.strip_prefix("builtin:") {
        return builtin(spec).map(Some);
    }
    if item == "-" {
        return read_either(io::stdin().lock(), "standard input", records, notes);
    }
    let mut file = File::open(Path::new(item)).map_err(|error| {
        let error = TraceError::io(item, error);
        match builtin::suggestion(item) {
            Some(meant) => error.suggesting(&meant),
            None => error,
        }
    })?;
    if records.read_parquet(&mut file, item)? {
        return Ok(None);
    }
    read_either(BufReader::with_capacity(1 << 16, file), item, records, notes)
}

/// Opens the workload that `trace` names on a command line, as a [`Source`] of one item.
///
/// # Errors
/// Those of [`Source::open`].
pub fn open_noting(trace: &str, notes: &mut dyn FnMut(&str)) -> Result<Workload, TraceError> {
    Source::from(trace).open(notes)
}

/// [`open_noting`], without the notes.
///
/// # Errors
/// Those of [`open_noting`].
pub fn open(trace: &str) -> Result<Workload, TraceError> {
    open_noting(trace, &mut |_| ())
}

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
/// Flow records are read, too, as [`Source::open`] does.
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
        None => coflows_of(&records.finish()?, name, notes),
    }
}

/// Reads a trace, or else flow records, which `records` takes.
fn read_either(
    mut source: impl BufRead,
    name: &str,
    records: &mut Reader,
    notes: &mut dyn FnMut(&str),
) -> Result<Option<Workload>, TraceError> {
    let io = |e| TraceError::io(name, e);
    refuse_binary(&mut source, name)?;
    let source = decompressed(source).map_err(io)?;
    let (head, mut source) = with_head(source).map_err(io)?;
    // What was compressed may be binary as well.
    refuse_binary(&mut source, name)?;
    if records.is_document(&head) {
        return records.read_document(&mut source, name, &head).map(|()| None);
    }
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
            Err(location.bad("file", "a trace (docs/workloads.md)", found))
        }
    }
}

fn refuse_binary(source: &mut impl BufRead, name: &str) -> Result<(), TraceError> {
    let first = first_bytes(source).map_err(|e| TraceError::io(name, e))?;
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
