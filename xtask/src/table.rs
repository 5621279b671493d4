//! Tables in Markdown.

use std::fmt::{self, Display, Formatter};

/// A table whose first columns are words, aligned to the left, and whose others are numbers.
pub struct Table {
    words: usize,
    columns: Vec<String>,
    rows: Vec<Vec<String>>,
}

impl Table {
    /// A table without rows: its columns, of which the first `words` are words.
    pub fn new<C: Into<String>>(words: usize, columns: impl IntoIterator<Item = C>) -> Self {
        Self { words, columns: columns.into_iter().map(Into::into).collect(), rows: Vec::new() }
    }

    /// Adds a row, which has a cell for each column.
    ///
    /// # Panics
    ///
    /// If it has more or fewer.
    pub fn row<C: Into<String>>(&mut self, cells: impl IntoIterator<Item = C>) {
        let cells: Vec<String> = cells.into_iter().map(Into::into).collect();
        assert_eq!(cells.len(), self.columns.len(), "cells of the row {cells:?}");
        self.rows.push(cells);
    }
}

impl Display for Table {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        writeln!(out, "| {} |", self.columns.join(" | "))?;
        let lines = (0..self.columns.len()).map(|k| if k < self.words { "---" } else { "--:" });
        writeln!(out, "|{}|", lines.collect::<Vec<_>>().join("|"))?;
        self.rows.iter().try_for_each(|cells| writeln!(out, "| {} |", cells.join(" | ")))
    }
}

/// A cell with a name, in backticks.
pub fn code(name: impl Display) -> String {
    format!("`{name}`")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_left_and_numbers_right() {
        let mut table = Table::new(1, ["policy", "mean CCT, s"]);
        table.row([code("fair"), "64.63".to_owned()]);
        table.row([code("none"), String::new()]);
        assert_eq!(
            table.to_string(),
            "| policy | mean CCT, s |\n|---|--:|\n| `fair` | 64.63 |\n| `none` |  |\n"
        );
    }

    #[test]
    #[should_panic(expected = "cells of the row")]
    fn a_row_has_a_cell_for_each_column() {
        Table::new(1, ["policy", "CPU, s"]).row(["`fair`"]);
    }
}
