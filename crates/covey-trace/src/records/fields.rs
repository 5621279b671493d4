//! The values of fields that all formats share.

use crate::error::{Location, TraceError, quote};
use crate::limits::MAX_TIME_S;

/// A time in seconds on any clock, also before its zero.
pub(super) fn seconds(location: Location<'_>, field: &str, text: &str) -> Result<f64, TraceError> {
    text.parse()
        .ok()
        .filter(|&seconds| is_time(seconds))
        .ok_or_else(|| bad_time(location, field, quote(text)))
}

/// Checks a time in seconds.
pub(super) fn check_seconds(
    location: Location<'_>,
    field: &str,
    value: f64,
) -> Result<f64, TraceError> {
    if is_time(value) { Ok(value) } else { Err(bad_time(location, field, value.to_string())) }
}

fn is_time(seconds: f64) -> bool {
    (-MAX_TIME_S..=MAX_TIME_S).contains(&seconds)
}

fn bad_time(location: Location<'_>, field: &str, found: String) -> TraceError {
    location.bad(field, format_args!("seconds from -{MAX_TIME_S:e} to {MAX_TIME_S:e}"), found)
}

/// A transport port; 0 if unknown.
pub(super) fn port(location: Location<'_>, field: &str, text: &str) -> Result<u16, TraceError> {
    text.parse().map_err(|_| location.bad(field, "a port from 0 to 65535", quote(text)))
}

/// Names of transport protocols with IANA's numbers.
const PROTOCOLS: [(&str, u8); 9] = [
    ("icmp", 1),
    ("igmp", 2),
    ("tcp", 6),
    ("udp", 17),
    ("gre", 47),
    ("esp", 50),
    ("icmp6", 58),
    ("ipv6-icmp", 58),
    ("sctp", 132),
];

/// A transport protocol by number or name.
pub(super) fn protocol(location: Location<'_>, field: &str, text: &str) -> Result<u8, TraceError> {
    let named = PROTOCOLS.iter().find(|(name, _)| name.eq_ignore_ascii_case(text));
    named
        .map(|&(_, number)| number)
        .or_else(|| text.parse().ok())
        .ok_or_else(|| location.bad(field, "a protocol, such as tcp or its number 6", quote(text)))
}

/// Whether a protocol has ports. For others, collectors write types and codes in their place.
pub(super) fn has_ports(protocol: u8) -> bool {
    matches!(protocol, 6 | 17 | 33 | 132 | 136)
}
