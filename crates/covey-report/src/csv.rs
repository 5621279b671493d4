//! Writes CSV with one line per coflow or per flow.

use std::io::{self, Write};

use crate::Run;
use crate::columns::{Column, per_coflow, per_flow};

/// Writes the names of the columns of [`per_coflow`], then one line for each coflow. A missing
/// value is empty; a flag is `true` or `false`.
///
/// # Errors
///
/// The errors of writing to `out`.
pub fn write_per_coflow_csv(run: &Run<'_>, out: impl Write) -> io::Result<()> {
    write(&per_coflow(run), out)
}

/// Writes the names of the columns of [`per_flow`], then one line for each flow.
///
/// # Errors
///
/// The errors of writing to `out`.
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
