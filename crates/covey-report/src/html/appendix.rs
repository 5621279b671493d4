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
    /// Headings of the columns that the table of contents has beside the names of parts.
    pub contents_columns: Vec<String>,
    /// The parts, in order.
    pub parts: Vec<Part>,
}

/// A part with a heading of its own.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Part {
    /// Its name, unlike that of any other part, such as `Table 3`.
    pub name: String,
    /// What it shows.
    pub shows: String,
    /// The part's cells in the table of contents, one for each of [`Appendix::contents_columns`].
    pub contents_cells: Vec<String>,
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
    pub columns: Vec<Cell>,
    /// Its rows.
    pub rows: Vec<Row>,
}

/// A row of a table.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Row {
    /// A cell for each column; the first one names the row.
    pub cells: Vec<Cell>,
    /// What is to be said of its last cell; may be empty. Rows that say the same share a footnote.
    pub note: String,
}

/// A cell of a table.
#[derive(Debug, Clone, PartialEq)]
pub struct Cell {
    /// What it says.
    pub text: String,
    /// What belongs to it, in smaller letters; may be empty.
    pub detail: String,
    /// How it is set.
    pub kind: CellKind,
}

/// How a cell is set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CellKind {
    /// A number or a short word, set to the right.
    Short,
    /// Words, which may take several lines.
    Words,
    /// Whether something holds; none if it cannot be said, for the reason given.
    Verdict(Option<bool>),
}

impl Cell {
    /// A cell without a detail.
    pub fn new(kind: CellKind, text: impl Into<String>) -> Self {
        Self { text: text.into(), detail: String::new(), kind }
    }

    /// The same with a detail.
    #[must_use]
    pub fn with(self, detail: impl Into<String>) -> Self {
        Self { detail: detail.into(), ..self }
    }
}

/// Footnotes, each once, and the parts that refer to it.
struct Notes<'a>(Vec<(&'a str, Vec<&'a Part>)>);

impl<'a> Notes<'a> {
    fn of(parts: &'a [Part]) -> Self {
        let mut notes = Self(Vec::new());
        for part in parts {
            for row in part.table.iter().flat_map(|table| &table.rows) {
                notes.add(&row.note, part);
            }
        }
        notes
    }

    fn add(&mut self, text: &'a str, part: &'a Part) {
        match self.0.iter_mut().find(|(known, _)| *known == text) {
            _ if text.is_empty() => {}
            Some((_, parts)) if parts.iter().any(|known| known.name == part.name) => {}
            Some((_, parts)) => parts.push(part),
            None => self.0.push((text, vec![part])),
        }
    }

    /// The link to a note, if there is something to be said.
    fn link(&self, text: &str) -> Markup {
        let place = self.0.iter().position(|(known, _)| *known == text);
        html! {
            @if let Some(number) = place.map(|place| place + 1) {
                " " a class="note-link" href={ "#note-" (number) } aria-label={ "note " (number) } { (number) }
            }
        }
    }

    fn draw(&self) -> Markup {
        html! {
            @if !self.0.is_empty() {
                section id="notes" {
                    (heading("Notes"))
                    ol class="notes" {
                        @for (number, (text, parts)) in (1..).zip(&self.0) {
                            li id={ "note-" (number) } {
                                (text) " "
                                span class="back" {
                                    @for (k, part) in parts.iter().enumerate() {
                                        @if k > 0 { ", " }
                                        a href={ "#" (id(&part.name)) } { (part.name) }
                                    }
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}

/// The page of `appendix`, with `command`, the command line that makes it again.
pub fn appendix_page(appendix: &Appendix, command: &str) -> String {
    let header = html! {
        header {
            h1 { (appendix.title) }
            @for paragraph in &appendix.lead { p class="note" { (paragraph) } }
        }
    };
    let notes = Notes::of(&appendix.parts);
    let main = html! {
        (contents(appendix, &notes))
        @for one in &appendix.parts { (part(one, &notes)) }
        (notes.draw())
        (repeat(command))
    };
    document(&appendix.title, header, main)
}

fn contents(appendix: &Appendix, notes: &Notes<'_>) -> Markup {
    html! {
        nav id="contents" aria-labelledby="contents-heading" {
            h2 id="contents-heading" { "Contents" }
            table class="contents" {
                thead { tr {
                    th scope="col" { "part" }
                    @for heading in &appendix.contents_columns { th scope="col" { (heading) } }
                } }
                tbody {
                    @for part in &appendix.parts { tr {
                        th scope="row" { a href={ "#" (id(&part.name)) } { (part.name) } ": " (part.shows) }
                        @for cell in &part.contents_cells { td { (cell) } }
                    } }
                }
            }
            @if !notes.0.is_empty() { p { a href="#notes" { "Notes" } ": why values differ" } }
        }
    }
}

/// The name of a part as the target of a link: letters and digits, and a hyphen for all else between.
fn id(name: &str) -> String {
    let words =
        name.split(|letter: char| !letter.is_alphanumeric()).filter(|word| !word.is_empty());
    words.collect::<Vec<_>>().join("-").to_lowercase()
}

/// A heading with the way back.
fn heading(text: &str) -> Markup {
    html! { div class="heading" { h2 { (text) } a href="#contents" { "Contents" } } }
}

fn part(part: &Part, notes: &Notes<'_>) -> Markup {
    html! {
        section id=(id(&part.name)) {
            (heading(&format!("{}: {}", part.name, part.shows)))
            @for paragraph in &part.before { p class="note" { (paragraph) } }
            @if let Some(grid) = &part.table { (table(grid, notes)) }
            @if !part.figures.is_empty() {
                div class="pair" { @for one in &part.figures { (figure(one)) } }
            }
            @if !part.terms.is_empty() { (what_was_run(&part.terms)) }
        }
    }
}

fn what_was_run(terms: &[(String, String)]) -> Markup {
    html! {
        details {
            summary { "What was run (" (terms.len()) ")" }
            dl {
                @for (name, what) in terms {
                    dt { code { (name) } }
                    dd { (what) }
                }
            }
        }
    }
}

fn table(grid: &Grid, notes: &Notes<'_>) -> Markup {
    html! {
        table class="findings" {
            thead { tr {
                @for column in &grid.columns { th scope="col" class=(class(column)) { (both(column)) } }
            } }
            tbody { @for one in &grid.rows { (row(one, notes)) } }
        }
    }
}

fn row(row: &Row, notes: &Notes<'_>) -> Markup {
    let last = row.cells.len().saturating_sub(1);
    html! {
        tr {
            @for (k, cell) in row.cells.iter().enumerate() {
                @if k == 0 { th scope="row" class=(class(cell)) { (both(cell)) } }
                @else if k == last { td class=(class(cell)) { (both(cell)) (notes.link(&row.note)) } }
                @else { td class=(class(cell)) { (both(cell)) } }
            }
        }
    }
}

/// Text and detail: side by side where there is room, else one below the other. Numbers leave room for a detail
/// that others in their column have.
fn both(cell: &Cell) -> Markup {
    html! {
        @if cell.detail.is_empty() && cell.kind != CellKind::Short { span { (cell.text) } }
        @else { span { (cell.text) } " " span class="detail" { (cell.detail) } }
    }
}

fn class(cell: &Cell) -> &'static str {
    match cell.kind {
        CellKind::Short => "short",
        CellKind::Words => "words",
        CellKind::Verdict(Some(true)) => "verdict holds",
        CellKind::Verdict(Some(false)) => "verdict differs",
        CellKind::Verdict(None) => "verdict",
    }
}
