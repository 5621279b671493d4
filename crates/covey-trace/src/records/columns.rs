//! Tables of any program: a map says which of its columns has what.

use std::str::FromStr;

use covey_core::suggest::{did_you_mean, nearest};

use super::common_names;
use super::connection::Counters;
use super::draft::Draft;
use super::layout::{Clock, Layout, Optional, Style};
use super::table::Header;
use crate::error::{Location, TraceError, escape, quote};
use crate::read::{First, Rest};

/// Keys that name a column.
const COLUMNS: [&str; 13] = [
    "start",
    "end",
    "duration",
    "src",
    "dst",
    "sport",
    "dport",
    "proto",
    "bytes",
    "bytes_back",
    "coflow",
    "flags",
    "exporter",
];
/// The keys of columns that must be there.
const NEEDED: [&str; 3] = ["start", "src", "dst"];
/// Keys that say how values are written.
const SETTINGS: [&str; 6] =
    ["unit", "duration_unit", "bytes_unit", "counters", "separator", "header"];
/// Units of bytes.
const BYTES_UNITS: [(&str, f64); 7] = [
    ("B", 1.0),
    ("kB", 1e3),
    ("MB", 1e6),
    ("GB", 1e9),
    ("KiB", 1024.0),
    ("MiB", 1024.0 * 1024.0),
    ("GiB", 1024.0 * 1024.0 * 1024.0),
];
/// Separators that tables have.
const SEPARATORS: [(&str, char); 5] =
    [("comma", ','), ("semicolon", ';'), ("tab", '\t'), ("pipe", '|'), ("space", ' ')];

/// Which column of a table has what: `start=flowStartMilliseconds,unit=ms,src=sourceIPv4Address,…`.
///
/// The keys are `start`, `src` and `dst`, and `end` or `duration`, `sport`, `dport`, `proto`,
/// `bytes`, `bytes_back`, `coflow` (or `label`), `flags` and `exporter`; each names a column,
/// whatever its case. If one of the first three or `bytes` is not given, a column with a common
/// name stands for it. `unit` is that of `start` and `end`: `s`, `ms`, `us` or `ns`, `iso`, `dmy`
/// or `mdy` (a date with slashes, the day or the month first); without it, dates in ISO 8601 are
/// read, and numbers whose size tells the unit. `duration_unit` is `s` unless `unit` is finer.
/// `bytes_unit` is `B`, `kB`, `MB`, `GB`, `KiB`, `MiB` or `GiB`; it must be there if the name of a
/// column of bytes ends in another one than `B`. `counters` is `delta` or `total`. `separator` is
/// `comma`, `semicolon`, `tab`, `pipe` or `space`; without it, the header decides. `header` has the
/// names of the columns, between blanks, of a table without a header.
#[derive(Debug, Clone)]
pub struct Columns {
    pub(super) columns: Vec<(&'static str, String)>,
    pub(super) clock: Clock,
    pub(super) duration_unit: Option<i64>,
    /// Bytes in one of the numbers in columns of bytes.
    pub(super) bytes_unit: Option<f64>,
    pub(super) counters: Counters,
    separator: Option<char>,
    header: Option<Vec<String>>,
}

/// No column is named: all have common names.
impl Default for Columns {
    fn default() -> Columns {
        Columns {
            columns: Vec::new(),
            clock: Clock::Any,
            duration_unit: None,
            bytes_unit: None,
            counters: Counters::Delta,
            separator: None,
            header: None,
        }
    }
}

impl FromStr for Columns {
    type Err = TraceError;

    fn from_str(text: &str) -> Result<Columns, TraceError> {
        let mut columns = Columns::default();
        for pair in text.split(',') {
            let Some((key, value)) = pair.split_once('=') else {
                return Err(wrong("KEY=COLUMN between commas", quote(pair)));
            };
            columns.set(key.trim(), value.trim())?;
        }
        Ok(columns)
    }
}

/// The error for `--columns`.
fn wrong(expected: impl Into<String>, found: String) -> TraceError {
    TraceError::argument("--columns", expected, found)
}

impl Columns {
    /// Sets what a key says.
    fn set(&mut self, key: &str, value: &str) -> Result<(), TraceError> {
        let one_of = |names: &str| wrong(format!("{key}= one of {names}"), quote(value));
        let of_seconds = || {
            let units = [("s", 0), ("ms", -3), ("us", -6), ("ns", -9)];
            units.iter().find(|(name, _)| *name == value).map(|&(_, exponent)| exponent)
        };
        match key {
            "unit" => {
                self.clock = match (value, of_seconds()) {
                    (_, Some(exponent)) => Clock::Number(exponent),
                    ("iso", _) => Clock::DateOrSeconds,
                    ("dmy", _) => Clock::Slashes { is_day_first: true },
                    ("mdy", _) => Clock::Slashes { is_day_first: false },
                    _ => return Err(one_of("s, ms, us, ns, iso, dmy, mdy")),
                }
            }
            "duration_unit" => {
                self.duration_unit = Some(of_seconds().ok_or_else(|| one_of("s, ms, us, ns"))?);
            }
            "bytes_unit" => {
                let known = bytes_unit(value);
                self.bytes_unit =
                    Some(known.ok_or_else(|| one_of("B, kB, MB, GB, KiB, MiB, GiB"))?.1);
            }
            "counters" => {
                self.counters = match value {
                    "delta" => Counters::Delta,
                    "total" => Counters::Total,
                    _ => return Err(one_of("delta, total")),
                }
            }
            "separator" => {
                let known = SEPARATORS.iter().find(|(name, _)| *name == value);
                let separator = known.map(|&(_, separator)| separator);
                let separator =
                    separator.ok_or_else(|| one_of("comma, semicolon, tab, pipe, space"))?;
                self.separator = Some(separator);
            }
            "header" => {
                // Templates of AWS have names such as ${srcaddr}.
                let name = |name: &str| name.trim_matches(|c| "${}".contains(c)).to_owned();
                let names: Vec<String> = value.split_ascii_whitespace().map(name).collect();
                if names.len() < NEEDED.len() {
                    return Err(wrong(
                        "header= the names of all columns between blanks",
                        quote(value),
                    ));
                }
                self.header = Some(names);
            }
            key => {
                let known = if key == "label" { "coflow" } else { key };
                let Some(&known) = COLUMNS.iter().find(|it| **it == known) else {
                    let all = COLUMNS.iter().chain(&SETTINGS).copied();
                    let found =
                        format!("{}{}", quote(key), did_you_mean(nearest(key, all.clone())));
                    let all: Vec<&str> = all.collect();
                    return Err(wrong(format!("the keys {}", all.join(", ")), found));
                };
                if self.name(known).is_some() {
                    return Err(wrong(format!("{known}= once"), "it twice".into()));
                }
                self.columns.push((known, value.to_owned()));
            }
        }
        Ok(())
    }

    /// The name of the column that a key names.
    fn name(&self, key: &str) -> Option<&str> {
        self.columns.iter().find(|(known, _)| *known == key).map(|(_, name)| name.as_str())
    }

    /// Reads a table whose header is the first line.
    pub(super) fn read<'a>(
        &self,
        first: First<'a>,
        mut lines: Rest<'a>,
        draft: &mut Draft,
    ) -> Result<(), TraceError> {
        let (location, line) = first;
        let separator = self.separator.unwrap_or_else(|| separator_of(line));
        let header = match &self.header {
            Some(names) => Header::of_names(names.clone(), separator),
            None => Header::new(line, separator),
        };
        let layout = self.layout(location, header, draft)?;
        let header = self.header.is_none().then(|| line.to_owned());
        draft.each(first, &mut lines, |location, line, draft| {
            // Tables that were put together have several headers.
            if header.as_deref() == Some(line.trim_start_matches('\u{feff}')) {
                return Ok(());
            }
            let result = layout.add(location, line, draft);
            draft.accept(result)
        })
    }

    /// The layout of a table with this header. Says which columns it took by their common names.
    pub(super) fn layout(
        &self,
        location: Location<'_>,
        header: Header,
        draft: &mut Draft,
    ) -> Result<Layout, TraceError> {
        let mut all = self.clone();
        if self.columns.is_empty() {
            all.take_common(location, &header, &COLUMNS, draft)?;
        } else {
            // `identify` needs no bytes; a simulation does.
            let bytes = common_names::columns("bytes", header.names());
            let is_named =
                |name: &str| self.columns.iter().any(|(_, it)| it.eq_ignore_ascii_case(name));
            let has_bytes = matches!(&bytes[..], [one] if !is_named(one.name));
            let wanted = NEEDED.into_iter().chain(has_bytes.then_some("bytes"));
            let missing = wanted.filter(|key| self.name(key).is_none());
            all.take_common(location, &header, &missing.collect::<Vec<_>>(), draft)?;
        }
        all.layout_of_named(location, header)
    }

    /// Names the columns of some keys by their common names.
    fn take_common(
        &mut self,
        location: Location<'_>,
        header: &Header,
        keys: &[&'static str],
        draft: &mut Draft,
    ) -> Result<(), TraceError> {
        let mut taken = Vec::new();
        for &key in keys {
            let candidates = common_names::columns(key, header.names());
            match candidates.as_slice() {
                [] if NEEDED.contains(&key) => {
                    let columns = escape(&header.names().collect::<Vec<_>>().join(", "), 2000);
                    let expected =
                        format_args!("a column for {key} (--columns {key}=NAME says which)");
                    return Err(location.bad("header", expected, columns));
                }
                [] => {}
                [one] => {
                    if let (Some(unit), "start") = (one.unit, key) {
                        self.clock = Clock::Number(unit);
                    }
                    if let (Some(unit), "end", Clock::Number(start)) = (one.unit, key, self.clock)
                        && unit != start
                    {
                        let expected = "a column for end in the unit of start";
                        return Err(location.bad("header", expected, quote(one.name)));
                    }
                    if key == "duration" {
                        self.duration_unit = self.duration_unit.or(one.unit);
                    }
                    taken.push(format!("{key}={}", escape(one.name, 40)));
                    self.columns.push((key, one.name.to_owned()));
                }
                several => {
                    let names: Vec<String> = several.iter().map(|it| quote(it.name)).collect();
                    let expected =
                        format_args!("one column for {key} (--columns {key}=NAME says which)");
                    return Err(location.bad("header", expected, names.join(" and ")));
                }
            }
        }
        if !taken.is_empty() {
            draft.take(&format!("columns taken by their names: {}", taken.join(",")));
        }
        Ok(())
    }

    fn layout_of_named(
        &self,
        location: Location<'_>,
        header: Header,
    ) -> Result<Layout, TraceError> {
        let place = |key: &str| -> Result<Option<usize>, TraceError> {
            let Some(name) = self.name(key) else { return Ok(None) };
            match header.place(&[name]) {
                Some(place) => Ok(Some(place)),
                None => {
                    let names: Vec<&str> = header.names().collect();
                    let found =
                        format!("{}{}", quote(name), did_you_mean(nearest(name, names.clone())));
                    let columns = escape(&names.join(", "), 2000);
                    let expected = format!("one of the file's columns for {key}=: {columns}");
                    Err(location.bad("--columns", expected, found))
                }
            }
        };
        let need = |key: &str| Ok::<usize, TraceError>(place(key)?.unwrap_or(0));
        let (start, src, dst) = (need("start")?, need("src")?, need("dst")?);
        let optional = Optional {
            end: place("end")?,
            duration: place("duration")?,
            sport: place("sport")?,
            dport: place("dport")?,
            protocol: place("proto")?,
            bytes: place("bytes")?,
            bytes_back: place("bytes_back")?,
            label: place("coflow")?,
            flags: place("flags")?,
            exporter: place("exporter")?,
        };
        for key in ["bytes", "bytes_back"].into_iter().filter(|_| self.bytes_unit.is_none()) {
            let named = self.name(key).and_then(|name| Some((name, unit_in_name(name)?)));
            if let Some((name, unit)) = named {
                let expected = format_args!(
                    "bytes_unit={unit} or bytes_unit=B (--columns) with a column of this name for {key}"
                );
                return Err(location.bad("header", expected, quote(name)));
            }
        }
        let of_clock = match self.clock {
            Clock::Number(exponent) => exponent,
            _ => 0,
        };
        Ok(Layout {
            header,
            start,
            src,
            dst,
            optional,
            clock: self.clock,
            duration_unit: self.duration_unit.unwrap_or(of_clock),
            bytes_unit: self.bytes_unit.unwrap_or(1.0),
            counters: self.counters,
            style: Style::Any,
            unused: Vec::new(),
        })
    }
}

/// A unit of bytes by its name, whatever its case, and the bytes in it.
fn bytes_unit(name: &str) -> Option<(&'static str, f64)> {
    BYTES_UNITS.iter().find(|(known, _)| known.eq_ignore_ascii_case(name)).copied()
}

/// The unit, larger than a byte, that the last word of a column's name is, as in `size_kb`.
fn unit_in_name(name: &str) -> Option<&'static str> {
    let mut words = name.split(|letter: char| !letter.is_ascii_alphanumeric());
    let last = words.rfind(|word| !word.is_empty())?;
    bytes_unit(last).filter(|(_, bytes)| *bytes > 1.0).map(|(unit, _)| unit)
}

/// The separator that a line has most often; a blank only if it has no other.
pub(super) fn separator_of(line: &str) -> char {
    let count = |separator: char| line.matches(separator).count();
    let [others @ .., (_, blank)] = &SEPARATORS;
    // The first of those that are there as often.
    let most = others.iter().rev().max_by_key(|(_, separator)| count(*separator));
    most.map(|&(_, separator)| separator).filter(|it| count(*it) > 0).unwrap_or(*blank)
}
