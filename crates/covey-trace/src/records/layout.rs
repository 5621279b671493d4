//! Tables of flows: which column has what, and in which unit.

use super::clock::{date_and_time, date_time_and_zone, date_with_slashes, duration};
use super::connection::{Connection, Counters, Opened};
use super::draft::Draft;
use super::fields::{bytes_in, check_time, has_ports, port, protocol};
use super::table::{Header, Row};
use crate::error::{Location, TraceError, quote};
use crate::moment::Moment;

/// How a column writes times.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Clock {
    /// A number of this power of ten of a second.
    Number(i64),
    /// A date and time of day in ISO 8601, or a number whose size tells the unit.
    Any,
    /// A date and time of day in ISO 8601, or seconds since 1970.
    DateOrSeconds,
    /// The same, or whole milliseconds since 1970.
    DateOrMilliseconds,
    /// A date `25/11/2026`, or with the month first.
    Slashes { is_day_first: bool },
}

/// The columns of a table of flows.
pub(super) struct Layout {
    pub header: Header,
    pub start: usize,
    pub src: usize,
    pub dst: usize,
    pub optional: Optional,
    pub clock: Clock,
    /// The power of ten of a second in which durations are; those with colons are as on a clock.
    pub duration_unit: i64,
    /// Bytes in one of the numbers in columns of bytes.
    pub bytes_unit: f64,
    pub counters: Counters,
    pub style: Style,
    pub unused: Vec<Unused>,
}

/// A value that makes a record one of no use.
pub(super) struct Unused {
    /// The column.
    pub place: usize,
    pub value: &'static str,
    pub reason: &'static str,
}

/// The columns that may be missing.
#[derive(Default)]
pub(super) struct Optional {
    pub end: Option<usize>,
    pub duration: Option<usize>,
    pub sport: Option<usize>,
    pub dport: Option<usize>,
    pub protocol: Option<usize>,
    pub bytes: Option<usize>,
    pub bytes_back: Option<usize>,
    pub label: Option<usize>,
    pub flags: Option<usize>,
    pub exporter: Option<usize>,
}

/// Who wrote the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Style {
    /// Covey: what is written is meant.
    Own,
    /// nfdump: types and codes stand in the place of ports, and addresses may be condensed.
    Nfdump,
    /// Any program: whole numbers may have a fraction, and unknown values may be `nan`.
    Any,
}

/// The reason to pass over a record of nfdump.
pub(super) const CONDENSED: &str = "condensed IPv6 addresses (nfdump -6 prints whole ones)";
/// The reason to pass over a record.
pub(super) const NO_ADDRESS: &str = "no addresses";

/// Whether nfdump has cut the middle of an IPv6 address.
pub(super) fn is_condensed(address: &str) -> bool {
    address.contains("..") && address.contains(':')
}

/// What is said of times without a zone.
const WITHOUT_ZONE: &str = "times without a zone count as UTC";

/// Units of time by the digits of a number since 1970: at least so many before the point, from the
/// largest number on.
const UNITS: [(usize, i64); 4] = [(18, -9), (15, -6), (12, -3), (0, 0)];

/// A time as a number, and the power of ten of its unit by its size.
fn number(text: &str) -> Option<(i64, Moment)> {
    let digits = text.trim_start_matches(['-', '+']).bytes().take_while(u8::is_ascii_digit).count();
    let &(_, unit) = UNITS.iter().find(|(least, _)| digits >= *least)?;
    Some((unit, Moment::parse_scaled(text, unit)?))
}

impl Clock {
    /// Reads a time.
    pub fn time(
        self,
        location: Location<'_>,
        field: &str,
        text: &str,
        draft: &mut Draft,
    ) -> Result<Moment, TraceError> {
        let (moment, expected) = match self {
            Clock::Any => {
                let date = date_time_and_zone(text);
                if date.is_some_and(|(_, has_zone)| !has_zone) {
                    draft.take(WITHOUT_ZONE);
                }
                let number = match date {
                    Some(_) => None,
                    None => number(text),
                };
                if let Some((unit, _)) = number {
                    draft.take_unit(location, field, unit)?;
                }
                (
                    date.map(|(moment, _)| moment).or(number.map(|(_, moment)| moment)),
                    "a time like 2026-11-25 16:02:30.250+01:00, or a number since 1970",
                )
            }
            Clock::Number(exponent) => {
                let time = Moment::parse_scaled(text, exponent);
                (time, "a number")
            }
            Clock::DateOrSeconds => (
                date_and_time(text).or_else(|| Moment::parse(text)),
                "a time like 2026-11-25 16:02:30.250, or in seconds since 1970",
            ),
            Clock::DateOrMilliseconds => {
                let is_ms = text.len() >= 12 && text.bytes().all(|b| b.is_ascii_digit());
                let number = || Moment::parse_scaled(text, if is_ms { -3 } else { 0 });
                (date_and_time(text).or_else(number), "a time like 2026-11-25 16:02:30.250")
            }
            Clock::Slashes { is_day_first } => (
                date_with_slashes(text, is_day_first),
                match is_day_first {
                    true => "a time like 25/11/2026 16:02:30 (unit=dmy)",
                    false => "a time like 11/25/2026 4:02:30 PM (unit=mdy)",
                },
            ),
        };
        match (moment, self) {
            (Some(time), _) => check_time(location, field, time),
            (None, Clock::Number(0)) => super::fields::seconds(location, field, text),
            (None, _) => Err(location.bad(field, expected, quote(text))),
        }
    }
}

impl Layout {
    /// Adds the flow of a line.
    pub fn add(
        &self,
        location: Location<'_>,
        line: &str,
        draft: &mut Draft,
    ) -> Result<(), TraceError> {
        self.add_row(&self.header.row(location, line)?, draft)
    }

    /// Adds the flow of a row.
    pub fn add_row(&self, row: &Row<'_>, draft: &mut Draft) -> Result<(), TraceError> {
        let location = row.location;
        let is_unused = |unused: &&Unused| row.get(unused.place).eq_ignore_ascii_case(unused.value);
        if let Some(unused) = self.unused.iter().find(is_unused) {
            return draft.pass_over(location, unused.reason);
        }
        let hosts = [self.src, self.dst].map(|place| row.get(place));
        if self.style == Style::Nfdump && hosts.iter().any(|host| is_condensed(host)) {
            return draft.pass_over(location, CONDENSED);
        }
        if self.style == Style::Any && hosts.iter().any(|host| host.is_empty() || *host == "-") {
            return draft.pass_over(location, NO_ADDRESS);
        }
        let optional = &self.optional;
        let start =
            self.clock.time(location, self.header.name(self.start), row.get(self.start), draft)?;
        let protocol = match self.value(row, optional.protocol) {
            Some((name, text)) => Some(protocol(location, name, whole(self.style, text))?),
            None => None,
        };
        let [src, dst] =
            [self.src, self.dst].map(|place| (self.header.name(place), row.get(place)));
        let hosts = [draft.host(location, src.0, src.1)?, draft.host(location, dst.0, dst.1)?];
        let is_port = self.style == Style::Own || protocol.is_none_or(has_ports);
        let port_of = |place: Option<usize>| match place.filter(|_| is_port) {
            Some(place) if self.style == Style::Own || !row.get(place).is_empty() => {
                port(location, self.header.name(place), whole(self.style, row.get(place)))
            }
            _ => Ok(0),
        };
        let bytes_of = |place: Option<usize>| {
            let value = self.value(row, place);
            value.map(|(name, text)| bytes_in(self.bytes_unit, location, name, text)).transpose()
        };
        let connection = Connection {
            end: self.end(row, start, draft)?,
            ports: [port_of(optional.sport)?, port_of(optional.dport)?],
            bytes: [bytes_of(optional.bytes)?, bytes_of(optional.bytes_back)?],
            label: draft.label(location, row.get_some(optional.label).unwrap_or_default())?,
            exporter: row.get_some(optional.exporter).map_or(0, |text| draft.exporter(text)),
            opened: row.get_some(optional.flags).map_or(Opened::Unknown, Opened::by_flags),
            counters: self.counters,
            ..Connection::new(start, protocol.unwrap_or(0), hosts)
        };
        draft.push(location, connection)
    }

    fn end(
        &self,
        row: &Row<'_>,
        start: Moment,
        draft: &mut Draft,
    ) -> Result<Option<Moment>, TraceError> {
        let location = row.location;
        if let Some((name, text)) = self.value(row, self.optional.end) {
            return self.clock.time(location, name, text, draft).map(Some);
        }
        let Some((name, text)) = self.value(row, self.optional.duration) else { return Ok(None) };
        let number = || Moment::parse_scaled(text, self.duration_unit);
        let lasted = if text.contains(':') { duration(text) } else { number() };
        // Some programs write -1 for a flow of one packet.
        let lasted = lasted.map(|it| it.max(Moment::ZERO)).filter(Moment::is_time);
        let expected = "a duration as a number, or as 00:01:02.5";
        let lasted = lasted.ok_or_else(|| location.bad(name, expected, quote(text)))?;
        Ok(start.plus(lasted))
    }

    /// The name and value of a column, where it is there and known.
    fn value<'a>(&'a self, row: &'a Row<'_>, place: Option<usize>) -> Option<(&'a str, &'a str)> {
        let is_unknown = |text: &str| {
            self.style == Style::Any
                && ["nan", "null", "none", "-", "inf", "infinity"]
                    .iter()
                    .any(|it| it.eq_ignore_ascii_case(text))
        };
        let text = row.get_some(place).filter(|text| !is_unknown(text))?;
        Some((self.header.name(place?), text))
    }
}

/// A whole number without the fraction that programs give it which know only numbers with
/// fractions.
fn whole(style: Style, text: &str) -> &str {
    match text.split_once('.') {
        Some((whole, fraction)) if style == Style::Any && fraction.bytes().all(|b| b == b'0') => {
            whole
        }
        _ => text,
    }
}
