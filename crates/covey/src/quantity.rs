//! Rates, times and numbers from arguments.

use std::fmt::Display;
use std::ops::RangeInclusive;

use covey_core::units;

use crate::failure::Failure;

/// A rate in bytes per second.
pub fn rate(argument: &str, text: &str) -> Result<f64, Failure> {
    units::parse_rate(text).map_err(|problem| Failure::Input(format!("{argument}: {problem}")))
}

/// A time above zero, in seconds.
pub fn time(argument: &str, text: &str) -> Result<f64, Failure> {
    match units::parse_duration(text) {
        Ok(seconds) if seconds > 0.0 => Ok(seconds),
        Ok(_) => Err(Failure::argument(argument, "a time above zero", format!("'{text}'"))),
        Err(problem) => Err(Failure::Input(format!("{argument}: {problem}"))),
    }
}

/// A time within two others, in seconds. These are written as a user would write them, such as
/// `["10ms", "60min"]`.
pub fn time_within(argument: &str, text: &str, [min, max]: [&str; 2]) -> Result<f64, Failure> {
    let read = |text: &str| {
        let time = units::parse_duration(text);
        time.map_err(|problem| Failure::Input(format!("{argument}: {problem}")))
    };
    let seconds = read(text)?;
    if (read(min)?..=read(max)?).contains(&seconds) {
        return Ok(seconds);
    }
    Err(Failure::argument(argument, format!("from {min} to {max}"), format!("'{text}'")))
}

/// A size in whole bytes within two others, which are written as a user would write them.
pub fn size_within(argument: &str, text: &str, [min, max]: [&str; 2]) -> Result<u64, Failure> {
    let read = |text: &str| {
        let size = units::parse_size(text);
        size.map_err(|problem| Failure::Input(format!("{argument}: {problem}")))
    };
    let bytes = read(text)?;
    if (read(min)?..=read(max)?).contains(&bytes) {
        return Ok(bytes as u64);
    }
    Err(Failure::argument(argument, format!("from {min} to {max}"), format!("'{text}'")))
}

/// A number within a range.
pub fn within<T: PartialOrd + Display>(
    argument: &str,
    found: T,
    range: RangeInclusive<T>,
) -> Result<T, Failure> {
    if range.contains(&found) {
        return Ok(found);
    }
    let expected = format!("from {} to {}", range.start(), range.end());
    Err(Failure::argument(argument, expected, found))
}
