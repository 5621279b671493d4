//! Zeek's `conn.log`, as lines with a separator below `#fields`, or as JSON lines.
//!
//! A connection is one flow, in the direction that carried more bytes; the originator's if neither
//! did. Zeek computes bytes from sequence numbers, which may jump: bytes above those of the packets
//! (`*_ip_bytes`) are impossible.

use super::connection::Connection;
use super::draft::Draft;
use super::fields::{bytes, has_ports, port, seconds};
use super::format::{Format, Reading};
use super::table::Header;
use super::zeek_counted::{Counted, OTHER_LOG, add, protocol_of};
use super::zeek_json;
use crate::error::{Location, TraceError, quote};
use crate::read::{First, Rest};

pub(super) const FORMAT: Format = Format {
    name: "zeek",
    what: "Zeek's conn.log",
    accepts: |line| {
        line.strip_prefix('#')
            .is_some_and(|name| name.starts_with(|c: char| c.is_ascii_lowercase()))
            || zeek_json::accepts(line)
    },
    read: Reading::Lines(read),
};

fn read<'a>(
    (location, line): First<'a>,
    lines: Rest<'a>,
    draft: &mut Draft,
) -> Result<(), TraceError> {
    match line.starts_with('{') {
        true => zeek_json::read((location, line), lines, draft),
        false => read_text((location, line), lines, draft),
    }
}

/// The places of fields.
struct Layout {
    header: Header,
    /// ts, id.orig_h, id.resp_h, id.orig_p, id.resp_p, proto.
    needed: [usize; 6],
    duration: Option<usize>,
    /// Bytes by sequence numbers and by packets, of the originator and the responder.
    bytes: [Option<usize>; 2],
    ip_bytes: [Option<usize>; 2],
    missed: Option<usize>,
}

/// What the lines above the records say.
struct Above {
    separator: char,
    unset: String,
    /// Whether the log is one of connections; unknown without `#path`.
    is_of_connections: bool,
    layout: Option<Layout>,
}

/// Reads the form with a separator. Logs that were put together have several headers.
fn read_text<'a>(
    first: First<'a>,
    mut lines: Rest<'a>,
    draft: &mut Draft,
) -> Result<(), TraceError> {
    let mut above = Above::new('\t');
    draft.each(first, &mut lines, |location, line, draft| above.line(location, line, draft))
}

impl Above {
    fn new(separator: char) -> Above {
        Above { separator, unset: "-".to_owned(), is_of_connections: true, layout: None }
    }

    fn line(
        &mut self,
        location: Location<'_>,
        line: &str,
        draft: &mut Draft,
    ) -> Result<(), TraceError> {
        let line = line.trim_start_matches('\u{feff}').trim_end_matches('\r');
        if let Some(text) = line.strip_prefix("#separator") {
            *self = Above::new(separator_of(location, text.trim_start_matches(' '))?);
            return Ok(());
        }
        if let Some(line) = line.strip_prefix('#') {
            let (name, value) = line.split_once(self.separator).unwrap_or((line, ""));
            match name {
                "path" => self.is_of_connections = value.trim() == "conn",
                "unset_field" => self.unset = value.to_owned(),
                "fields" if self.is_of_connections => {
                    self.layout = Some(Layout::new(location, value, self.separator)?);
                }
                _ => {}
            }
            return Ok(());
        }
        if !self.is_of_connections {
            return draft.pass_over(location, OTHER_LOG);
        }
        let Some(layout) = &self.layout else {
            let expected = "a line #fields before the first record";
            return Err(location.bad("header", expected, quote(line)));
        };
        let result = layout.add(location, line, &self.unset, draft);
        draft.accept(result)
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
    fn new(location: Location<'_>, names: &str, separator: char) -> Result<Layout, TraceError> {
        let header = Header::new(names, separator);
        let mut needed = [0; 6];
        let names = ["ts", "id.orig_h", "id.resp_h", "id.orig_p", "id.resp_p", "proto"];
        for (place, name) in needed.iter_mut().zip(names) {
            *place = header.need(location, &[name])?;
        }
        Ok(Layout {
            needed,
            duration: header.place(&["duration"]),
            bytes: ["orig_bytes", "resp_bytes"].map(|name| header.place(&[name])),
            ip_bytes: ["orig_ip_bytes", "resp_ip_bytes"].map(|name| header.place(&[name])),
            missed: header.place(&["missed_bytes"]),
            header,
        })
    }

    fn add(
        &self,
        location: Location<'_>,
        line: &str,
        unset: &str,
        draft: &mut Draft,
    ) -> Result<(), TraceError> {
        let row = self.header.row(location, line)?;
        let [ts, orig, resp, orig_p, resp_p, proto] = self.needed.map(|place| row.get(place));
        let some = |place: Option<usize>| row.get_some(place).filter(|&text| text != unset);
        let number = |place: Option<usize>| -> Result<Option<f64>, TraceError> {
            let Some(text) = some(place) else { return Ok(None) };
            bytes(location, self.header.name(place.unwrap_or(0)), text).map(Some)
        };
        let duration = some(self.duration).map(|text| seconds(location, "duration", text));
        let protocol = protocol_of(location, proto)?;
        let counted = Counted {
            bytes: [number(self.bytes[0])?, number(self.bytes[1])?],
            ip_bytes: [number(self.ip_bytes[0])?, number(self.ip_bytes[1])?],
            missed: number(self.missed)?,
        };
        let hosts =
            [draft.host(location, "id.orig_h", orig)?, draft.host(location, "id.resp_h", resp)?];
        let ports = match has_ports(protocol) {
            true => [port(location, "id.orig_p", orig_p)?, port(location, "id.resp_p", resp_p)?],
            false => [0; 2],
        };
        let start = seconds(location, "ts", ts)?;
        add(
            location,
            Connection { ports, ..Connection::new(start, protocol, hosts) },
            duration.transpose()?,
            counted,
            draft,
        )
    }
}
