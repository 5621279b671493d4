//! Workloads by name.

use std::fs::File;
use std::io::{self, BufReader};
use std::path::Path;

use crate::builtin::{self, builtin};
use crate::error::TraceError;
use crate::merge::merge;
use crate::read::{Lines, decompressed, read_either};
use crate::records::{Columns, Options, Reader, coflows_of};
use crate::workload::Workload;

/// What a workload is read from: traces, or flow records.
///
/// Each item is what a command line names: `-` is standard input, `builtin:NAME[:key=value,…]` a [`builtin`] trace, and
/// any other text the name of a file.
#[derive(Debug, Clone, Default)]
pub struct Source {
    /// The traces, or the files of flow records. Several are laid on one clock, as one workload.
    pub items: Vec<String>,
    /// The columns of tables of flows.
    pub columns: Option<Columns>,
}

impl From<&str> for Source {
    fn from(item: &str) -> Source {
        Source { items: vec![item.to_owned()], columns: None }
    }
}

impl Source {
    /// What messages and reports call it.
    pub fn name(&self) -> String {
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
    /// Several traces are one workload: a host of the same name, or a port of the same number, is the same. The flow
    /// records of several files are read as those of one. A label of flow records is a coflow; without any, coflows are
    /// found as `covey identify` finds them.
    ///
    /// # Errors
    /// Those of [`read_noting`](crate::read_noting) and [`builtin`]; if some items are traces and others flow
    /// records, or only some traces name hosts.
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
        match first_records {
            Some(_) => coflows_of(records, &self.name(), notes),
            None => merge(traces, notes),
        }
    }
}

/// What a file seems to be, by its first line, if it has flows without tasks: a trace, or flow records.
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
    let file = File::open(Path::new(item)).map_err(|error| {
        let error = TraceError::io(item, error);
        match builtin::suggestion(item) {
            Some(meant) => error.suggesting(&meant),
            None => error,
        }
    })?;
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
