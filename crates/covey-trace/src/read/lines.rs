//! Lines of a text of any size, one at a time, in bounded memory.

use std::io::{BufRead, ErrorKind};

use crate::error::{Location, TraceError};
use crate::limits::MAX_LINE_BYTES;

/// The byte order mark, with which editors of Windows begin a file.
const MARK: &[u8] = "\u{feff}".as_bytes();

/// The lines of a source that are not blank, numbered from 1. A byte order mark is no part of them.
pub struct Lines<'a, R> {
    source: R,
    /// The last line read; its number counts blank ones.
    location: Location<'a>,
    buffer: Vec<u8>,
    /// Most bytes of a line.
    max: usize,
    /// A line had an error, and its rest has not been read.
    has_broken_rest: bool,
}

impl<'a, R: BufRead> Lines<'a, R> {
    /// The lines of `source`, called `name` in messages.
    pub(crate) fn new(source: R, name: &'a str) -> Self {
        Self::with_limit(source, name, MAX_LINE_BYTES)
    }

    /// The lines of `source`, called `name` in messages, of at most `max` bytes each.
    pub fn with_limit(source: R, name: &'a str, max: usize) -> Self {
        Self {
            source,
            location: Location { name, line: 0 },
            buffer: Vec::new(),
            max,
            has_broken_rest: false,
        }
    }

    /// The location of the last line read.
    pub fn location(&self) -> Location<'a> {
        // An empty file has its end on line 1.
        Location { line: self.location.line.max(1), ..self.location }
    }

    /// The next line that is not blank, without its end; `None` at the end of the source.
    ///
    /// # Errors
    /// If reading fails, or the line is too long or no text. The line after such a line is the next
    /// one.
    #[allow(clippy::should_implement_trait, reason = "the line is borrowed")]
    pub fn next(&mut self) -> Result<Option<(Location<'a>, &str)>, TraceError> {
        Ok(self.advance()?.then(|| self.current()))
    }

    /// Calls `take` with a line that was read before, and with each line after it.
    pub(crate) fn each(
        &mut self,
        (location, first): (Location<'a>, &str),
        mut take: impl FnMut(Location<'a>, &str) -> Result<(), TraceError>,
    ) -> Result<(), TraceError> {
        take(location, first)?;
        while let Some((location, line)) = self.next()? {
            take(location, line)?;
        }
        Ok(())
    }

    /// Reads the next line that is not blank; false at the end of the source.
    ///
    /// # Errors
    /// Those of [`next`](Lines::next).
    pub(crate) fn advance(&mut self) -> Result<bool, TraceError> {
        loop {
            if !self.fill()? {
                self.buffer.clear();
                return Ok(false);
            }
            if self.location.line == 1 && self.buffer.starts_with(MARK) {
                self.buffer.drain(..MARK.len());
            }
            if !self.buffer.trim_ascii().is_empty() {
                break;
            }
        }
        match std::str::from_utf8(&self.buffer) {
            Ok(_) => Ok(true),
            Err(e) => {
                let byte = self.buffer[e.valid_up_to()];
                Err(self.location.bad("text", "UTF-8", binary(byte)))
            }
        }
    }

    /// The line that was read last; an empty one if it was no text.
    pub(crate) fn current(&self) -> (Location<'a>, &str) {
        (self.location, std::str::from_utf8(&self.buffer).unwrap_or_default())
    }

    /// Reads one line into the buffer, without its `\n`; false at the end of the source.
    fn fill(&mut self) -> Result<bool, TraceError> {
        self.buffer.clear();
        let mut begun = false;
        // Of a line with an error, the rest is still to be dropped.
        let mut is_dropping = std::mem::take(&mut self.has_broken_rest);
        loop {
            let chunk = match self.source.fill_buf() {
                Ok(chunk) => chunk,
                Err(e) if e.kind() == ErrorKind::Interrupted => continue,
                Err(e) => return Err(TraceError::io(self.location.name, e)),
            };
            if chunk.is_empty() {
                return Ok(begun);
            }
            if !begun && !is_dropping {
                begun = true;
                self.location.line += 1;
            }
            let newline = chunk.iter().position(|&b| b == b'\n');
            let part = &chunk[..newline.unwrap_or(chunk.len())];
            let used = part.len() + usize::from(newline.is_some());
            if is_dropping {
                is_dropping = newline.is_none();
                self.source.consume(used);
                continue;
            }
            let error = if part.contains(&0) {
                Some(self.location.bad("text", "UTF-8 without NUL", binary(0)))
            } else if part.len() > self.max - self.buffer.len() {
                let expected = format_args!("at most {} MiB", self.max >> 20);
                Some(self.location.bad("line", expected, "a longer line"))
            } else {
                None
            };
            if let Some(error) = error {
                self.has_broken_rest = true;
                return Err(error);
            }
            self.buffer.extend_from_slice(part);
            self.source.consume(used);
            if newline.is_some() {
                return Ok(true);
            }
        }
    }
}

/// Describes a byte that is not text.
fn binary(byte: u8) -> String {
    format!("the byte 0x{byte:02x} (a binary file?)")
}
