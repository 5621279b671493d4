//! Errors of traces, each in one line.

use std::fmt::{Display, Write};
use std::io;

use covey_core::suggest::did_you_mean;

/// The reason that a trace gives no workload. The message is one line, ready to be printed.
#[derive(Debug, thiserror::Error)]
pub enum TraceError {
    /// The file could not be opened or read.
    #[error("{name}: {source}{}", did_you_mean(meant.as_deref()))]
    Io {
        /// The file, with control characters escaped.
        name: String,
        /// The operating system's error.
        source: io::Error,
        /// The trace that may be meant.
        meant: Option<String>,
    },
    /// A line of the trace is invalid.
    #[error("{name}: line {line}: {field}: expected {expected}, found {found}")]
    Bad {
        /// The file, with control characters escaped.
        name: String,
        /// The line, counted from 1.
        line: u64,
        /// The field of the line.
        field: String,
        /// The expected content.
        expected: String,
        /// The content found, shortened.
        found: String,
    },
    /// An argument of a generator or transformation is invalid.
    #[error("{argument}: expected {expected}, found {found}")]
    Argument {
        /// The argument.
        argument: String,
        /// The expected value.
        expected: String,
        /// The value found, shortened.
        found: String,
    },
}

impl TraceError {
    /// The error for an argument.
    pub(crate) fn argument(
        argument: &str,
        expected: impl Into<String>,
        found: impl Into<String>,
    ) -> TraceError {
        let (expected, found) = (expected.into(), found.into());
        TraceError::Argument { argument: argument.to_owned(), expected, found }
    }

    /// A failure of the operating system on the file `name`.
    pub fn io(name: &str, source: io::Error) -> Self {
        let name = escape(name, usize::MAX);
        Self::Io { name, source, meant: None }
    }

    /// Suggests `trace` if the error is that a file does not exist.
    pub(crate) fn suggesting(self, trace: &str) -> Self {
        match self {
            Self::Io { name, source, .. } if source.kind() == io::ErrorKind::NotFound => {
                Self::Io { name, source, meant: Some(trace.to_owned()) }
            }
            error => error,
        }
    }
}

/// A line of a trace, for error messages.
#[derive(Debug, Clone, Copy)]
pub struct Location<'a> {
    /// The file.
    pub name: &'a str,
    /// The line, counted from 1.
    pub line: u64,
}

impl Location<'_> {
    /// The error if `field` of this line has `found` instead of `expected`.
    pub fn bad(
        self,
        field: impl Display,
        expected: impl Display,
        found: impl Display,
    ) -> TraceError {
        TraceError::Bad {
            name: escape(self.name, usize::MAX),
            line: self.line,
            field: field.to_string(),
            expected: expected.to_string(),
            found: found.to_string(),
        }
    }
}

/// Text of the input for a message: quoted, on one line, and cut if it is long.
pub fn quote(text: &str) -> String {
    format!("\"{}\"", escape(text, 40))
}

/// Whether a terminal shows a character, and nothing else becomes of it: it is no control
/// character, and none that changes the direction of the text or is invisible.
pub fn is_printable(c: char) -> bool {
    let is_format = matches!(c,
        '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}');
    !c.is_control() && !is_format
}

/// `text` with characters escaped that are not [printable](is_printable), cut after `max`
/// characters.
pub(crate) fn escape(text: &str, max: usize) -> String {
    let mut shown = String::new();
    for (i, c) in text.chars().enumerate() {
        if i == max {
            shown.push('…');
            break;
        }
        if !is_printable(c) {
            // Writing to a string cannot fail.
            let _ = write!(shown, "{}", c.escape_default());
        } else {
            shown.push(c);
        }
    }
    shown
}
