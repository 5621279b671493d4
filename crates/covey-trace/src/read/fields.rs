//! The fields of a line, separated by blanks.

use std::fmt::Display;
use std::ops::RangeInclusive;
use std::str::SplitAsciiWhitespace;

use crate::Moment;
use crate::error::{Location, TraceError, quote};
use crate::limits::MAX_TIME_S;

/// The unread fields of one line.
pub(crate) struct Fields<'a> {
    /// The line.
    pub location: Location<'a>,
    rest: SplitAsciiWhitespace<'a>,
}

impl<'a> Fields<'a> {
    /// The fields of the line at `location`.
    pub fn new(location: Location<'a>, line: &'a str) -> Self {
        let rest = line.split_ascii_whitespace();
        Self { location, rest }
    }

    /// The next field, unchanged.
    pub fn text(
        &mut self,
        field: impl Display,
        expected: impl Display,
    ) -> Result<&'a str, TraceError> {
        self.rest.next().ok_or_else(|| self.location.bad(field, expected, "the end of the line"))
    }

    /// The next field as an integer in `range`; `what` names it in a message.
    pub fn integer(
        &mut self,
        field: impl Display,
        what: &str,
        range: RangeInclusive<u32>,
    ) -> Result<u32, TraceError> {
        let expected = format_args!("{what} from {} to {}", range.start(), range.end());
        let text = self.text(&field, expected)?;
        match text.parse() {
            Ok(value) if range.contains(&value) => Ok(value),
            _ => Err(self.location.bad(field, expected, quote(text))),
        }
    }

    /// The next field as a port below `ports`.
    pub fn port(&mut self, field: impl Display, ports: u32) -> Result<u32, TraceError> {
        self.integer(field, "a port", 0..=ports - 1)
    }

    /// The next field, a moment in milliseconds.
    pub fn milliseconds(&mut self, field: &str) -> Result<Moment, TraceError> {
        let text = self.text(field, "milliseconds")?;
        let moment = Moment::parse_ms(text).filter(Moment::is_arrival);
        let expected = format_args!("milliseconds from 0 to {:e}", MAX_TIME_S * 1e3);
        moment.ok_or_else(|| self.location.bad(field, expected, quote(text)))
    }

    /// The next field, a moment in seconds.
    pub fn seconds(&mut self, field: &str) -> Result<Moment, TraceError> {
        let text = self.text(field, "seconds")?;
        let moment = Moment::parse(text).filter(Moment::is_arrival);
        let expected = format_args!("seconds from 0 to {MAX_TIME_S:e}");
        moment.ok_or_else(|| self.location.bad(field, expected, quote(text)))
    }

    /// Checks that nothing follows the `last` field of the line.
    pub fn end(&mut self, last: impl Display) -> Result<(), TraceError> {
        match self.rest.next() {
            None => Ok(()),
            Some(text) => {
                let expected = format_args!("nothing after {last}");
                Err(self.location.bad("end of line", expected, quote(text)))
            }
        }
    }
}

/// Checks that another `line` may follow `found` others, of as many as the first line says.
pub(super) fn check_room(
    location: Location<'_>,
    what: &str,
    (said, found): (usize, usize),
    line: &str,
) -> Result<(), TraceError> {
    if found < said {
        return Ok(());
    }
    let expected = format_args!("{said}, as the first line says");
    Err(location.bad(what, expected, format_args!("one more: {}", quote(line))))
}

/// Checks the number that the first line says, at the end of the file.
pub(crate) fn check_total(
    end: Location<'_>,
    what: &str,
    (said, found): (usize, usize),
) -> Result<(), TraceError> {
    if found == said {
        return Ok(());
    }
    let expected = format_args!("{said}, as the first line says");
    Err(end.bad(what, expected, format_args!("{found} at the end of the file")))
}

/// `text` as a number from 0 to `max`; `unit` names it in a message.
pub(crate) fn number(
    location: Location<'_>,
    field: impl Display,
    unit: &str,
    text: &str,
    max: f64,
) -> Result<f64, TraceError> {
    match text.parse::<f64>() {
        // Adding zero turns a negative zero into zero.
        Ok(value) if (0.0..=max).contains(&value) => Ok(value + 0.0),
        _ => {
            let expected = format_args!("{unit} from 0 to {max:e}");
            Err(location.bad(field, expected, quote(text)))
        }
    }
}
