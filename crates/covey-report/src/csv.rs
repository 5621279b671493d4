//! Writes CSV with one line per coflow, per flow or per link.

use std::io::{self, Write};

use covey_topology::LinkLoad;

use crate::Run;
use crate::columns::{Column, Values, per_coflow, per_flow};

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

/// Writes the columns `link`, `tier`, `bytes` and `busy_s`, with one line for each link.
///
/// # Errors
///
/// The errors of writing to `out`.
pub fn write_per_link_csv(links: &[LinkLoad], out: impl Write) -> io::Result<()> {
    let text =
        |of: fn(&LinkLoad) -> &str| Values::Text(links.iter().map(|link| Some(of(link))).collect());
    let number = |of: fn(&LinkLoad) -> f64| Values::Number(links.iter().map(of).collect());
    let columns = [
        Column { name: "link", values: text(|link| &link.link) },
        Column { name: "tier", values: text(|link| &link.tier) },
        Column { name: "bytes", values: number(|link| link.bytes) },
        Column { name: "busy_s", values: number(|link| link.busy_s) },
    ];
    write(&columns, out)
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
