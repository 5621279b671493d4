//! Writes reports as JSON.

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Map, Value};
use std::io::{self, Write};

/// Writes `value`, such as a [`Summary`](crate::Summary) or a [`Comparison`](crate::Comparison), as
/// one indented JSON value with a final newline. Numbers that are not finite become `null`.
///
/// # Errors
///
/// The errors of writing to `out`.
pub fn write_json(value: &impl Serialize, mut out: impl Write) -> io::Result<()> {
    serde_json::to_writer_pretty(&mut out, value)?;
    out.write_all(b"\n")
}

/// Serializes pairs of key and value as an object, in their order.
pub(crate) fn as_object<S: Serializer>(
    pairs: &[(String, String)],
    serializer: S,
) -> Result<S::Ok, S::Error> {
    serializer.collect_map(pairs.iter().map(|(key, value)| (key, value)))
}

/// Reads the pairs that [`as_object`] has written.
pub(crate) fn pairs<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Vec<(String, String)>, D::Error> {
    let text = |(key, value)| match value {
        Value::String(text) => Ok((key, text)),
        other => Err(D::Error::custom(format!("{key}: expected a text, found {other}"))),
    };
    Map::deserialize(deserializer)?.into_iter().map(text).collect()
}

/// Reads a number that JSON has no form for, such as the mean of nothing, as NaN.
pub(crate) fn or_nan<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
    Ok(Option::deserialize(deserializer)?.unwrap_or(f64::NAN))
}

/// Reads an end that nothing bounds.
pub(crate) fn or_infinite<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
    Ok(Option::deserialize(deserializer)?.unwrap_or(f64::INFINITY))
}

/// Serializes a number without a fraction as an integer: `1000` rather than `1000.0`.
pub(crate) fn whole_as_integer<S: Serializer>(
    value: &f64,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    /// From this value on, `f64` does not represent every integer.
    const EXACT: f64 = (1_u64 << f64::MANTISSA_DIGITS) as f64;
    if value.fract() == 0.0 && (0.0..EXACT).contains(value) {
        serializer.serialize_u64(*value as u64)
    } else {
        serializer.serialize_f64(*value)
    }
}
