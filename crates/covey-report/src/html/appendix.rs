//! A page of parts, each with words, a table and figures.

use super::document::{document, repeat};
use super::figures::figure;
use crate::Figure;
use maud::{Markup, html};

/// A page such as an appendix to a paper.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Appendix {
    /// Its title.
    pub title: String,
    /// What a reader in a hurry should know, a paragraph each.
    pub lead: Vec<String>,
    /// An overview of all parts.
    pub overview: Option<Grid>,
    /// The parts, in order.
    pub parts: Vec<Part>,
}

/// A part with a heading of its own.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Part {
    /// Its heading.
    pub heading: String,
    /// Words before the table, a paragraph each.
    pub before: Vec<String>,
    /// Its table, if it has one.
    pub table: Option<Grid>,
    /// Its figures.
    pub figures: Vec<Figure>,
    /// What was run: names, and what they stand for.
    pub terms: Vec<(String, String)>,
}

/// A table.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Grid {
    /// The headings of its columns.
    pub columns: Vec<String>,
    /// Its rows.
    pub rows: Vec<Row>,
}

/// A row of a table.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Row {
    /// A cell for each column.
    pub cells: Vec<Cell>,
    /// What is to be said of it, below it; may be empty.
    pub note: String,
}

/// A cell of a table.
#[derive(Debug, Clone, PartialEq)]
pub enum Cell {
    /// A number or a short word, set to the right.
    Short(String),
    /// A short word, set to the left.
    Label(String),
    /// Words, which may take several lines.
    Words(String),
    /// Whether something holds; none if it cannot be said, for the reason given.
    Verdict(Option<bool>, String),
}

/// The page of `appendix`, with `command`, the command line that makes it again.
pub fn appendix_page(appendix: &Appendix, command: &str) -> String {
    let header = html! {
        header {
            h1 { (appendix.title) }
            @for paragraph in &appendix.lead { p class="note" { (paragraph) } }
        }
    };
    let main = html! {
        @if let Some(grid) = &appendix.overview { section { h2 { "Overview" } (table(grid)) } }
        @for one in &appendix.parts { (part(one)) }
        (repeat(command))
    };
    document(&appendix.title, header, main)
}

fn part(part: &Part) -> Markup {
    html! {
        section {
            h2 { (part.heading) }
            @for paragraph in &part.before { p class="note" { (paragraph) } }
            @if let Some(grid) = &part.table { (table(grid)) }
            @if !part.figures.is_empty() {
                div class="pair" { @for one in &part.figures { (figure(one)) } }
            }
            @if !part.terms.is_empty() {
                h3 { "What was run" }
                dl {
                    @for (name, what) in &part.terms {
                        dt { code { (name) } }
                        dd { (what) }
                    }
                }
            }
        }
    }
}

fn table(grid: &Grid) -> Markup {
    html! {
        div class="scroll" {
            table {
                thead {
                    tr {
                        @for (k, column) in grid.columns.iter().enumerate() {
                            @if is_left(grid, k) { th scope="col" class="left" { (column) } }
                            @else { th scope="col" { (column) } }
                        }
                    }
                }
                tbody { @for one in &grid.rows { (row(one)) } }
            }
        }
    }
}

/// Whether a column is set to the left.
fn is_left(grid: &Grid, column: usize) -> bool {
    let mut cells = grid.rows.iter().filter_map(|row| row.cells.get(column));
    cells.any(|cell| matches!(cell, Cell::Label(_) | Cell::Words(_)))
}

fn row(row: &Row) -> Markup {
    let cells = html! { @for (k, one) in row.cells.iter().enumerate() { (cell(one, k == 0)) } };
    html! {
        @if row.note.is_empty() { tr { (cells) } }
        @else {
            tr class="noted" { (cells) }
            tr { td class="remark" colspan=(row.cells.len()) { span { (row.note) } } }
        }
    }
}

fn cell(cell: &Cell, first: bool) -> Markup {
    html! {
        @match cell {
            Cell::Short(text) | Cell::Label(text) | Cell::Words(text) if first => {
                th scope="row" { (text) }
            }
            Cell::Label(text) => { td class="left" { (text) } }
            Cell::Short(text) => { td { (text) } }
            Cell::Words(text) => { td class="words" { (text) } }
            Cell::Verdict(holds, text) => {
                @let class = match holds { Some(true) => " holds", Some(false) => " differs", None => "" };
                td class={ "verdict" (class) } { (text) }
            }
        }
    }
}
