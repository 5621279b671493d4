//! The values of fields that all formats share.

use super::protocols::number_of;
use crate::error::{Location, TraceError, quote};
use crate::limits::{MAX_BYTES, MAX_TIME_S};
use crate::moment::Moment;
use crate::read::number;

/// A time in seconds on any clock, also before its zero.
pub(super) fn seconds(
    location: Location<'_>,
    field: &str,
    text: &str,
) -> Result<Moment, TraceError> {
    let moment = Moment::parse(text).filter(Moment::is_time);
    moment.ok_or_else(|| bad_time(location, field, quote(text)))
}

/// Checks that a time is within limits.
pub(super) fn check_time(
    location: Location<'_>,
    field: &str,
    time: Moment,
) -> Result<Moment, TraceError> {
    if time.is_time() { Ok(time) } else { Err(bad_time(location, field, time.to_string())) }
}

fn bad_time(location: Location<'_>, field: &str, found: String) -> TraceError {
    location.bad(field, format_args!("seconds from -{MAX_TIME_S:e} to {MAX_TIME_S:e}"), found)
}

/// A transport port; 0 if unknown.
pub(super) fn port(location: Location<'_>, field: &str, text: &str) -> Result<u16, TraceError> {
    text.parse().map_err(|_| location.bad(field, "a port from 0 to 65535", quote(text)))
}

/// A number of bytes.
pub(super) fn bytes(location: Location<'_>, field: &str, text: &str) -> Result<f64, TraceError> {
    bytes_in(1.0, location, field, text)
}

/// A number of bytes, written in a unit of so many.
pub(super) fn bytes_in(
    unit: f64,
    location: Location<'_>,
    field: &str,
    text: &str,
) -> Result<f64, TraceError> {
    Ok(unit * number(location, field, "bytes", text, MAX_BYTES / unit)?)
}

/// A transport protocol by number or name.
pub(super) fn protocol(location: Location<'_>, field: &str, text: &str) -> Result<u8, TraceError> {
    let number = text.parse().ok().or_else(|| number_of(text));
    number
        .ok_or_else(|| location.bad(field, "a protocol, such as tcp or its number 6", quote(text)))
}

/// Whether a protocol has ports. For others, collectors write types and codes in their place.
pub(super) fn has_ports(protocol: u8) -> bool {
    matches!(protocol, 6 | 17 | 33 | 132 | 136)
}
