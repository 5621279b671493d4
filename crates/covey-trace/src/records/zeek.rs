//! Zeek's `conn.log`, as lines with a separator below `#fields`, or as JSON lines.
//!
//! A connection is one flow, in the direction that carried more bytes; the originator's if neither did.

use serde::Deserialize;

use super::clock::date_and_time;
use super::connection::Connection;
use super::draft::Draft;
use super::fields::{check_seconds, has_ports, port, protocol, seconds};
use super::format::{First, Format};
use super::table::Header;
use crate::error::{Location, TraceError, quote};
use crate::json::parse;
use crate::limits::MAX_BYTES;
use crate::read::{Rest, number};

pub(super) const FORMAT: Format = Format {
    name: "zeek",
    what: "Zeek's conn.log",
    accepts: |line| {
        line.starts_with('#') || line.starts_with('{') && line.contains("\"id.orig_h\"")
    },
    read,
};

fn read((location, line): First<'_>, lines: Rest<'_>, draft: &mut Draft) -> Result<(), TraceError> {
    match line.starts_with('{') {
        true => read_json((location, line), lines, draft),
        false => read_text((location, line), lines, draft),
    }
}

/// The places of fields.
struct Layout {
    header: Header,
    /// ts, id.orig_h, id.resp_h, id.orig_p, id.resp_p, proto.
    needed: [usize; 6],
    /// duration, orig_bytes, resp_bytes.
    optional: [Option<usize>; 3],
}

/// Reads the form with a separator. Logs that were put together have several headers.
fn read_text(
    (location, line): First<'_>,
    mut lines: Rest<'_>,
    draft: &mut Draft,
) -> Result<(), TraceError> {
    let mut separator = '\t';
    let mut unset = "-".to_owned();
    let mut layout: Option<Layout> = None;
    let mut first = Some((location, line.to_owned()));
    loop {
        let line;
        let (location, line) = match first.take() {
            Some((location, owned)) => {
                line = owned;
                (location, line.as_str())
            }
            None => match lines.next()? {
                Some(next) => next,
                None => return Ok(()),
            },
        };
        let line = line.trim_end_matches('\r');
        if let Some(text) = line.strip_prefix("#separator") {
            separator = separator_of(location, text.trim_start_matches(' '))?;
        } else if let Some(line) = line.strip_prefix('#') {
            let (name, value) = line.split_once(separator).unwrap_or((line, ""));
            match name {
                "fields" => layout = Some(Layout::new(location, value.split(separator))?),
                "unset_field" => unset = value.to_owned(),
                _ => {}
            }
        } else {
            let Some(layout) = &layout else {
                return Err(location.bad(
                    "header",
                    "a line #fields before the first record",
                    quote(line),
                ));
            };
            layout.add(location, line, separator, &unset, draft)?;
        }
    }
}

/// The separator that a header writes as `\x09`, or as itself.
fn separator_of(location: Location<'_>, text: &str) -> Result<char, TraceError> {
    let hexadecimal = text.strip_prefix("\\x").map(|digits| u8::from_str_radix(digits, 16).ok());
    let separator = hexadecimal.unwrap_or_else(|| text.bytes().next().filter(|_| text.len() == 1));
    let separator = separator.filter(u8::is_ascii).map(char::from);
    separator.ok_or_else(|| location.bad("#separator", "a character, such as \\x09", quote(text)))
}

impl Layout {
    fn new<'a>(
        location: Location<'_>,
        names: impl Iterator<Item = &'a str>,
    ) -> Result<Layout, TraceError> {
        let header = Header::new(names);
        let mut needed = [0; 6];
        let names = ["ts", "id.orig_h", "id.resp_h", "id.orig_p", "id.resp_p", "proto"];
        for (place, name) in needed.iter_mut().zip(names) {
            *place = header.need(location, &[name])?;
        }
        let optional = ["duration", "orig_bytes", "resp_bytes"].map(|name| header.place(&[name]));
        Ok(Layout { header, needed, optional })
    }

    fn add(
        &self,
        location: Location<'_>,
        line: &str,
        separator: char,
        unset: &str,
        draft: &mut Draft,
    ) -> Result<(), TraceError> {
        let row = self.header.row(location, line, separator)?;
        let [ts, orig, resp, orig_p, resp_p, proto] = self.needed.map(|place| row.get(place));
        let [duration, sent, received] =
            self.optional.map(|place| row.get_some(place).filter(|&text| text != unset));
        let bytes = |field: &str, text: Option<&str>| {
            text.map(|text| number(location, field, "bytes", text, MAX_BYTES)).transpose()
        };
        let protocol = protocol_of(location, proto)?;
        let start_s = seconds(location, "ts", ts)?;
        let duration_s = duration.map(|text| seconds(location, "duration", text)).transpose()?;
        let connection = Connection {
            start_s,
            end_s: duration_s.map(|duration_s| start_s + duration_s),
            hosts: [
                draft.host(location, "id.orig_h", orig)?,
                draft.host(location, "id.resp_h", resp)?,
            ],
            ports: match has_ports(protocol) {
                true => {
                    [port(location, "id.orig_p", orig_p)?, port(location, "id.resp_p", resp_p)?]
                }
                false => [0; 2],
            },
            protocol,
            bytes: [bytes("orig_bytes", sent)?, bytes("resp_bytes", received)?],
        };
        connection.add(location, draft)
    }
}

/// Zeek's name of a protocol. One that Zeek does not know counts as number 0.
fn protocol_of(location: Location<'_>, text: &str) -> Result<u8, TraceError> {
    if text == "unknown_transport" { Ok(0) } else { protocol(location, "proto", text) }
}

/// A line of JSON; other fields are ignored.
#[derive(Deserialize)]
struct Line {
    ts: Stamp,
    #[serde(rename = "id.orig_h")]
    orig_h: String,
    #[serde(rename = "id.orig_p")]
    orig_p: u16,
    #[serde(rename = "id.resp_h")]
    resp_h: String,
    #[serde(rename = "id.resp_p")]
    resp_p: u16,
    proto: String,
    duration: Option<f64>,
    orig_bytes: Option<f64>,
    resp_bytes: Option<f64>,
}

/// A time in one of the two forms that Zeek writes.
#[derive(Deserialize)]
#[serde(untagged)]
enum Stamp {
    Seconds(f64),
    Text(String),
}

fn read_json(
    (location, line): First<'_>,
    mut lines: Rest<'_>,
    draft: &mut Draft,
) -> Result<(), TraceError> {
    add_json(location, line, draft)?;
    while let Some((location, line)) = lines.next()? {
        add_json(location, line, draft)?;
    }
    Ok(())
}

fn add_json(location: Location<'_>, line: &str, draft: &mut Draft) -> Result<(), TraceError> {
    let line: Line = parse(location, "record", line)?;
    let start_s = match &line.ts {
        Stamp::Seconds(seconds) => check_seconds(location, "ts", *seconds)?,
        Stamp::Text(text) => date_and_time(text)
            .ok_or_else(|| location.bad("ts", "seconds, or a time in ISO 8601", quote(text)))?,
    };
    let bytes = |field: &str, bytes: Option<f64>| match bytes {
        Some(bytes) if !(0.0..=MAX_BYTES).contains(&bytes) => {
            Err(location.bad(field, format_args!("bytes from 0 to {MAX_BYTES:e}"), bytes))
        }
        bytes => Ok(bytes),
    };
    let duration = line.duration.map(|seconds| check_seconds(location, "duration", seconds));
    let protocol = protocol_of(location, &line.proto)?;
    let connection = Connection {
        start_s,
        end_s: duration.transpose()?.map(|duration_s| start_s + duration_s),
        hosts: [
            draft.host(location, "id.orig_h", &line.orig_h)?,
            draft.host(location, "id.resp_h", &line.resp_h)?,
        ],
        ports: if has_ports(protocol) { [line.orig_p, line.resp_p] } else { [0; 2] },
        protocol,
        bytes: [bytes("orig_bytes", line.orig_bytes)?, bytes("resp_bytes", line.resp_bytes)?],
    };
    connection.add(location, draft)
}
