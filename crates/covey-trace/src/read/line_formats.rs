//! The formats of which each line is a coflow, told apart by their lines.

use super::draft::Draft;
use super::fields::Fields;
use super::format::LineFormat;
use super::{benchmark, sincronia};
use crate::error::{Location, TraceError};

/// The formats. The first that seems to be right reads a line that fits none of them.
static FORMATS: &[LineFormat] = &[benchmark::FORMAT, benchmark::WEIGHTED, sincronia::FORMAT];
/// Most bytes of lines that are kept because they fit several formats.
const MAX_KEPT: usize = 64 << 20;

/// The lines of coflows of a file, whose format is that of the first line that fits only one.
#[derive(Default)]
pub(super) struct CoflowLines {
    format: Option<&'static LineFormat>,
    /// Lines that fit several formats, with their numbers.
    kept: Vec<(u64, String)>,
    kept_bytes: usize,
}

impl CoflowLines {
    /// Number of lines that are not read yet.
    pub fn kept(&self) -> usize {
        self.kept.len()
    }

    /// Takes a line.
    pub fn take(
        &mut self,
        location: Location<'_>,
        line: &str,
        draft: &mut Draft,
    ) -> Result<(), TraceError> {
        if self.format.is_none() {
            let fitting = || FORMATS.iter().filter(|format| (format.fits)(line));
            if fitting().count() > 1 && self.kept_bytes < MAX_KEPT {
                self.kept.push((location.line, line.to_owned()));
                self.kept_bytes += line.len();
                return Ok(());
            }
            let format = fitting().next();
            let format = format.or_else(|| FORMATS.iter().find(|format| (format.seems)(line)));
            self.decide(format, location.name, draft)?;
        }
        match self.format {
            Some(format) => (format.coflow)(Fields::new(location, line), draft),
            None => Ok(()),
        }
    }

    /// Reads the lines that are left. They fit the first format as well.
    pub fn finish(&mut self, name: &str, draft: &mut Draft) -> Result<(), TraceError> {
        self.decide(FORMATS.first(), name, draft)
    }

    fn decide(
        &mut self,
        format: Option<&'static LineFormat>,
        name: &str,
        draft: &mut Draft,
    ) -> Result<(), TraceError> {
        self.format = self.format.or(format);
        let Some(format) = self.format else { return Ok(()) };
        for (line, text) in std::mem::take(&mut self.kept) {
            (format.coflow)(Fields::new(Location { name, line }, &text), draft)?;
        }
        Ok(())
    }
}
