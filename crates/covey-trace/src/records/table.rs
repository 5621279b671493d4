//! Rows of values between separators, whose columns a header names.

use std::borrow::Cow;

use crate::error::{Location, TraceError, quote};

/// The columns of a table.
pub(super) struct Header {
    names: Vec<String>,
    separator: char,
}

impl Header {
    /// A header of the names in a line. A name in quotes has none.
    pub fn new(line: &str, separator: char) -> Header {
        let name = |name: &str| name.trim().trim_matches('"').trim().to_owned();
        Header { names: line.split(separator).map(name).collect(), separator }
    }

    /// A header of these names.
    pub fn of_names(names: Vec<String>, separator: char) -> Header {
        Header { names, separator }
    }

    /// All names.
    pub fn names(&self) -> impl Iterator<Item = &str> + Clone {
        self.names.iter().map(String::as_str)
    }

    /// The name of the column at a place.
    pub fn name(&self, place: usize) -> &str {
        &self.names[place]
    }

    /// The place of the column that has one of these names, whatever their case.
    pub fn place(&self, names: &[&str]) -> Option<usize> {
        self.names.iter().position(|name| names.iter().any(|it| it.eq_ignore_ascii_case(name)))
    }

    /// The same for a column that must be there.
    pub fn need(&self, location: Location<'_>, names: &[&str]) -> Result<usize, TraceError> {
        self.place(names).ok_or_else(|| {
            let found = quote(&self.names.join(","));
            location.bad("header", format_args!("a column {}", names.join(" or ")), found)
        })
    }

    /// A row below this header, with as many values.
    pub fn row<'a>(&self, location: Location<'a>, line: &'a str) -> Result<Row<'a>, TraceError> {
        let mut cells = Vec::with_capacity(self.names.len());
        if self.separator != '\t' && line.contains('"') {
            cells.extend(unquoted(location, line, self.separator)?.into_iter().map(Cow::Owned));
        } else {
            cells.extend(line.split(self.separator).map(|cell| Cow::Borrowed(cell.trim())));
        }
        self.of_cells(location, cells)
    }

    /// The same of values that are apart already.
    pub fn of_cells<'a>(
        &self,
        location: Location<'a>,
        cells: Vec<Cow<'a, str>>,
    ) -> Result<Row<'a>, TraceError> {
        if cells.len() != self.names.len() {
            let last = self.names.get(cells.len()).or(self.names.last()).map_or("", String::as_str);
            let expected = format_args!("{} values, as the header has columns", self.names.len());
            return Err(location.bad(last, expected, cells.len()));
        }
        Ok(Row { location, cells })
    }
}

/// The values of a line in which some have quotes.
fn unquoted(
    location: Location<'_>,
    line: &str,
    separator: char,
) -> Result<Vec<String>, TraceError> {
    let mut reader = csv::ReaderBuilder::new();
    reader.has_headers(false).delimiter(u8::try_from(separator).unwrap_or(b','));
    let mut record = csv::StringRecord::new();
    let is_whole = line.matches('"').count().is_multiple_of(2);
    match reader.from_reader(line.as_bytes()).read_record(&mut record) {
        Ok(true) if is_whole => Ok(record.iter().map(|cell| cell.trim().to_owned()).collect()),
        _ => Err(location.bad("record", "a quote at both ends of a quoted value", quote(line))),
    }
}

/// A row, without blanks around its values.
pub(super) struct Row<'a> {
    pub location: Location<'a>,
    cells: Vec<Cow<'a, str>>,
}

impl Row<'_> {
    /// The value in a column.
    pub fn get(&self, place: usize) -> &str {
        &self.cells[place]
    }

    /// The value in a column that may be missing; then, and for an empty value, nothing.
    pub fn get_some(&self, place: Option<usize>) -> Option<&str> {
        place.map(|place| self.get(place)).filter(|cell| !cell.is_empty())
    }
}
