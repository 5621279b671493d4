//! Zeek's logs as JSON lines.

use std::borrow::Cow;

use serde::Deserialize;

use super::clock::date_and_time;
use super::connection::Connection;
use super::draft::Draft;
use super::fields::{bytes, check_time, has_ports, port, seconds};
use super::scalar::{Number, Scalar};
use super::zeek_counted::{Counted, OTHER_LOG, add, protocol_of};
use crate::error::{Location, TraceError, quote};
use crate::json::parse;
use crate::moment::Moment;
use crate::read::{First, Rest};

/// A number of seconds since 1970 is below this for three thousand years; one above it is of
/// milliseconds (`JSON::TS_MILLIS`).
const LEAST_MS: f64 = 1e11;

pub(super) fn accepts(line: &str) -> bool {
    let fields = ["\"id.orig_h\"", "\"id_orig_h\"", "\"orig_h\"", "\"_path\""];
    line.starts_with('{') && fields.iter().any(|field| line.contains(field))
}

/// The log that a line is of, where it says so.
#[derive(Deserialize)]
struct Log<'a> {
    #[serde(borrow, rename = "_path")]
    path: Option<Cow<'a, str>>,
}

/// A line; other fields are ignored.
#[derive(Deserialize)]
struct Line<'a> {
    #[serde(borrow)]
    ts: Scalar<'a>,
    #[serde(borrow)]
    id: Option<Id<'a>>,
    #[serde(borrow, rename = "id.orig_h", alias = "id_orig_h")]
    orig_h: Option<Cow<'a, str>>,
    #[serde(borrow, rename = "id.orig_p", alias = "id_orig_p")]
    orig_p: Option<Scalar<'a>>,
    #[serde(borrow, rename = "id.resp_h", alias = "id_resp_h")]
    resp_h: Option<Cow<'a, str>>,
    #[serde(borrow, rename = "id.resp_p", alias = "id_resp_p")]
    resp_p: Option<Scalar<'a>>,
    #[serde(borrow)]
    proto: Cow<'a, str>,
    #[serde(borrow)]
    duration: Option<Number<'a>>,
    #[serde(borrow)]
    orig_bytes: Option<Number<'a>>,
    #[serde(borrow)]
    resp_bytes: Option<Number<'a>>,
    #[serde(borrow)]
    orig_ip_bytes: Option<Number<'a>>,
    #[serde(borrow)]
    resp_ip_bytes: Option<Number<'a>>,
    #[serde(borrow)]
    missed_bytes: Option<Number<'a>>,
}

/// The ends of a connection as an object of their own.
#[derive(Deserialize)]
struct Id<'a> {
    #[serde(borrow)]
    orig_h: Cow<'a, str>,
    #[serde(borrow)]
    orig_p: Scalar<'a>,
    #[serde(borrow)]
    resp_h: Cow<'a, str>,
    #[serde(borrow)]
    resp_p: Scalar<'a>,
}

pub(super) fn read<'a>(
    first: First<'a>,
    mut lines: Rest<'a>,
    draft: &mut Draft,
) -> Result<(), TraceError> {
    draft.each(first, &mut lines, |location, line, draft| {
        let result = add_line(location, line, draft);
        draft.accept(result)
    })
}

fn add_line(location: Location<'_>, line: &str, draft: &mut Draft) -> Result<(), TraceError> {
    let log: Log<'_> = parse(location, "record", line)?;
    if log.path.is_some_and(|path| path != "conn") {
        return draft.pass_over(location, OTHER_LOG);
    }
    let line: Line<'_> = parse(location, "record", line)?;
    let start = start(location, &line.ts.0)?;
    let missing = |field: &str| location.bad(field, "the end of a connection", "none");
    let ends = match &line.id {
        Some(id) => [(&*id.orig_h, &id.orig_p), (&*id.resp_h, &id.resp_p)],
        None => [
            (
                line.orig_h.as_deref().ok_or_else(|| missing("id.orig_h"))?,
                line.orig_p.as_ref().ok_or_else(|| missing("id.orig_p"))?,
            ),
            (
                line.resp_h.as_deref().ok_or_else(|| missing("id.resp_h"))?,
                line.resp_p.as_ref().ok_or_else(|| missing("id.resp_p"))?,
            ),
        ],
    };
    let protocol = protocol_of(location, &line.proto)?;
    let bytes = |field: &str, number: &Option<Number<'_>>| {
        number.as_ref().map(|number| bytes(location, field, number.0)).transpose()
    };
    let hosts = [
        draft.host(location, "id.orig_h", ends[0].0)?,
        draft.host(location, "id.resp_h", ends[1].0)?,
    ];
    let ports = match has_ports(protocol) {
        true => {
            [port(location, "id.orig_p", &ends[0].1.0)?, port(location, "id.resp_p", &ends[1].1.0)?]
        }
        false => [0; 2],
    };
    let duration = line.duration.map(|text| seconds(location, "duration", text.0)).transpose()?;
    let counted = Counted {
        bytes: [bytes("orig_bytes", &line.orig_bytes)?, bytes("resp_bytes", &line.resp_bytes)?],
        ip_bytes: [
            bytes("orig_ip_bytes", &line.orig_ip_bytes)?,
            bytes("resp_ip_bytes", &line.resp_ip_bytes)?,
        ],
        missed: bytes("missed_bytes", &line.missed_bytes)?,
    };
    let connection = Connection { ports, ..Connection::new(start, protocol, hosts) };
    add(location, connection, duration, counted, draft)
}

/// A time in one of the forms that Zeek writes.
fn start(location: Location<'_>, text: &str) -> Result<Moment, TraceError> {
    let is_ms = text.parse::<f64>().is_ok_and(|number| number >= LEAST_MS);
    let number = || Moment::parse_scaled(text, if is_ms { -3 } else { 0 });
    let time = number().or_else(|| date_and_time(text));
    let expected = "seconds or milliseconds since 1970, or a time in ISO 8601";
    check_time(location, "ts", time.ok_or_else(|| location.bad("ts", expected, quote(text)))?)
}
