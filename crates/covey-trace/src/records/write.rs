//! Writes flow records as CSV.

use std::io::{self, Write};

use covey_identify::Observed;

use super::csv::COLUMNS;
use super::grouped::Grouped;
use super::record::{Hidden, Records};

/// Writes records as CSV with all columns, from which [`read`](super::read()) makes the same
/// records.
///
/// # Errors
/// Those of `out`.
pub fn write_records(records: &Records, out: impl Write) -> io::Result<()> {
    write_rows(records, None, out)
}

/// The same with a last column `group`.
///
/// # Errors
/// Those of `out`.
pub fn write_with_groups(grouped: &Grouped<'_>, out: impl Write) -> io::Result<()> {
    write_rows(grouped.records, Some(&grouped.group_of), out)
}

fn write_rows(records: &Records, group_of: Option<&[u32]>, out: impl Write) -> io::Result<()> {
    let mut rows = RecordWriter::with_columns(out, group_of.map(|_| "group"))?;
    for (place, (flow, hidden)) in records.flows.iter().zip(&records.hidden).enumerate() {
        let hosts = [flow.src, flow.dst].map(|address| records.host(address));
        let label = hidden.label.map_or("", |label| &records.labels[label as usize]);
        let group = group_of.map(|groups| groups[place].to_string());
        let times = [Some(flow.start_s), hidden.end_s]
            .map(|time| time.map(|seconds| records.on_clock(seconds).to_string()));
        rows.write_row(flow, times, hosts, hidden, label, group)?;
    }
    rows.flush()
}

/// Writes records one by one, as they become known.
pub struct RecordWriter<W: Write> {
    out: csv::Writer<W>,
}

impl<W: Write> RecordWriter<W> {
    /// Writes the header.
    ///
    /// # Errors
    /// Those of `out`.
    pub fn new(out: W) -> io::Result<RecordWriter<W>> {
        RecordWriter::with_columns(out, None)
    }

    fn with_columns(out: W, last: Option<&str>) -> io::Result<RecordWriter<W>> {
        let mut out = csv::Writer::from_writer(out);
        out.write_record(COLUMNS.into_iter().chain(last)).map_err(of_output)?;
        Ok(RecordWriter { out })
    }

    /// Writes a record without a label.
    ///
    /// # Errors
    /// Those of the output.
    pub fn write(&mut self, flow: &Observed, hidden: &Hidden) -> io::Result<()> {
        let times = [Some(flow.start_s), hidden.end_s].map(|time| time.map(|s| s.to_string()));
        self.write_row(flow, times, [flow.src, flow.dst].map(|it| it.to_string()), hidden, "", None)
    }

    fn write_row(
        &mut self,
        flow: &Observed,
        [start_s, end_s]: [Option<String>; 2],
        [src, dst]: [String; 2],
        hidden: &Hidden,
        label: &str,
        group: Option<String>,
    ) -> io::Result<()> {
        let row = [
            start_s.unwrap_or_default(),
            src,
            dst,
            flow.sport.to_string(),
            flow.dport.to_string(),
            flow.protocol.to_string(),
            hidden.bytes.map_or(String::new(), |bytes| bytes.to_string()),
            end_s.unwrap_or_default(),
            label.to_owned(),
        ];
        self.out.write_record(row.iter().chain(&group)).map_err(of_output)
    }

    /// Hands all records on.
    ///
    /// # Errors
    /// Those of the output.
    pub fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

/// The output's own error, so that a reader who stops early is recognised.
fn of_output(error: csv::Error) -> io::Error {
    match error.into_kind() {
        csv::ErrorKind::Io(error) => error,
        other => io::Error::other(format!("{other:?}")),
    }
}
