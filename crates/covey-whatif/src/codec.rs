//! Other codecs of shuffles: how many bytes they would have written.

use covey_experiment::Error;
use covey_report::Range;
use covey_spark::Application;

use crate::model::Fetches;

/// The codecs of Spark, each with the bytes that it writes for each byte that `lz4` writes: the least and the most of
/// the published ratios (Swallow, Table II) and of shuffles of queries on Spark.
const CODECS: [(&str, Range); 5] = [
    ("lz4", [1.0, 1.0]),
    ("lzf", [0.77, 1.0]),
    ("snappy", [0.78, 1.05]),
    ("zstd", [0.33, 0.70]),
    (NONE, [1.6, 4.0]),
];
/// The name of no compression.
const NONE: &str = "none";
/// The name of the codec that the log's shuffles used, in tables.
pub const LOGGED: &str = "logged";
/// Spark's default.
const DEFAULT: &str = "lz4";

/// The codec of an application's shuffles.
pub(crate) fn in_use(it: &Application) -> &str {
    let property = |name: &str| it.properties.get(name).map(String::as_str);
    if property("spark.shuffle.compress") == Some("false") {
        return NONE;
    }
    let name = property("spark.io.compression.codec").unwrap_or(DEFAULT);
    // The name of a class counts, too.
    let known = |(known, _): &&(&'static str, Range)| name.to_ascii_lowercase().contains(known);
    CODECS.iter().find(known).map_or(name, |(known, _)| known)
}

/// The names of a list.
///
/// # Errors
/// A name is unknown.
pub fn codecs(list: &str) -> Result<Vec<String>, Error> {
    let names = list
        .split(',')
        .map(|name| name.trim().to_ascii_lowercase())
        .filter(|name| !name.is_empty());
    names
        .map(|name| match CODECS.iter().any(|(known, _)| *known == name) {
            true => Ok(name),
            false => {
                let known: Vec<&str> = CODECS.iter().map(|(known, _)| *known).collect();
                let expected = format!("some of {}", known.join(", "));
                Err(Error::argument("codecs", expected, format!("'{name}'")))
            }
        })
        .collect()
}

/// Bytes on the wire under another codec for each byte of a log that used `used`: the least and the most. Exact for no
/// compression where the log has the raw bytes; `None` if the codec in use is unknown.
pub(crate) fn factors(used: &str, to: &str, coflow: &Fetches) -> Option<Range> {
    if to == LOGGED || to == used {
        return Some([1.0, 1.0]);
    }
    if let (NONE, Some(raw)) = (to, coflow.raw_ratio) {
        return Some([raw, raw]);
    }
    let of = |name: &str| CODECS.iter().find(|(known, _)| *known == name).map(|(_, range)| *range);
    let (from, to) = (of(used)?, of(to)?);
    Some([to[0] / from[1], to[1] / from[0]])
}
