//! Records as JSON lines: an object for each flow, with the fields of the CSV format.

use serde::Deserialize;

use super::connection::Connection;
use super::draft::Draft;
use super::fields::{bytes, port, protocol, seconds};
use super::format::{Format, Reading};
use super::scalar::{Number, Scalar};
use crate::error::{Location, TraceError};
use crate::json::parse;
use crate::read::{First, Rest};

pub(super) const FORMAT: Format = Format {
    name: "json",
    what: "lines {\"start_s\":…,\"src\":…}",
    accepts: |line| line.trim_start().starts_with('{') && line.contains("\"start_s\""),
    read: Reading::Lines(read),
};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Line<'a> {
    #[serde(borrow)]
    start_s: Number<'a>,
    #[serde(borrow)]
    src: Scalar<'a>,
    #[serde(borrow)]
    dst: Scalar<'a>,
    #[serde(borrow)]
    sport: Scalar<'a>,
    #[serde(borrow)]
    dport: Scalar<'a>,
    #[serde(borrow)]
    proto: Scalar<'a>,
    #[serde(borrow)]
    bytes: Option<Scalar<'a>>,
    #[serde(borrow)]
    end_s: Option<Number<'a>>,
    #[serde(borrow)]
    label: Option<Scalar<'a>>,
}

fn read<'a>(first: First<'a>, mut lines: Rest<'a>, draft: &mut Draft) -> Result<(), TraceError> {
    draft.each(first, &mut lines, |location, line, draft| {
        let result = add(location, line, draft);
        draft.accept(result)
    })
}

fn add(location: Location<'_>, line: &str, draft: &mut Draft) -> Result<(), TraceError> {
    let line: Line<'_> = parse(location, "record", line)?;
    let start = seconds(location, "start_s", line.start_s.0)?;
    let protocol = protocol(location, "proto", &line.proto.0)?;
    let hosts =
        [draft.host(location, "src", &line.src.0)?, draft.host(location, "dst", &line.dst.0)?];
    let sent = line.bytes.filter(|text| !text.0.is_empty());
    let connection = Connection {
        end: line.end_s.map(|end| seconds(location, "end_s", end.0)).transpose()?,
        ports: [port(location, "sport", &line.sport.0)?, port(location, "dport", &line.dport.0)?],
        bytes: [sent.map(|text| bytes(location, "bytes", &text.0)).transpose()?, None],
        label: draft.label(location, line.label.as_ref().map_or("", |text| &text.0))?,
        ..Connection::new(start, protocol, hosts)
    };
    draft.push(location, connection)
}
