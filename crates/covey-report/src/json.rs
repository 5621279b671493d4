//! JSON.

use serde::{Serialize, Serializer};
use std::io::{self, Write};

/// Writes `value` (a [`Summary`](crate::Summary) or a [`Comparison`](crate::Comparison)) as one
/// indented JSON value and a line end. Numbers that are not finite become `null`.
///
/// # Errors
///
/// Those of `out`.
pub fn write_json(value: &impl Serialize, mut out: impl Write) -> io::Result<()> {
    serde_json::to_writer_pretty(&mut out, value)?;
    out.write_all(b"\n")
}

/// Key and value pairs as an object, in their order.
pub(crate) fn as_object<S: Serializer>(
    pairs: &[(String, String)],
    serializer: S,
) -> Result<S::Ok, S::Error> {
    serializer.collect_map(pairs.iter().map(|(key, value)| (key, value)))
}

/// A count that may be fractional, but seldom is: `1000` rather than `1000.0`.
pub(crate) fn whole_as_integer<S: Serializer>(
    value: &f64,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    /// From here on not every integer is an `f64`.
    const EXACT: f64 = (1_u64 << f64::MANTISSA_DIGITS) as f64;
    if value.fract() == 0.0 && (0.0..EXACT).contains(value) {
        serializer.serialize_u64(*value as u64)
    } else {
        serializer.serialize_f64(*value)
    }
}
