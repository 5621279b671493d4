//! nfdump's JSON: an array of objects over many lines, or an object a line (`ndjson`). Arrays may
//! be put together.
//!
//! Objects are read one by one, so that memory does not grow with their number. They hold no other
//! objects.

use serde::Deserialize;

use super::clock::date_and_time;
use super::connection::{Connection, Counters, Opened};
use super::draft::Draft;
use super::fields::{bytes, check_time, has_ports, port, protocol};
use super::layout::{CONDENSED, NO_ADDRESS, is_condensed};
use super::scalar::Scalar;
use crate::error::{Location, TraceError, quote};
use crate::json::parse;
use crate::moment::Moment;
use crate::read::{First, Rest};

/// Most bytes of an object.
const MAX_OBJECT_BYTES: usize = 1 << 20;
const OBJECT: &str = "an object of nfdump -o json";
const EVENT: &str = "events, which are no flows";

/// Whether a first line begins such a file.
pub(super) fn accepts(line: &str) -> bool {
    let line = line.trim();
    let has_field = || {
        ["\"in_bytes\"", "\"t_first\"", "\"export_sysid\"", "\"src4_addr\"", "\"src6_addr\""]
            .iter()
            .any(|field| line.contains(field))
    };
    match line.strip_prefix('[') {
        Some(rest) => matches!(rest.trim_start().chars().next(), None | Some('{' | ']')),
        None => line == "{" || line.starts_with('{') && has_field(),
    }
}

/// An object, in the spellings of versions 1.6 and 1.7. Other fields are ignored.
#[derive(Deserialize)]
struct Line<'a> {
    #[serde(borrow, rename = "type")]
    kind: Option<Scalar<'a>>,
    #[serde(borrow, alias = "t_first")]
    first: Option<Scalar<'a>>,
    #[serde(borrow, alias = "t_last")]
    last: Option<Scalar<'a>>,
    #[serde(borrow)]
    proto: Option<Scalar<'a>>,
    #[serde(borrow, alias = "src6_addr")]
    src4_addr: Option<Scalar<'a>>,
    #[serde(borrow, alias = "dst6_addr")]
    dst4_addr: Option<Scalar<'a>>,
    #[serde(borrow)]
    src_port: Option<Scalar<'a>>,
    #[serde(borrow)]
    dst_port: Option<Scalar<'a>>,
    #[serde(borrow)]
    in_bytes: Option<Scalar<'a>>,
    #[serde(borrow)]
    out_bytes: Option<Scalar<'a>>,
    #[serde(borrow)]
    tcp_flags: Option<Scalar<'a>>,
    #[serde(borrow)]
    export_sysid: Option<Scalar<'a>>,
}

/// The object that is being read.
#[derive(Default)]
struct Objects {
    text: String,
    /// The line on which it begins.
    line: u64,
    is_open: bool,
    is_in_string: bool,
    is_escaped: bool,
    /// An object was broken: all is passed over up to the next one.
    is_lost: bool,
}

pub(super) fn read<'a>(
    first: First<'a>,
    mut lines: Rest<'a>,
    draft: &mut Draft,
) -> Result<(), TraceError> {
    let mut objects = Objects::default();
    draft.each(first, &mut lines, |location, line, draft| objects.line(location, line, draft))?;
    match objects.is_open {
        true => draft.accept(Err(lines.location().bad(
            "record",
            "the end of the object",
            "the end of the file",
        ))),
        false => Ok(()),
    }
}

impl Objects {
    /// Takes a line, and adds the objects that end on it.
    fn line(
        &mut self,
        location: Location<'_>,
        line: &str,
        draft: &mut Draft,
    ) -> Result<(), TraceError> {
        for (place, c) in line.char_indices() {
            if !self.is_open {
                self.between(location, &line[place..], c, draft)?;
                continue;
            }
            self.text.push(c);
            if self.is_in_string {
                match c {
                    _ if self.is_escaped => self.is_escaped = false,
                    '\\' => self.is_escaped = true,
                    '"' => self.is_in_string = false,
                    _ => {}
                }
                continue;
            }
            match c {
                '"' => self.is_in_string = true,
                '}' => self.end(location, draft)?,
                '{' => {
                    self.broken(location, &line[place..], draft)?;
                    self.begin(location);
                }
                _ => {}
            }
        }
        if self.is_open && (self.is_in_string || self.text.len() > MAX_OBJECT_BYTES) {
            self.broken(location, line, draft)?;
        }
        Ok(())
    }

    /// Takes a character between objects.
    fn between(
        &mut self,
        location: Location<'_>,
        rest: &str,
        c: char,
        draft: &mut Draft,
    ) -> Result<(), TraceError> {
        match c {
            '{' => self.begin(location),
            '[' | ']' | ',' | ' ' | '\t' | '\r' | '\u{feff}' => {}
            _ if self.is_lost => {}
            _ => self.broken(location, rest, draft)?,
        }
        Ok(())
    }

    fn begin(&mut self, location: Location<'_>) {
        *self = Objects {
            text: "{".to_owned(),
            line: location.line,
            is_open: true,
            ..Objects::default()
        };
    }

    fn broken(
        &mut self,
        location: Location<'_>,
        rest: &str,
        draft: &mut Draft,
    ) -> Result<(), TraceError> {
        *self = Objects { is_lost: true, ..Objects::default() };
        draft.accept(Err(location.bad("record", OBJECT, quote(rest))))
    }

    fn end(&mut self, location: Location<'_>, draft: &mut Draft) -> Result<(), TraceError> {
        let object = std::mem::take(self);
        let result = add(Location { line: object.line, ..location }, &object.text, draft);
        draft.accept(result)
    }
}

fn add(location: Location<'_>, object: &str, draft: &mut Draft) -> Result<(), TraceError> {
    let line: Line<'_> = parse(location, "record", object)?;
    if line.kind.is_some_and(|kind| !kind.0.eq_ignore_ascii_case("FLOW")) {
        return draft.pass_over(location, EVENT);
    }
    let (Some(src), Some(dst)) = (&line.src4_addr, &line.dst4_addr) else {
        return draft.pass_over(location, NO_ADDRESS);
    };
    if is_condensed(&src.0) || is_condensed(&dst.0) {
        return draft.pass_over(location, CONDENSED);
    }
    let time = |field: &str, text: &Scalar<'_>| -> Result<Moment, TraceError> {
        let time = date_and_time(&text.0).or_else(|| Moment::parse(&text.0));
        let expected = "a time like 2026-11-25T16:02:30.250";
        let time = time.ok_or_else(|| location.bad(field, expected, quote(&text.0)))?;
        check_time(location, field, time)
    };
    let Some(first) = &line.first else {
        return Err(location.bad("first", "the time of the first packet", "none"));
    };
    let start = time("first", first)?;
    let protocol = match &line.proto {
        Some(text) => protocol(location, "proto", &text.0)?,
        None => 0,
    };
    let port_of = |field: &str, text: &Option<Scalar<'_>>| match text {
        Some(text) if has_ports(protocol) => port(location, field, &text.0),
        _ => Ok(0),
    };
    let bytes_of = |field: &str, text: &Option<Scalar<'_>>| {
        text.as_ref().map(|text| bytes(location, field, &text.0)).transpose()
    };
    let hosts =
        [draft.host(location, "src_addr", &src.0)?, draft.host(location, "dst_addr", &dst.0)?];
    let connection = Connection {
        end: line.last.as_ref().map(|last| time("last", last)).transpose()?,
        ports: [port_of("src_port", &line.src_port)?, port_of("dst_port", &line.dst_port)?],
        bytes: [bytes_of("in_bytes", &line.in_bytes)?, bytes_of("out_bytes", &line.out_bytes)?],
        exporter: line.export_sysid.map_or(0, |text| draft.exporter(&text.0)),
        opened: line.tcp_flags.map_or(Opened::Unknown, |flags| Opened::by_flags(&flags.0)),
        counters: Counters::Delta,
        ..Connection::new(start, protocol, hosts)
    };
    draft.push(location, connection)
}
