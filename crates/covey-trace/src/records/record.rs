//! Flow records that were read, and what was repaired in them.

use covey_identify::{Address, Observed};

/// Flow records in order of their starts.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Records {
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
    /// End in seconds, on the clock of the starts, where known.
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

    /// The number of flows that have a label.
    pub fn labelled(&self) -> usize {
        self.hidden.iter().filter(|hidden| hidden.label.is_some()).count()
    }
}

/// What was repaired in flow records, as numbers of records.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Serialize)]
pub struct Repairs {
    /// Started before a record above them; all records were put in order of start.
    pub out_of_order: u64,
    /// Repeated a flow (both ends with known ports, protocol and start). Each flow is kept once, with the
    /// larger number of bytes and the later end.
    pub repeated: u64,
    /// Ended before they started; their end counts as unknown.
    pub ended_before_start: u64,
}

impl Repairs {
    /// A line for each kind of repair that happened.
    pub fn notes(&self) -> Vec<String> {
        let line = |n: u64, one: &str, many: &str| match n {
            0 => None,
            1 => Some(format!("1 record {one}")),
            n => Some(format!("{n} records {many}")),
        };
        let lines = [
            line(
                self.out_of_order,
                "was out of order; records are now in order of start",
                "were out of order; records are now in order of start",
            ),
            line(
                self.repeated,
                "repeated a flow, which is kept once",
                "repeated flows, which are kept once each",
            ),
            line(
                self.ended_before_start,
                "ended before its start; its end counts as unknown",
                "ended before their starts; their ends count as unknown",
            ),
        ];
        lines.into_iter().flatten().collect()
    }
}
