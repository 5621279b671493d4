//! Writes flow records as CSV.

use std::io::{self, Write};

use covey_identify::Address;

use super::csv::COLUMNS;
use super::grouped::Grouped;
use super::record::Records;

/// Writes records as CSV with all columns, from which [`read`](super::read()) makes the same records.
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
    let mut out = csv::Writer::from_writer(out);
    out.write_record(COLUMNS.into_iter().chain(group_of.map(|_| "group"))).map_err(of_output)?;
    for (place, (flow, hidden)) in records.flows.iter().zip(&records.hidden).enumerate() {
        let host = |address: Address| records.host(address);
        let some = |value: Option<f64>| value.map_or(String::new(), |value| value.to_string());
        let label = hidden.label.map_or("", |label| &records.labels[label as usize]);
        let row = [
            flow.start_s.to_string(),
            host(flow.src),
            host(flow.dst),
            flow.sport.to_string(),
            flow.dport.to_string(),
            flow.protocol.to_string(),
            some(hidden.bytes),
            some(hidden.end_s),
            label.to_owned(),
        ];
        let group = group_of.map(|groups| groups[place].to_string());
        out.write_record(row.iter().chain(&group)).map_err(of_output)?;
    }
    out.flush()
}

/// The output's own error, so that a reader who stops early is recognised.
fn of_output(error: csv::Error) -> io::Error {
    match error.into_kind() {
        csv::ErrorKind::Io(error) => error,
        other => io::Error::other(format!("{other:?}")),
    }
}
