//! CSV: a line a coflow, a line a flow.

use std::io::{self, Write};

use crate::Run;
use crate::columns::{Column, per_coflow, per_flow};

/// Writes a line for each coflow under the names of the columns of [`per_coflow`]. What is not there
/// is empty; flags are `true` or `false`.
///
/// # Errors
///
/// Those of `out`.
pub fn write_per_coflow_csv(run: &Run<'_>, out: impl Write) -> io::Result<()> {
    write(&per_coflow(run), out)
}

/// Writes a line for each flow under the names of the columns of [`per_flow`].
///
/// # Errors
///
/// Those of `out`.
pub fn write_per_flow_csv(run: &Run<'_>, out: impl Write) -> io::Result<()> {
    write(&per_flow(run), out)
}

fn write(columns: &[Column<'_>], out: impl Write) -> io::Result<()> {
    let mut csv = csv::Writer::from_writer(out);
    csv.write_record(columns.iter().map(|column| column.name))?;
    let rows = columns.first().map_or(0, |column| column.values.rows());
    for row in 0..rows {
        csv.write_record(columns.iter().map(|column| column.values.text(row)))?;
    }
    csv.flush()
}
