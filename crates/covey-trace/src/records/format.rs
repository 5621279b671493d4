//! The description of a format of flow records.

use std::io::BufRead;

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
    /// Whether a first line belongs to this format; of documents, the first bytes.
    pub(super) accepts: fn(&str) -> bool,
    /// Reads all records.
    pub(super) read: Reading,
}

/// How a format is read.
#[derive(Debug)]
pub(super) enum Reading {
    /// From the first line and the lines after it.
    Lines(for<'a> fn(First<'a>, Rest<'a>, &mut Draft) -> Result<(), TraceError>),
    /// As one document, from its source and the name of that.
    Document(fn(&mut dyn BufRead, &str, &mut Draft) -> Result<(), TraceError>),
}

impl Format {
    /// Whether a file with this first line has this format.
    pub(crate) fn accepts(&self, first: &str) -> bool {
        (self.accepts)(first)
    }
}
