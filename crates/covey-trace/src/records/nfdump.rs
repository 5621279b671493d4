//! IPFIX and NetFlow records as `nfdump` prints them: `-o csv` of all versions, `-o line` and `-o long`.
//!
//! With bytes in both directions (`-b`) a record is one flow, in the direction that carried more. nfdump
//! prints times in the zone of its machine; here they count as UTC.

use super::clock::date_and_time;
use super::connection::Connection;
use super::draft::Draft;
use super::fields::{check_seconds, has_ports, port, protocol};
use super::format::{First, Format};
use super::table::{Header, Row};
use crate::error::{Location, TraceError, quote};
use crate::limits::MAX_BYTES;
use crate::read::{Rest, number};

pub(super) const FORMAT: Format = Format {
    name: "nfdump",
    what: "nfdump -o csv, line or long",
    accepts: |line| is_table(line) || line.starts_with("Date f"),
    read,
};

/// Names of each column, in the versions 1.6 and 1.7.
const START: &[&str] = &["ts", "firstSeen", "first"];
const END: &[&str] = &["te", "lastSeen", "last"];
const DURATION: &[&str] = &["td", "duration"];
const ENDS: [&[&str]; 4] =
    [&["sa", "srcAddr"], &["da", "dstAddr"], &["sp", "srcPort"], &["dp", "dstPort"]];
const PROTOCOL: &[&str] = &["pr", "proto"];
const BYTES: &[&str] = &["ibyt", "bytes", "inBytes"];
const BYTES_BACK: &[&str] = &["obyt", "outBytes"];

fn is_table(line: &str) -> bool {
    let header = Header::new(line.split(','));
    header.place(START).is_some() && header.place(ENDS[0]).is_some()
}

fn read(first: First<'_>, lines: Rest<'_>, draft: &mut Draft) -> Result<(), TraceError> {
    if first.1.contains(',') {
        read_table(first, lines, draft)
    } else {
        read_lines(first, lines, draft)
    }
}

/// A time as text, or in seconds since 1970.
fn time(location: Location<'_>, field: &str, text: &str) -> Result<f64, TraceError> {
    let time = date_and_time(text).or_else(|| text.parse().ok());
    let Some(time) = time else {
        return Err(location.bad(field, "a time like 2026-11-25 16:02:30.250", quote(text)));
    };
    check_seconds(location, field, time)
}

/// Seconds as a number, or as `00:01:02.5`.
fn duration(location: Location<'_>, field: &str, text: &str) -> Result<f64, TraceError> {
    let mut parts =
        text.split(':').map(|part| part.parse::<f64>().ok().filter(|part| *part >= 0.0));
    let total = parts.try_fold(0.0, |total, part| Some(total * 60.0 + part?));
    total.ok_or_else(|| location.bad(field, "a duration in seconds, or as 00:01:02.5", quote(text)))
}

/// The places of the columns of `-o csv`.
struct Layout {
    start: usize,
    end: Option<usize>,
    duration: Option<usize>,
    ends: [usize; 4],
    protocol: usize,
    bytes: [Option<usize>; 2],
}

/// Reads `-o csv`, up to the summary.
fn read_table(
    (location, line): First<'_>,
    mut lines: Rest<'_>,
    draft: &mut Draft,
) -> Result<(), TraceError> {
    let header = Header::new(line.split(','));
    let mut ends = [0; 4];
    for (place, names) in ends.iter_mut().zip(ENDS) {
        *place = header.need(location, names)?;
    }
    let layout = Layout {
        start: header.need(location, START)?,
        end: header.place(END),
        duration: header.place(DURATION),
        ends,
        protocol: header.need(location, PROTOCOL)?,
        bytes: [header.place(BYTES), header.place(BYTES_BACK)],
    };
    while let Some((location, line)) = lines.next()? {
        if line.starts_with("Summary") || line.starts_with("No matched flows") {
            return Ok(());
        }
        layout.add(&header.row(location, line, ',')?, draft)?;
    }
    Ok(())
}

impl Layout {
    fn add(&self, row: &Row<'_>, draft: &mut Draft) -> Result<(), TraceError> {
        let location = row.location;
        let start_s = time(location, "first seen", row.get(self.start))?;
        let end_s = match (row.get_some(self.end), row.get_some(self.duration)) {
            (Some(text), _) => Some(time(location, "last seen", text)?),
            (None, Some(text)) => Some(start_s + duration(location, "duration", text)?),
            (None, None) => None,
        };
        let protocol = protocol(location, "protocol", row.get(self.protocol))?;
        let [src, dst, sport, dport] = self.ends.map(|place| row.get(place));
        let ports = match has_ports(protocol) {
            true => {
                [port(location, "source port", sport)?, port(location, "destination port", dport)?]
            }
            false => [0; 2],
        };
        let bytes = self.bytes.map(|place| row.get_some(place));
        let [bytes, back] = bytes.map(|text| {
            text.map(|text| number(location, "bytes", "bytes", text, MAX_BYTES)).transpose()
        });
        let record = Connection {
            start_s,
            end_s,
            protocol,
            hosts: [
                draft.host(location, "source address", src)?,
                draft.host(location, "destination address", dst)?,
            ],
            ports,
            bytes: [bytes?, back?],
        };
        record.add(location, draft)
    }
}

/// Reads `-o line` and `-o long`, up to the summary.
fn read_lines(
    (location, header): First<'_>,
    mut lines: Rest<'_>,
    draft: &mut Draft,
) -> Result<(), TraceError> {
    if !header.contains("Duration") || !header.trim_end().ends_with("Packets    Bytes Flows") {
        let expected = "the header of nfdump -o line or -o long, or one with commas";
        return Err(location.bad("header", expected, quote(header)));
    }
    while let Some((location, line)) = lines.next()? {
        if line.starts_with("Summary") || line.starts_with("No matched flows") {
            return Ok(());
        }
        add_line(location, line, draft)?;
    }
    Ok(())
}

/// Adds `DATE TIME DURATION PROTOCOL SOURCE -> DESTINATION … PACKETS BYTES FLOWS`.
fn add_line(location: Location<'_>, line: &str, draft: &mut Draft) -> Result<(), TraceError> {
    let words: Vec<&str> = line.split_ascii_whitespace().collect();
    let (head, tail) = match words.iter().position(|word| *word == "->") {
        Some(5) => words.split_at(6),
        _ => {
            let expected = "DATE TIME DURATION PROTOCOL SOURCE -> DESTINATION";
            return Err(location.bad("record", expected, quote(line)));
        }
    };
    let (Some(dst), Some(bytes)) = (tail.first(), bytes_before_flows(&tail[1.min(tail.len())..]))
    else {
        return Err(location.bad(
            "bytes",
            "PACKETS BYTES FLOWS at the end of the line",
            quote(line),
        ));
    };
    let start_s = time(location, "first seen", &format!("{} {}", head[0], head[1]))?;
    let protocol = protocol(location, "protocol", head[3])?;
    let [(src, sport), (dst, dport)] = [host_and_port(head[4]), host_and_port(dst)];
    let record = Connection {
        start_s,
        end_s: Some(start_s + duration(location, "duration", head[2])?),
        protocol,
        hosts: [
            draft.host(location, "source address", src)?,
            draft.host(location, "destination address", dst)?,
        ],
        ports: match has_ports(protocol) {
            true => {
                [port(location, "source port", sport)?, port(location, "destination port", dport)?]
            }
            false => [0; 2],
        },
        bytes: [Some(bytes), None],
    };
    record.add(location, draft)
}

/// The bytes in the words after the destination. Large numbers are two words, such as `2.7 M`.
fn bytes_before_flows(words: &[&str]) -> Option<f64> {
    let (_flows, words) = words.split_last()?;
    let (last, words) = words.split_last()?;
    let unit = match *last {
        "K" => 1e3,
        "M" => 1e6,
        "G" => 1e9,
        "T" => 1e12,
        _ => 1.0,
    };
    let number = if unit == 1.0 { last } else { words.last()? };
    let bytes = number.parse::<f64>().ok()? * unit;
    let has_packets = words.len() > usize::from(unit > 1.0);
    (has_packets && (0.0..=MAX_BYTES).contains(&bytes)).then_some(bytes)
}

/// Splits `10.0.0.1:80` and `2001:db8::1.80`; without a port there is an empty one.
fn host_and_port(text: &str) -> (&str, &str) {
    let is_v6 = text.matches(':').count() > 1;
    let split = if is_v6 { text.split_once('.') } else { text.rsplit_once(':') };
    split.unwrap_or((text, ""))
}
