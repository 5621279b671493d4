//! IPFIX and NetFlow records as `nfdump` prints them, in versions 1.6 and 1.7: `-o csv` and
//! `csv-fast`, the lines of `-o line`, `long`, `extended`, `biline` and `bilong`, and `-o json` and
//! `ndjson`.
//!
//! Outputs may be put together: each begins with its header and ends with its summary. With bytes
//! in both directions (`-b`) a record is one flow, in the direction that carried more. nfdump
//! prints times in the zone of its machine; here they count as UTC. Counters are deltas, as in
//! NetFlow version 9 and IPFIX.

use super::connection::Counters;
use super::draft::Draft;
use super::format::{Format, Reading};
use super::layout::{Clock, Layout, Optional, Style};
use super::nfdump_json;
use super::nfdump_lines::{self, is_line, is_summary};
use super::table::Header;
use crate::error::{Location, TraceError};
use crate::read::{First, Rest};

pub(super) const FORMAT: Format = Format {
    name: "nfdump",
    what: "nfdump -o csv, line, long or json",
    accepts: |line| is_table(line) || is_line(line) || nfdump_json::accepts(line),
    read: Reading::Lines(read),
};

/// Names of each column, in the versions 1.6 and 1.7.
const START: &[&str] = &["ts", "firstSeen", "first"];
const END: &[&str] = &["te", "lastSeen", "last"];
const DURATION: &[&str] = &["td", "duration"];
const SRC: &[&str] = &["sa", "srcAddr"];
const DST: &[&str] = &["da", "dstAddr"];
const SPORT: &[&str] = &["sp", "srcPort"];
const DPORT: &[&str] = &["dp", "dstPort"];
const PROTOCOL: &[&str] = &["pr", "proto"];
const BYTES: &[&str] = &["ibyt", "bytes", "inBytes"];
const BYTES_BACK: &[&str] = &["obyt", "outBytes"];
const FLAGS: &[&str] = &["flg", "flags"];
const EXPORTER: &[&str] = &["exid", "exporterID"];
const ROUTER: &[&str] = &["ra", "routerIP"];

fn is_table(line: &str) -> bool {
    let header = Header::new(line, ',');
    header.place(START).is_some() && header.place(SRC).is_some()
}

fn read<'a>(first: First<'a>, lines: Rest<'a>, draft: &mut Draft) -> Result<(), TraceError> {
    if nfdump_json::accepts(first.1) {
        nfdump_json::read(first, lines, draft)
    } else if first.1.contains(',') {
        read_table(first, lines, draft)
    } else {
        nfdump_lines::read(first, lines, draft)
    }
}

/// Reads `-o csv`.
fn read_table(
    (location, line): First<'_>,
    mut lines: Rest<'_>,
    draft: &mut Draft,
) -> Result<(), TraceError> {
    let mut layout = layout(location, line)?;
    let mut is_below_sums = false;
    while draft.advance(&mut lines)? {
        let (location, line) = lines.current();
        let line = line.trim_start_matches('\u{feff}');
        if std::mem::take(&mut is_below_sums)
            && line.bytes().all(|b| b"0123456789.,-\r".contains(&b))
        {
            continue;
        }
        if is_summary(line) {
            is_below_sums = line.starts_with("flows,bytes,packets");
            continue;
        }
        if line.starts_with(|c: char| c.is_ascii_alphabetic()) && is_table(line) {
            layout = self::layout(location, line)?;
            continue;
        }
        let result = layout.add(location, line, draft);
        draft.accept(result)?;
    }
    Ok(())
}

fn layout(location: Location<'_>, line: &str) -> Result<Layout, TraceError> {
    let header = Header::new(line, ',');
    let [src, dst, start] =
        [header.need(location, SRC)?, header.need(location, DST)?, header.need(location, START)?];
    let optional = Optional {
        end: header.place(END),
        duration: header.place(DURATION),
        sport: Some(header.need(location, SPORT)?),
        dport: Some(header.need(location, DPORT)?),
        protocol: Some(header.need(location, PROTOCOL)?),
        bytes: header.place(BYTES),
        bytes_back: header.place(BYTES_BACK),
        label: None,
        flags: header.place(FLAGS),
        exporter: header.place(EXPORTER).or(header.place(ROUTER)),
    };
    Ok(Layout {
        header,
        start,
        src,
        dst,
        optional,
        clock: Clock::DateOrMilliseconds,
        duration_unit: 0,
        bytes_unit: 1.0,
        counters: Counters::Delta,
        style: Style::Nfdump,
        unused: Vec::new(),
    })
}
