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
    /// Its rows, each with a cell for each column.
    pub rows: Vec<Vec<Cell>>,
}

/// A cell of a table.
#[derive(Debug, Clone, PartialEq)]
pub enum Cell {
    /// A number or a short word, set to the right.
    Short(String),
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
                thead { tr { @for column in &grid.columns { th scope="col" { (column) } } } }
                tbody {
                    @for row in &grid.rows {
                        tr { @for (i, one) in row.iter().enumerate() { (cell(one, i == 0)) } }
                    }
                }
            }
        }
    }
}

fn cell(cell: &Cell, first: bool) -> Markup {
    html! {
        @match cell {
            Cell::Short(text) | Cell::Words(text) if first => { th scope="row" { (text) } }
            Cell::Short(text) => { td { (text) } }
            Cell::Words(text) => { td class="words" { (text) } }
            Cell::Verdict(holds, text) => {
                @let class = match holds { Some(true) => " holds", Some(false) => " differs", None => "" };
                td class={ "verdict" (class) } { (text) }
            }
        }
    }
}
