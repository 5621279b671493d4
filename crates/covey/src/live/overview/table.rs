//! Columns of text.

/// Where the text of a column stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// For words.
    Left,
    /// For numbers.
    Right,
}

/// Lines of a head and rows. The last column is as wide as it likes.
pub fn table(columns: &[(&str, Side)], rows: &[Vec<String>]) -> Vec<String> {
    let head: Vec<String> = columns.iter().map(|(name, _)| (*name).to_owned()).collect();
    let width = |k: usize| {
        let cells = rows.iter().chain([&head]).map(|row| row[k].chars().count());
        cells.max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..columns.len()).map(width).collect();
    let line = |row: &Vec<String>| {
        let cells =
            row.iter().zip(columns).zip(&widths).map(|((cell, (_, side)), &width)| match side {
                Side::Left => format!("{cell:width$}"),
                Side::Right => format!("{cell:>width$}"),
            });
        let cells: Vec<String> = cells.collect();
        format!("  {}", cells.join("  ")).trim_end().to_owned()
    };
    [&head].into_iter().chain(rows).map(line).collect()
}
