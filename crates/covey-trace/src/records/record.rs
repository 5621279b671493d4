//! Flow records that were read, and what was repaired in them.

use std::collections::{BTreeMap, BTreeSet};

use covey_identify::{Address, Observed};

use crate::moment::{Moment, OnClock};

/// Flow records in order of their starts.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Records {
    /// The moment from which all times count, on the clock of the records. It is 0 unless their
    /// first start is a million seconds away from that.
    pub origin: Moment,
    /// What identification may see of each flow.
    pub flows: Vec<Observed>,
    /// What it may not see, in the same order.
    pub hidden: Vec<Hidden>,
    /// The labels, in order of their first records; [`Hidden::label`] is a place in this list.
    pub labels: Vec<String>,
    /// Names of hosts; [`Address::name_number`] is a place in this list.
    pub names: Vec<String>,
    /// What was repaired.
    pub repairs: Repairs,
}

/// What is known of a recorded flow only afterwards.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Hidden {
    /// Bytes sent, where known.
    pub bytes: Option<f64>,
    /// End in seconds after the origin of the records, where known.
    pub end_s: Option<f64>,
    /// The true coflow, where given: a place in [`Records::labels`].
    pub label: Option<u32>,
}

impl Records {
    /// A host as a person would write it.
    pub fn host(&self, address: Address) -> String {
        match address.name_number().and_then(|number| self.names.get(number as usize)) {
            Some(name) => name.clone(),
            None => address.to_string(),
        }
    }

    /// A time in seconds after the origin, on the clock of the records.
    pub fn on_clock(&self, seconds: f64) -> OnClock {
        OnClock { origin: self.origin, seconds }
    }

    /// The number of flows that have a label.
    pub fn labelled(&self) -> usize {
        self.hidden.iter().filter(|hidden| hidden.label.is_some()).count()
    }
}

/// What was repaired in flow records, as numbers of records.
#[derive(Debug, Clone, PartialEq, Default, serde::Serialize)]
pub struct Repairs {
    /// Started before a record above them; all records were put in order of start.
    pub out_of_order: u64,
    /// Ended before they started; their end counts as unknown.
    pub ended_before_start: u64,
    /// What was put together.
    #[serde(flatten)]
    pub together: Together,
    /// Had more bytes than the packets that carried them, which count instead (Zeek).
    pub capped: u64,
    /// Had bytes in rounded units, such as `2.7 M`.
    pub rounded: u64,
    /// Connections that were open before the first sample: they count what they sent from then on
    /// (`ss`).
    pub open_before: u64,
    /// Connections without counters: their bytes are unknown (`ss`).
    pub without_counters: u64,
    /// Broken lines that were passed over.
    pub bad_lines: u64,
    /// Records of no use that were passed over, by reason.
    pub passed_over: BTreeMap<&'static str, u64>,
    /// What was taken because the files do not say it, such as the unit of times.
    pub taken: BTreeSet<String>,
}

/// Records that were put together as one flow.
#[derive(Debug, Clone, Copy, PartialEq, Default, serde::Serialize)]
pub struct Together {
    /// Repeated a flow (both ends with known ports, protocol and start). Each flow is kept once,
    /// with the larger number of bytes and the later end.
    pub repeated: u64,
    /// The longest gap in seconds between records that were put together because they were cut;
    /// null if none are.
    pub gap_s: Option<f64>,
    /// Were cut by an exporter's active timeout.
    pub cut: Put,
    /// Have the start of the record before, and count the bytes since.
    pub deltas: Put,
    /// Are of a flow that another exporter recorded as well; bytes are those that do not count
    /// twice.
    pub seen_again: Put,
    /// Begin where another of their five-tuple ends, and are flows of their own, because nothing
    /// shows a cut.
    pub left_apart: u64,
}

/// Records that became flows, and the bytes of these.
#[derive(Debug, Clone, Copy, PartialEq, Default, serde::Serialize)]
pub struct Put {
    /// Records.
    pub records: u64,
    /// Flows.
    pub flows: u64,
    /// Bytes.
    pub bytes: f64,
}

impl Together {
    /// Each way in which records were put together, in words, with its numbers.
    pub fn rows(&self) -> Vec<(&'static str, Put)> {
        let rows = [
            ("cut by an active timeout", self.cut),
            ("counted since the record before", self.deltas),
            ("seen again by another exporter", self.seen_again),
        ];
        rows.into_iter().filter(|(_, put)| put.records > 0).collect()
    }
}

impl Together {
    /// What was put together, as one line; nothing if nothing was.
    pub fn note(&self) -> Option<String> {
        let rows = self.rows();
        let texts: Vec<String> =
            rows.iter().map(|(what, put)| format!("{} {what}", put.records)).collect();
        (!texts.is_empty()).then(|| format!("records put together as flows: {}", texts.join(", ")))
    }
}

impl Repairs {
    /// A line for each kind of repair that happened, without what was [put
    /// together](Together::rows).
    pub fn notes(&self) -> Vec<String> {
        let line = |n: u64, one: &str, many: &str| match n {
            0 => None,
            1 => Some(format!("1 {one}")),
            n => Some(format!("{n} {many}")),
        };
        let lines = [
            line(
                self.out_of_order,
                "record was out of order; records are now in order of start",
                "records were out of order; records are now in order of start",
            ),
            line(
                self.together.repeated,
                "record repeated a flow, which is kept once",
                "records repeated flows, which are kept once each",
            ),
            line(
                self.ended_before_start,
                "record ended before its start; its end counts as unknown",
                "records ended before their starts; their ends count as unknown",
            ),
            line(
                self.together.left_apart,
                "record begins where another of its five-tuple ends, and is a flow of its own; --stitch 5s joins them",
                "records begin where others of their five-tuples end, and are flows of their own; --stitch 5s joins them",
            ),
            line(
                self.capped,
                "connection had more bytes than its packets; those of the packets count",
                "connections had more bytes than their packets; those of the packets count",
            ),
            line(
                self.rounded,
                "record has rounded bytes; nfdump -N prints all digits",
                "records have rounded bytes; nfdump -N prints all digits",
            ),
            line(
                self.open_before,
                "connection was open before the first sample; it counts what it sent from then on",
                "connections were open before the first sample; they count what they sent from then on",
            ),
            line(
                self.without_counters,
                "connection has no counters, and unknown bytes; ss -i prints them (Linux 4.1 or newer)",
                "connections have no counters, and unknown bytes; ss -i prints them (Linux 4.1 or newer)",
            ),
            line(self.bad_lines, "broken line was passed over", "broken lines were passed over"),
            self.passed_over_note(),
        ];
        self.taken.iter().cloned().chain(lines.into_iter().flatten()).collect()
    }

    /// One line for all records of no use.
    fn passed_over_note(&self) -> Option<String> {
        let reasons: Vec<String> =
            self.passed_over.iter().map(|(reason, n)| format!("{n} × {reason}")).collect();
        (!reasons.is_empty()).then(|| format!("passed over: {}", reasons.join(", ")))
    }
}
