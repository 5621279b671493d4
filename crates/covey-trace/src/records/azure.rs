//! Flow logs of Azure: those of network security groups, version 2, and those of virtual networks.
//!
//! Records hold texts for the states of a flow: it begins, continues with the bytes since the state
//! before, and ends. A flow may begin in one file and end in another, so flows are made of their
//! states when all files are read.

use serde::de::{Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};

use super::fields::{bytes, check_time, has_ports, port, protocol};
use super::format::{Format, Reading};
use super::json_document::{self, Document, Seed, Shape, elements};
use super::scalar::Text;
use super::states::{FlowKey, State, What};
use crate::error::{Location, TraceError, quote};
use crate::limits::MAX_FLOWS;
use crate::moment::Moment;

pub(super) const FORMAT: Format = Format {
    name: "azure",
    what: "flow logs of Azure's security groups or virtual networks",
    accepts: |head| head.contains("\"flowTuples\"") || head.contains("FlowEvent\""),
    read: Reading::Document(json_document::read::<Level>),
};

/// Objects and arrays that lead to states.
const LEVELS: [&str; 5] = ["records", "properties", "flows", "flowRecords", "flowGroups"];
const DENIED: &str = "denied traffic";

/// An object or array, down to the states.
struct Level;

impl Shape for Level {
    fn read<'de, D: Deserializer<'de>>(
        document: &mut Document<'_>,
        value: D,
    ) -> Result<(), D::Error> {
        value.deserialize_any(LevelVisitor(document))
    }
}

struct LevelVisitor<'d, 'a>(&'d mut Document<'a>);

impl<'de> Visitor<'de> for LevelVisitor<'_, '_> {
    type Value = ();

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("an object or an array of a flow log")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut array: A) -> Result<(), A::Error> {
        while array.next_element_seed(Seed::<Level>::new(self.0))?.is_some() {}
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some(key) = map.next_key::<String>()? {
            match key.as_str() {
                "flowTuples" => map.next_value_seed(Seed::<Tuples>::new(self.0))?,
                "mac" | "macAddress" => {
                    let mac: Text = map.next_value()?;
                    self.0.exporter = self.0.draft.exporter(&mac.0.replace([':', '-'], ""));
                }
                key if LEVELS.contains(&key) => map.next_value_seed(Seed::<Level>::new(self.0))?,
                _ => drop(map.next_value::<IgnoredAny>()?),
            }
        }
        Ok(())
    }
}

/// An array of states.
struct Tuples;

impl Shape for Tuples {
    fn read<'de, D: Deserializer<'de>>(
        document: &mut Document<'_>,
        value: D,
    ) -> Result<(), D::Error> {
        elements::<Tuple, D>(document, value)
    }
}

/// A state.
struct Tuple;

impl Shape for Tuple {
    fn read<'de, D: Deserializer<'de>>(
        document: &mut Document<'_>,
        value: D,
    ) -> Result<(), D::Error> {
        let text = <Text as serde::Deserialize>::deserialize(value)?;
        document.add(|location, document| add(location, &text.0, document))
    }
}

/// Adds a state: `TIME,SRC,DST,SPORT,DPORT,PROTOCOL,I|O` and then, of security groups,
/// `A|D,STATE,PACKETS,BYTES,PACKETS, BYTES`; of virtual networks `STATE,ENCRYPTION,` and the same
/// four numbers.
fn add(location: Location<'_>, text: &str, document: &mut Document<'_>) -> Result<(), TraceError> {
    let expected = "a state of 13 values, TIME,SRC,DST,SPORT,DPORT,PROTOCOL,DIRECTION,…";
    let wrong = || location.bad("flowTuples", expected, quote(text));
    let cells: Vec<&str> = text.split(',').map(str::trim).collect();
    let [time, src, dst, sport, dport, transport, _, seventh, eighth, _, there, _, back] =
        cells[..]
    else {
        return Err(wrong());
    };
    let (is_denied, state) = match (seventh, eighth) {
        ("A" | "D", "B" | "C" | "E") => (seventh == "D", eighth),
        (state, _) => (state == "D", state),
    };
    let what = match state {
        _ if is_denied => return document.draft.pass_over(location, DENIED),
        "B" => What::Begins,
        "C" => What::Continues,
        "E" => What::Ends,
        _ => return Err(wrong()),
    };
    let unit = if time.len() >= 12 { -3 } else { 0 };
    let at = Moment::parse_scaled(time, unit).ok_or_else(wrong)?;
    let protocol = match transport {
        "T" => 6,
        "U" => 17,
        other => protocol(location, "flowTuples", other)?,
    };
    let port_of = |text: &str| match has_ports(protocol) {
        true => port(location, "flowTuples", text),
        false => Ok(0),
    };
    let bytes_of = |text: &str| match text {
        "" => Ok(None),
        text => bytes(location, "flowTuples", text).map(Some),
    };
    let exporter = document.exporter;
    let draft = &mut *document.draft;
    let flow = FlowKey {
        hosts: [draft.host(location, "flowTuples", src)?, draft.host(location, "flowTuples", dst)?],
        ports: [port_of(sport)?, port_of(dport)?],
        protocol,
        exporter,
    };
    if draft.states.len() >= MAX_FLOWS as usize {
        let expected = format_args!("at most {MAX_FLOWS} states");
        return Err(location.bad("flowTuples", expected, "more"));
    }
    let at = check_time(location, "flowTuples", at)?;
    draft.states.push(State { flow, at, what, bytes: [bytes_of(there)?, bytes_of(back)?] });
    Ok(())
}
