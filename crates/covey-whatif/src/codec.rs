//! Other codecs of shuffles: how many bytes they would have written.

use covey_experiment::Error;
use covey_report::Range;
use covey_spark::Application;

use crate::model::Fetches;

/// The codecs of Spark, each with the bytes that it writes for each byte that `lz4` writes: the
/// least and the most over the kinds of rows of `scripts/spark/Codecs.java`. A test compares them
/// with docs/whatif.md.
const CODECS: [(&str, Range); 5] = [
    ("lz4", [1.0, 1.0]),
    ("lzf", [0.87, 1.03]),
    ("snappy", [0.80, 1.01]),
    ("zstd", [0.26, 0.87]),
    (NONE, [1.29, 3.77]),
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

/// Bytes on the wire under another codec for each byte of a log that used `used`: the least and the
/// most. Exact for no compression where the log has the raw bytes; `None` if the codec in use is
/// unknown.
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

#[cfg(test)]
mod tests {
    use super::*;

    /// The last two lines of the page's table are the least and the most, in the order of its
    /// heading.
    #[test]
    fn ranges_are_those_of_the_measurement() {
        let page = include_str!("../../../docs/whatif.md");
        let row = |name: &str| -> Vec<&str> {
            let line = page.lines().find(|line| line.starts_with(&format!("| {name} |")));
            line.expect(name).split('|').map(str::trim).collect()
        };
        let (names, least, most) = (row("rows"), row("least"), row("most"));
        for (name, [low, high]) in &CODECS[1..] {
            let column = names.iter().position(|heading| heading == name).expect("a column");
            let found = [least[column], most[column]];
            assert_eq!(found, [low, high].map(|ratio| format!("{ratio:.2}")), "{name}");
        }
    }
}
