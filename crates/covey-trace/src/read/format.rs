//! The description of a trace format.

use std::io::BufRead;

use super::draft::Draft;
pub(crate) use super::draft::Notes;
use super::fields::Fields;
use super::lines::Lines;
use crate::error::{Location, TraceError};
use crate::workload::Workload;

/// The first line that is not blank.
pub(crate) type First<'a> = (Location<'a>, &'a str);

/// The lines of a file after the first.
pub(crate) type Rest<'a> = Lines<'a, &'a mut dyn BufRead>;

/// A format of traces, recognised by its first line.
pub(crate) struct Format {
    /// Whether a first line belongs to this format.
    pub accepts: fn(&str) -> bool,
    /// Reads a trace from its first line and the lines after it.
    pub read: for<'a> fn(First<'a>, Rest<'a>, Notes<'_>) -> Result<Workload, TraceError>,
}

/// A format of a coflow's line.
pub(super) struct LineFormat {
    /// Whether all of a line has this format.
    pub fits: fn(&str) -> bool,
    /// Whether a line that fits no format was meant to have this one.
    pub seems: fn(&str) -> bool,
    /// Reads the coflow of one line.
    pub coflow: fn(Fields<'_>, &mut Draft) -> Result<(), TraceError>,
}
