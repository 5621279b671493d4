//! Flow logs of GCP's VPCs, as Cloud Logging exports them: an entry a line, or an array of entries.
//!
//! Both sides of a flow may report it, each in windows of some seconds. Of two reports the one with
//! more bytes counts.

use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, SeqAccess, Visitor};

use super::clock::date_and_time;
use super::connection::{Connection, Counters, Opened};
use super::fields::{bytes, check_time, has_ports, port, protocol};
use super::format::{Format, Reading};
use super::json_document::{self, Document, Seed, Shape};
use super::scalar::Text;
use crate::error::{Location, TraceError, quote};
use crate::moment::Moment;

pub(super) const FORMAT: Format = Format {
    name: "gcp",
    what: "flow logs of GCP's VPCs in JSON",
    accepts: |head| head.contains("\"jsonPayload\""),
    read: Reading::Document(json_document::read::<Entries>),
};

/// Reasons to pass over an entry.
const NO_FLOW: &str = "entries of other logs than VPC flow logs";

/// An entry, or an array of them.
struct Entries;

#[derive(Deserialize)]
struct Payload {
    connection: Option<Ends>,
    bytes_sent: Option<Text>,
    start_time: Option<Text>,
    end_time: Option<Text>,
    reporter: Option<Text>,
}

#[derive(Deserialize)]
struct Ends {
    src_ip: Text,
    dest_ip: Text,
    src_port: Option<Text>,
    dest_port: Option<Text>,
    protocol: Option<Text>,
}

impl Shape for Entries {
    fn read<'de, D: Deserializer<'de>>(
        document: &mut Document<'_>,
        value: D,
    ) -> Result<(), D::Error> {
        value.deserialize_any(EntriesVisitor(document))
    }
}

struct EntriesVisitor<'d, 'a>(&'d mut Document<'a>);

impl<'de> Visitor<'de> for EntriesVisitor<'_, '_> {
    type Value = ();

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("an entry of a log, or an array of entries")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut array: A) -> Result<(), A::Error> {
        while array.next_element_seed(Seed::<Entries>::new(self.0))?.is_some() {}
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let mut payload: Option<Payload> = None;
        while let Some(key) = map.next_key::<String>()? {
            match key.as_str() {
                "jsonPayload" => payload = Some(map.next_value()?),
                _ => drop(map.next_value::<serde::de::IgnoredAny>()?),
            }
        }
        self.0.add(|location, document| match payload {
            Some(payload) => add(location, payload, document),
            None => document.draft.pass_over(location, NO_FLOW),
        })
    }
}

/// Adds the flow of an entry.
fn add(
    location: Location<'_>,
    payload: Payload,
    document: &mut Document<'_>,
) -> Result<(), TraceError> {
    let Some(ends) = payload.connection else {
        return document.draft.pass_over(location, NO_FLOW);
    };
    let time = |field: &str, text: &Text| -> Result<Moment, TraceError> {
        let expected = "a time like 2026-11-25T16:02:30.25Z";
        let time = date_and_time(&text.0);
        check_time(
            location,
            field,
            time.ok_or_else(|| location.bad(field, expected, quote(&text.0)))?,
        )
    };
    let Some(start) = payload.start_time else {
        return Err(location.bad("start_time", "the time of the first packet", "none"));
    };
    let start = time("start_time", &start)?;
    let protocol = match &ends.protocol {
        Some(text) => protocol(location, "protocol", &text.0)?,
        None => 0,
    };
    let port_of = |field: &str, text: &Option<Text>| match text {
        Some(text) if has_ports(protocol) => port(location, field, &text.0),
        _ => Ok(0),
    };
    let draft = &mut *document.draft;
    let hosts = [
        draft.host(location, "src_ip", &ends.src_ip.0)?,
        draft.host(location, "dest_ip", &ends.dest_ip.0)?,
    ];
    let sent = payload.bytes_sent.map(|text| bytes(location, "bytes_sent", &text.0));
    let connection = Connection {
        end: payload.end_time.map(|text| time("end_time", &text)).transpose()?,
        ports: [port_of("src_port", &ends.src_port)?, port_of("dest_port", &ends.dest_port)?],
        bytes: [sent.transpose()?, None],
        exporter: payload.reporter.map_or(0, |text| draft.exporter(&text.0)),
        // Windows of a flow follow each other.
        opened: Opened::Before,
        counters: Counters::Delta,
        ..Connection::new(start, protocol, hosts)
    };
    draft.push(location, connection)
}
