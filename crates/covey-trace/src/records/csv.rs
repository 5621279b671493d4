//! Records as CSV: a header, then a line for each flow.
//!
//! The columns are `start_s,src,dst,sport,dport,proto,bytes,end_s,label`, in any order. All but the
//! first three may be missing; the values of the last three may be empty. Files put together have
//! several headers.

use covey_core::suggest::{did_you_mean, nearest};

use super::connection::Counters;
use super::draft::Draft;
use super::format::{Format, Reading};
use super::layout::{Clock, Layout, Optional, Style};
use super::table::Header;
use crate::error::{Location, TraceError, quote};
use crate::read::{First, Rest};

/// All columns; the first three must be there.
pub(super) const COLUMNS: [&str; 9] =
    ["start_s", "src", "dst", "sport", "dport", "proto", "bytes", "end_s", "label"];

pub(super) const FORMAT: Format = Format {
    name: "csv",
    what: "a header start_s,src,dst,…",
    accepts: is_header,
    read: Reading::Lines(read),
};

fn is_header(line: &str) -> bool {
    line.split(',').any(|name| name.trim().eq_ignore_ascii_case("start_s"))
}

fn read(
    (location, line): First<'_>,
    mut lines: Rest<'_>,
    draft: &mut Draft,
) -> Result<(), TraceError> {
    let mut layout = layout(location, line)?;
    while draft.advance(&mut lines)? {
        let (location, line) = lines.current();
        if line.starts_with(|c: char| c.is_ascii_alphabetic() || c == '\u{feff}') && is_header(line)
        {
            layout = self::layout(location, line.trim_start_matches('\u{feff}'))?;
            continue;
        }
        let result = layout.add(location, line, draft);
        draft.accept(result)?;
    }
    Ok(())
}

fn layout(location: Location<'_>, line: &str) -> Result<Layout, TraceError> {
    layout_of(location, Header::new(line, ','))
}

/// The layout of a table with this header.
pub(super) fn layout_of(location: Location<'_>, header: Header) -> Result<Layout, TraceError> {
    let known = |name: &str| COLUMNS.iter().any(|it| it.eq_ignore_ascii_case(name));
    if let Some(name) = header.names().find(|name| !known(name)) {
        let expected = format_args!("the columns {}", COLUMNS.join(","));
        let found = format!("{}{}", quote(name), did_you_mean(nearest(name, COLUMNS)));
        return Err(location.bad("header", expected, found));
    }
    let need = |name: &str| header.need(location, &[name]);
    let [start, src, dst] = [need(COLUMNS[0])?, need(COLUMNS[1])?, need(COLUMNS[2])?];
    let optional = Optional {
        sport: header.place(&[COLUMNS[3]]),
        dport: header.place(&[COLUMNS[4]]),
        protocol: header.place(&[COLUMNS[5]]),
        bytes: header.place(&[COLUMNS[6]]),
        end: header.place(&[COLUMNS[7]]),
        label: header.place(&[COLUMNS[8]]),
        ..Optional::default()
    };
    Ok(Layout {
        header,
        start,
        src,
        dst,
        optional,
        clock: Clock::Number(0),
        duration_unit: 0,
        bytes_unit: 1.0,
        counters: Counters::Total,
        style: Style::Own,
        unused: Vec::new(),
    })
}
