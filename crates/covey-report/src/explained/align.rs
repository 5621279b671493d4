//! Columns of text.

use std::fmt::{self, Write};

/// Rows with columns that line up, numbers at the right.
pub(super) fn align(
    rows: &[impl AsRef<[String]>],
    is_number: impl Fn(usize) -> bool,
    out: &mut fmt::Formatter<'_>,
) -> fmt::Result {
    let columns = rows.first().map_or(0, |row| row.as_ref().len());
    let width = |column: usize| {
        rows.iter().map(|row| row.as_ref()[column].chars().count()).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..columns).map(width).collect();
    for row in rows {
        let mut line = String::new();
        for (column, (cell, &width)) in row.as_ref().iter().zip(&widths).enumerate() {
            let gap = if column == 0 { "" } else { "  " };
            let _ = match is_number(column) {
                true => write!(line, "{gap}{cell:>width$}"),
                false => write!(line, "{gap}{cell:width$}"),
            };
        }
        writeln!(out, "{}", line.trim_end())?;
    }
    Ok(())
}
