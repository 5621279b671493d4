//! Tables of any program: a map says which of its columns has what.

use std::str::FromStr;

use covey_core::suggest::{did_you_mean, nearest};

use super::connection::Counters;
use super::draft::Draft;
use super::layout::{Clock, Layout, Optional, Style};
use super::table::Header;
use crate::error::{Location, TraceError, quote};
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
    "label",
    "flags",
    "exporter",
];
/// Keys that say how values are written.
const SETTINGS: [&str; 4] = ["unit", "duration_unit", "counters", "separator"];
/// Separators that tables have.
const SEPARATORS: [(&str, char); 4] =
    [("comma", ','), ("semicolon", ';'), ("tab", '\t'), ("pipe", '|')];

/// Which column of a table has what: `start=flowStartMilliseconds,unit=ms,src=sourceIPv4Address,…`.
///
/// The keys are `start`, `src` and `dst`, which must be there, and `end` or `duration`, `sport`, `dport`, `proto`,
/// `bytes`, `bytes_back`, `label`, `flags` and `exporter`; each names a column, whatever its case. `unit` is that of
/// `start` and `end`: `s`, `ms`, `us` or `ns`, `iso`, `dmy` or `mdy` (a date with slashes, the day or the month
/// first); without it, dates in ISO 8601 and seconds are read. `duration_unit` is `s` unless `unit` is a finer one.
/// `counters` is `delta` or `total`. `separator` is `comma`, `semicolon`, `tab` or `pipe`; without it, the header
/// decides.
#[derive(Debug, Clone)]
pub struct Columns {
    columns: Vec<(&'static str, String)>,
    clock: Clock,
    duration_unit: i64,
    counters: Counters,
    separator: Option<char>,
}

impl FromStr for Columns {
    type Err = TraceError;

    fn from_str(text: &str) -> Result<Columns, TraceError> {
        let error = |expected: String, found: String| TraceError::Argument {
            argument: "--columns".to_owned(),
            expected,
            found,
        };
        let mut columns = Columns {
            columns: Vec::new(),
            clock: Clock::DateOrSeconds,
            duration_unit: 0,
            counters: Counters::Delta,
            separator: None,
        };
        let mut duration_unit = None;
        for pair in text.split(',') {
            let Some((key, value)) = pair.split_once('=').map(|(a, b)| (a.trim(), b.trim())) else {
                return Err(error("KEY=COLUMN between commas".into(), quote(pair)));
            };
            let one_of = |names: &str| error(format!("{key}= one of {names}"), quote(value));
            let of_seconds = || {
                let units = [("s", 0), ("ms", -3), ("us", -6), ("ns", -9)];
                units.iter().find(|(name, _)| *name == value).map(|&(_, exponent)| exponent)
            };
            match key {
                "unit" => {
                    columns.clock = match (value, of_seconds()) {
                        (_, Some(exponent)) => Clock::Number(exponent),
                        ("iso", _) => Clock::DateOrSeconds,
                        ("dmy", _) => Clock::Slashes { is_day_first: true },
                        ("mdy", _) => Clock::Slashes { is_day_first: false },
                        _ => return Err(one_of("s, ms, us, ns, iso, dmy, mdy")),
                    }
                }
                "duration_unit" => {
                    let unit = of_seconds().ok_or_else(|| one_of("s, ms, us, ns"))?;
                    duration_unit = Some(unit);
                }
                "counters" => {
                    columns.counters = match value {
                        "delta" => Counters::Delta,
                        "total" => Counters::Total,
                        _ => return Err(one_of("delta, total")),
                    }
                }
                "separator" => {
                    let known = SEPARATORS.iter().find(|(name, _)| *name == value);
                    let separator = known.map(|&(_, separator)| separator);
                    columns.separator =
                        Some(separator.ok_or_else(|| one_of("comma, semicolon, tab, pipe"))?);
                }
                key => {
                    let Some(&known) = COLUMNS.iter().find(|known| **known == key) else {
                        let all = COLUMNS.iter().chain(&SETTINGS).copied();
                        let found =
                            format!("{}{}", quote(key), did_you_mean(nearest(key, all.clone())));
                        let all: Vec<&str> = all.collect();
                        return Err(error(format!("the keys {}", all.join(", ")), found));
                    };
                    if columns.name(known).is_some() {
                        return Err(error(format!("{known}= once"), "it twice".into()));
                    }
                    columns.columns.push((known, value.to_owned()));
                }
            }
        }
        for key in ["start", "src", "dst"] {
            if columns.name(key).is_none() {
                return Err(error(format!("{key}= with the name of a column"), "none".into()));
            }
        }
        let of_clock = match columns.clock {
            Clock::Number(exponent) => exponent,
            _ => 0,
        };
        columns.duration_unit = duration_unit.unwrap_or(of_clock);
        Ok(columns)
    }
}

impl Columns {
    /// The name of the column that a key names.
    fn name(&self, key: &str) -> Option<&str> {
        self.columns.iter().find(|(known, _)| *known == key).map(|(_, name)| name.as_str())
    }

    /// Reads a table whose header is the first line.
    pub(super) fn read(
        &self,
        (location, line): First<'_>,
        mut lines: Rest<'_>,
        draft: &mut Draft,
    ) -> Result<(), TraceError> {
        let layout = self.layout(location, line)?;
        let first = line.to_owned();
        while draft.advance(&mut lines)? {
            let (location, line) = lines.current();
            // Tables that were put together have several headers.
            if line.trim_start_matches('\u{feff}') == first {
                continue;
            }
            let result = layout.add(location, line, draft);
            draft.accept(result)?;
        }
        Ok(())
    }

    fn layout(&self, location: Location<'_>, line: &str) -> Result<Layout, TraceError> {
        let count = |separator: char| line.matches(separator).count();
        // The first of those that are there as often.
        let by_header = SEPARATORS.iter().rev().max_by_key(|(_, separator)| count(*separator));
        let separator =
            self.separator.or(by_header.map(|&(_, separator)| separator)).unwrap_or(',');
        let header = Header::new(line, separator);
        let place = |key: &str| -> Result<Option<usize>, TraceError> {
            let Some(name) = self.name(key) else { return Ok(None) };
            match header.place(&[name]) {
                Some(place) => Ok(Some(place)),
                None => {
                    let names: Vec<&str> = header.names().collect();
                    let found =
                        format!("{}{}", quote(name), did_you_mean(nearest(name, names.clone())));
                    let columns = crate::error::escape(&names.join(", "), 2000);
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
            label: place("label")?,
            flags: place("flags")?,
            exporter: place("exporter")?,
        };
        Ok(Layout {
            header,
            start,
            src,
            dst,
            optional,
            clock: self.clock,
            duration_unit: self.duration_unit,
            counters: self.counters,
            style: Style::Any,
        })
    }
}
