//! A page of parts, each with text, a table and figures.

use super::document::{document, repeat};
use super::figures::figure;
use crate::Figure;
use maud::{Markup, html};

/// A page such as an appendix to a paper.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Appendix {
    /// The title.
    pub title: String,
    /// The introduction, one string for each paragraph; the first one counts most.
    pub lead: Vec<String>,
    /// Headings of the columns that the table of contents has beside the names of parts.
    pub contents_columns: Vec<String>,
    /// The parts, in order.
    pub parts: Vec<Part>,
}

/// A part of the page, with a heading.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Part {
    /// The name, such as `Table 3`. Each part has a different one.
    pub name: String,
    /// What the part shows.
    pub shows: String,
    /// The part's cells in the table of contents, one for each of [`Appendix::contents_columns`].
    pub contents_cells: Vec<String>,
    /// The text before the table, one string for each paragraph.
    pub before: Vec<String>,
    /// The table, if the part has one.
    pub table: Option<Grid>,
    /// The figures.
    pub figures: Vec<Figure>,
    /// The names of the runs, each with its details.
    pub terms: Vec<(String, String)>,
}

/// A table.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Grid {
    /// The headings of the columns.
    pub columns: Vec<Cell>,
    /// The rows.
    pub rows: Vec<Row>,
}

/// A row of a table.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Row {
    /// One cell for each column; the first names the row.
    pub cells: Vec<Cell>,
    /// The footnote of the last cell; may be empty. Rows with the same note share a footnote.
    pub note: String,
}

/// A cell of a table.
#[derive(Debug, Clone, PartialEq)]
pub struct Cell {
    /// The text.
    pub text: String,
    /// Additional text in smaller letters; may be empty.
    pub detail: String,
    /// How the cell is formatted.
    pub kind: CellKind,
}

/// How a cell is formatted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CellKind {
    /// A number or a short word, aligned to the right.
    Short,
    /// Text, which may take several lines.
    Words,
    /// Whether a value holds; `None` if there is no verdict, in which case the text says why.
    Verdict(Option<bool>),
}

impl Cell {
    /// A cell without a detail.
    pub fn new(kind: CellKind, text: impl Into<String>) -> Self {
        Self { text: text.into(), detail: String::new(), kind }
    }

    /// Adds a detail.
    #[must_use]
    pub fn with(self, detail: impl Into<String>) -> Self {
        Self { detail: detail.into(), ..self }
    }
}

/// The footnotes, each with the parts that refer to it.
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

    /// The link to a footnote; nothing if `text` is empty.
    fn link(&self, text: &str) -> Markup {
        let index = self.0.iter().position(|(known, _)| *known == text);
        html! {
            @if let Some(number) = index.map(|index| index + 1) {
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

/// The page of `appendix`, with `command`, the command line that repeats it.
pub fn appendix_page(appendix: &Appendix, command: &str) -> String {
    let header = html! {
        header {
            h1 { (appendix.title) }
            @for (k, paragraph) in appendix.lead.iter().enumerate() {
                p class=(if k == 0 { "lead" } else { "note" }) { (paragraph) }
            }
            @if appendix.parts.iter().any(differs) {
                // The style sheet hides the rest; no script is needed.
                p class="tools" { label { input type="checkbox" id="only-differs"; " only what differs" } }
            }
        }
    };
    let notes = Notes::of(&appendix.parts);
    let main = html! {
        (contents(appendix, &notes))
        @for part in &appendix.parts { (part_section(part, &notes)) }
        (notes.draw())
        (repeat(command, None))
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

/// Whether a value of the part differs.
fn differs(part: &Part) -> bool {
    let rows = part.table.iter().flat_map(|table| &table.rows);
    rows.flat_map(|row| &row.cells).any(|cell| cell.kind == CellKind::Verdict(Some(false)))
}

/// The name of a part as the target of a link: lower-case letters and digits, with a hyphen in
/// place of other characters.
fn id(name: &str) -> String {
    let words =
        name.split(|letter: char| !letter.is_alphanumeric()).filter(|word| !word.is_empty());
    words.collect::<Vec<_>>().join("-").to_lowercase()
}

/// A heading with a link back to the contents.
fn heading(text: &str) -> Markup {
    html! { div class="heading" { h2 { (text) } a href="#contents" { "Contents" } } }
}

fn part_section(part: &Part, notes: &Notes<'_>) -> Markup {
    html! {
        section id=(id(&part.name)) {
            (heading(&format!("{}: {}", part.name, part.shows)))
            @for paragraph in &part.before { p class="note" { (paragraph) } }
            @if let Some(grid) = &part.table { (table(grid, notes)) }
            @if !part.figures.is_empty() {
                div class="pair" { @for data in &part.figures { (figure(data)) } }
            }
            @if !part.terms.is_empty() { (run_details(&part.terms)) }
        }
    }
}

fn run_details(terms: &[(String, String)]) -> Markup {
    html! {
        details {
            summary { "What was run (" (terms.len()) ")" }
            dl {
                @for (name, details) in terms {
                    dt { code { (name) } }
                    dd { (details) }
                }
            }
        }
    }
}

fn table(grid: &Grid, notes: &Notes<'_>) -> Markup {
    html! {
        table class="findings" {
            thead { tr {
                @for column in &grid.columns { th scope="col" class=(class(column)) { (text_and_detail(column)) } }
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
                @if k == 0 { th scope="row" class=(class(cell)) { (text_and_detail(cell)) } }
                @else if k == last { td class=(class(cell)) { (text_and_detail(cell)) (notes.link(&row.note)) } }
                @else { td class=(class(cell)) { (text_and_detail(cell)) } }
            }
        }
    }
}

/// Text and detail, side by side if there is room. A number without a detail leaves room for one,
/// so that it lines up with other numbers of its column.
fn text_and_detail(cell: &Cell) -> Markup {
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
