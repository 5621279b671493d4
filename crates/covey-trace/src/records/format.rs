//! The description of a format of flow records.

use super::draft::Draft;
use crate::error::{Location, TraceError, quote};
use crate::read::Rest;

/// A format of flow records, recognised by its first line.
pub struct Format {
    /// The name on the command line.
    pub name: &'static str,
    /// What it is, in a few words.
    pub what: &'static str,
    /// Whether a first line belongs to this format.
    pub(super) accepts: fn(&str) -> bool,
    /// Reads all records, from the first line and the lines after it.
    pub(super) read: fn(First<'_>, Rest<'_>, &mut Draft) -> Result<(), TraceError>,
}

/// The first line that is not blank.
pub(super) type First<'a> = (Location<'a>, &'a str);

/// The error for a first line that no format accepts.
pub(super) fn unknown(location: Location<'_>, line: &str) -> TraceError {
    let names: Vec<String> =
        super::FORMATS.iter().map(|format| format!("{} ({})", format.name, format.what)).collect();
    let expected = format!("flow records as {}", names.join(", "));
    let counts = line.split_ascii_whitespace().map(str::parse::<u32>);
    let is_trace = line.contains("covey_trace") || counts.map(|it| it.is_ok()).eq([true; 2]);
    let found = match is_trace {
        true => {
            "a trace, whose coflows are known (covey trace records makes flow records of it)".into()
        }
        false => format!("{}; --from says which one it is", quote(line)),
    };
    location.bad("header", expected, found)
}
