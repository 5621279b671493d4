//! Rates and times from arguments.

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
