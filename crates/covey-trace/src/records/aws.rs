//! Flow logs of AWS's VPCs: lines of values between blanks, in the default format or below a
//! header; as Parquet, too.
//!
//! A record counts the packets of a flow at an interface in a window of up to ten minutes. Both
//! interfaces of a flow record it. Records of windows without traffic, of windows that AWS skipped
//! and of rejected traffic are passed over, and counted.

use super::clock::date_and_time;
use super::columns::separator_of;
use super::connection::Counters;
use super::draft::Draft;
use super::format::{Format, Reading};
use super::layout::{Clock, Layout, Optional, Style, Unused};
use super::table::Header;
use crate::error::{Location, TraceError};
use crate::read::{First, Rest};

pub(super) const FORMAT: Format = Format {
    name: "aws",
    what: "flow logs of AWS's VPCs",
    accepts: |line| is_header(line) || is_default(without_time(line)),
    read: Reading::Lines(read),
};

/// The fields of the default format, version 2.
const DEFAULT: &str = "version account-id interface-id srcaddr dstaddr srcport dstport protocol packets bytes start \
                       end action log-status";
/// Fields beside the addresses by which the header of a custom format is known.
const OTHERS: [&str; 7] =
    ["interface-id", "log-status", "action", "account-id", "version", "pkt-srcaddr", "vpc-id"];
/// What a record is of no use for.
const UNUSED: [(&str, &str, &str); 3] = [
    ("log-status", "NODATA", "NODATA: windows without traffic"),
    (
        "log-status",
        "SKIPDATA",
        "SKIPDATA: windows that AWS did not record, whose flows are missing",
    ),
    ("action", "REJECT", "REJECT: rejected traffic"),
];

/// Whether a line names fields. Parquet has `_` in the place of `-`.
fn is_header(line: &str) -> bool {
    accepts_names(&Header::new(line, separator_of(line)))
}

/// Whether columns of these names are those of a flow log.
pub(super) fn accepts_names(header: &Header) -> bool {
    let has = |name: &str| place(header, name).is_some();
    has("srcaddr") && has("dstaddr") && OTHERS.into_iter().any(has)
}

/// The place of a field.
fn place(header: &Header, name: &str) -> Option<usize> {
    header.place(&[name, &name.replace('-', "_")])
}

/// A line without the time that CloudWatch writes before it.
fn without_time(line: &str) -> &str {
    match line.split_once(' ') {
        Some((time, rest)) if date_and_time(time).is_some() => rest,
        _ => line,
    }
}

/// Whether a line is a record of the default format.
fn is_default(line: &str) -> bool {
    let words: Vec<&str> = line.split_ascii_whitespace().collect();
    let is_number = |word: &str| word.bytes().all(|b| b.is_ascii_digit());
    words.len() == DEFAULT.split(' ').count()
        && is_number(words[0])
        && is_number(words[10])
        && matches!(words[13], "OK" | "NODATA" | "SKIPDATA")
}

fn read<'a>(first: First<'a>, mut lines: Rest<'a>, draft: &mut Draft) -> Result<(), TraceError> {
    let default = || Header::new(DEFAULT, ' ');
    let mut layout = match is_header(first.1) {
        true => None,
        false => Some(layout_of(first.0, default())?),
    };
    draft.each(first, &mut lines, |location, line, draft| {
        // Logs that were put together have several headers.
        if is_header(line) {
            layout = Some(layout_of(location, Header::new(line, separator_of(line)))?);
            return Ok(());
        }
        let Some(layout) = &layout else { return Ok(()) };
        let result = layout.add(location, without_time(line), draft);
        draft.accept(result)
    })
}

/// The layout of a log with these fields.
pub(super) fn layout_of(location: Location<'_>, header: Header) -> Result<Layout, TraceError> {
    let place = |name: &str| place(&header, name);
    let optional = Optional {
        end: place("end"),
        sport: place("srcport"),
        dport: place("dstport"),
        protocol: place("protocol"),
        bytes: place("bytes"),
        flags: place("tcp-flags"),
        exporter: place("interface-id"),
        ..Optional::default()
    };
    let unused = UNUSED
        .iter()
        .filter_map(|&(name, value, reason)| Some(Unused { place: place(name)?, value, reason }));
    let unused = unused.collect();
    let need = |name: &str| header.need(location, &[name]);
    let (start, src, dst) = (need("start")?, need("srcaddr")?, need("dstaddr")?);
    Ok(Layout {
        header,
        start,
        src,
        dst,
        optional,
        clock: Clock::Number(0),
        duration_unit: 0,
        bytes_unit: 1.0,
        counters: Counters::Delta,
        style: Style::Any,
        unused,
    })
}
