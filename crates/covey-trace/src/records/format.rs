//! The description of a format of flow records.

use super::draft::Draft;
use crate::error::TraceError;
use crate::read::{First, Rest};

/// A format of flow records, recognised by its first line.
#[derive(Debug)]
pub struct Format {
    /// The name on the command line.
    pub name: &'static str,
    /// What it is, in a few words.
    pub what: &'static str,
    /// Whether a first line belongs to this format.
    pub(super) accepts: fn(&str) -> bool,
    /// Reads all records, from the first line and the lines after it.
    pub(super) read: for<'a> fn(First<'a>, Rest<'a>, &mut Draft) -> Result<(), TraceError>,
}

impl Format {
    /// Whether a file with this first line has this format.
    pub(crate) fn accepts(&self, first: &str) -> bool {
        (self.accepts)(first)
    }
}
