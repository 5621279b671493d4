//! The description of a trace format.

use std::io::BufRead;

use super::draft::Draft;
use super::fields::Fields;
use super::lines::Lines;
use crate::error::{Location, TraceError};
use crate::workload::Workload;

/// The lines of a trace after the first.
pub(crate) type Rest<'a> = Lines<'a, &'a mut dyn BufRead>;

/// A format of traces, recognised by its first line.
pub(crate) struct Format {
    /// A description of its first line, for messages.
    pub header: &'static str,
    /// Whether a first line belongs to this format.
    pub accepts: fn(&str) -> bool,
    /// Reads a trace from its first line, the lines after it, and the name of the file.
    pub read: fn(Location<'_>, &str, Rest<'_>, &str) -> Result<Workload, TraceError>,
}

/// A format of a coflow's line, recognised by the first such line.
pub(super) struct LineFormat {
    /// Whether the line of a coflow has this format.
    pub accepts: fn(&str) -> bool,
    /// Reads the coflow of one line.
    pub coflow: fn(Fields<'_>, &mut Draft) -> Result<(), TraceError>,
}
