//! Records as JSON lines: an object for each flow, with the fields of the CSV format.

use std::borrow::Cow;
use std::fmt;

use covey_identify::Observed;
use serde::Deserialize;
use serde::de::{Deserializer, Visitor};

use super::draft::Draft;
use super::fields::{check_seconds, port, protocol};
use super::format::{First, Format};
use super::record::Hidden;
use crate::error::{Location, TraceError};
use crate::json::parse;
use crate::limits::MAX_BYTES;
use crate::read::{Rest, number};

pub(super) const FORMAT: Format = Format {
    name: "json",
    what: "lines {\"start_s\":…,\"src\":…}",
    accepts: |line| line.trim_start().starts_with('{') && line.contains("\"start_s\""),
    read,
};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Line<'a> {
    start_s: f64,
    #[serde(borrow)]
    src: Scalar<'a>,
    #[serde(borrow)]
    dst: Scalar<'a>,
    sport: Scalar<'a>,
    dport: Scalar<'a>,
    proto: Scalar<'a>,
    bytes: Option<Scalar<'a>>,
    end_s: Option<f64>,
    label: Option<Scalar<'a>>,
}

/// A text, or a number as its text.
struct Scalar<'a>(Cow<'a, str>);

impl<'de: 'a, 'a> Deserialize<'de> for Scalar<'a> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Either;
        impl<'de> Visitor<'de> for Either {
            type Value = Scalar<'de>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a text or a number")
            }
            fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Scalar<'de>, E> {
                Ok(Scalar(Cow::Borrowed(text)))
            }
            fn visit_str<E>(self, text: &str) -> Result<Scalar<'de>, E> {
                Ok(Scalar(Cow::Owned(text.to_owned())))
            }
            fn visit_u64<E>(self, number: u64) -> Result<Scalar<'de>, E> {
                Ok(Scalar(Cow::Owned(number.to_string())))
            }
            fn visit_i64<E>(self, number: i64) -> Result<Scalar<'de>, E> {
                Ok(Scalar(Cow::Owned(number.to_string())))
            }
            fn visit_f64<E>(self, number: f64) -> Result<Scalar<'de>, E> {
                Ok(Scalar(Cow::Owned(number.to_string())))
            }
        }
        from.deserialize_any(Either)
    }
}

fn read(
    (location, line): First<'_>,
    mut lines: Rest<'_>,
    draft: &mut Draft,
) -> Result<(), TraceError> {
    add(location, line, draft)?;
    while let Some((location, line)) = lines.next()? {
        add(location, line, draft)?;
    }
    Ok(())
}

fn add(location: Location<'_>, line: &str, draft: &mut Draft) -> Result<(), TraceError> {
    let line: Line<'_> = parse(location, "record", line)?;
    let flow = Observed {
        start_s: check_seconds(location, "start_s", line.start_s)?,
        src: draft.host(location, "src", &line.src.0)?,
        dst: draft.host(location, "dst", &line.dst.0)?,
        sport: port(location, "sport", &line.sport.0)?,
        dport: port(location, "dport", &line.dport.0)?,
        protocol: protocol(location, "proto", &line.proto.0)?,
        packets: None,
        community: None,
    };
    let bytes = line.bytes.filter(|text| !text.0.is_empty());
    let bytes = bytes.map(|text| number(location, "bytes", "bytes", &text.0, MAX_BYTES));
    let hidden = Hidden {
        bytes: bytes.transpose()?,
        end_s: line.end_s.map(|end_s| check_seconds(location, "end_s", end_s)).transpose()?,
        label: draft.label(location, line.label.as_ref().map_or("", |text| &text.0))?,
    };
    draft.push(location, flow, hidden)
}
