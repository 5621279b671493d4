//! Records as they are read, and what is repaired when all are there.

use std::collections::BTreeMap;
use std::collections::HashMap;
use std::net::IpAddr;

use covey_identify::{Address, Observed};

use super::fields::check_seconds;
use super::record::{Hidden, Records, Repairs};
use crate::error::{Location, TraceError, quote};
use crate::limits::{MAX_FLOWS, MAX_NAME_BYTES};

/// Texts by number, in order of their first use.
#[derive(Default)]
struct Texts {
    numbers: HashMap<String, u32>,
    texts: Vec<String>,
}

impl Texts {
    fn number(&mut self, text: &str) -> u32 {
        if let Some(&number) = self.numbers.get(text) {
            return number;
        }
        let number = self.texts.len() as u32;
        self.numbers.insert(text.to_owned(), number);
        self.texts.push(text.to_owned());
        number
    }
}

/// Records as they are read.
pub(super) struct Draft {
    flows: Vec<Observed>,
    hidden: Vec<Hidden>,
    names: Texts,
    labels: Texts,
    latest_start_s: f64,
    repairs: Repairs,
}

impl Draft {
    pub fn new() -> Draft {
        Draft {
            flows: Vec::new(),
            hidden: Vec::new(),
            names: Texts::default(),
            labels: Texts::default(),
            latest_start_s: f64::NEG_INFINITY,
            repairs: Repairs::default(),
        }
    }

    /// The host that a field names by IPv4 or IPv6 address, by number or by name.
    pub fn host(
        &mut self,
        location: Location<'_>,
        field: &str,
        text: &str,
    ) -> Result<Address, TraceError> {
        if let Some(address) = address(text) {
            return Ok(address);
        }
        let is_part = |b: u8| b.is_ascii_alphanumeric() || b"-_.".contains(&b);
        let is_name = text.len() <= 253
            && text.bytes().all(is_part)
            && text.bytes().any(|b| b.is_ascii_alphabetic());
        if !is_name {
            return Err(location.bad(
                field,
                "an address, or the name or number of a host",
                quote(text),
            ));
        }
        Ok(Address::named(self.names.number(text)))
    }

    /// The number of a label; nothing for a blank one.
    pub fn label(&mut self, location: Location<'_>, text: &str) -> Result<Option<u32>, TraceError> {
        let text = text.trim();
        if text.len() > MAX_NAME_BYTES || text.contains(char::is_control) {
            let expected = format_args!("at most {MAX_NAME_BYTES} bytes, no control characters");
            return Err(location.bad("label", expected, quote(text)));
        }
        Ok((!text.is_empty()).then(|| self.labels.number(text)))
    }

    /// Adds a record.
    pub fn push(
        &mut self,
        location: Location<'_>,
        flow: Observed,
        mut hidden: Hidden,
    ) -> Result<(), TraceError> {
        if self.flows.len() >= MAX_FLOWS as usize {
            return Err(location.bad(
                "record",
                format_args!("at most {MAX_FLOWS} records"),
                "more",
            ));
        }
        if let Some(end_s) = hidden.end_s {
            check_seconds(location, "end", end_s)?;
        }
        self.repairs.out_of_order += u64::from(flow.start_s < self.latest_start_s);
        self.latest_start_s = self.latest_start_s.max(flow.start_s);
        if hidden.end_s.is_some_and(|end_s| end_s < flow.start_s) {
            self.repairs.ended_before_start += 1;
            hidden.end_s = None;
        }
        self.flows.push(flow);
        self.hidden.push(hidden);
        Ok(())
    }

    /// All records, in order of start and each flow once.
    pub fn finish(mut self) -> Records {
        if self.repairs.out_of_order > 0 {
            self.sort();
        }
        self.merge_repeated();
        Records {
            flows: self.flows,
            hidden: self.hidden,
            labels: self.labels.texts,
            names: self.names.texts,
            repairs: self.repairs,
        }
    }

    /// Sorts by start. Records that start together keep their order.
    fn sort(&mut self) {
        let mut order: Vec<u32> = (0..self.flows.len() as u32).collect();
        let start_s = |place: &u32| self.flows[*place as usize].start_s;
        order.sort_by(|a, b| start_s(a).total_cmp(&start_s(b)));
        self.flows = order.iter().map(|&place| self.flows[place as usize]).collect();
        self.hidden = order.iter().map(|&place| self.hidden[place as usize]).collect();
    }

    /// Merges records of one flow into the first of them.
    fn merge_repeated(&mut self) {
        let mut first_of = BTreeMap::new();
        let mut kept = 0;
        let mut start_s = f64::NAN;
        for place in 0..self.flows.len() {
            let (flow, hidden) = (self.flows[place], self.hidden[place]);
            if flow.start_s != start_s {
                start_s = flow.start_s;
                first_of.clear();
            }
            // Hosts without known ports may have several flows at once.
            if flow.sport != 0 || flow.dport != 0 {
                let key = (flow.src, flow.dst, flow.sport, flow.dport, flow.protocol);
                let first = *first_of.entry(key).or_insert(kept);
                if first < kept {
                    let into = &mut self.hidden[first];
                    into.bytes = later(into.bytes, hidden.bytes);
                    into.end_s = later(into.end_s, hidden.end_s);
                    into.label = into.label.or(hidden.label);
                    self.repairs.repeated += 1;
                    continue;
                }
            }
            self.flows[kept] = flow;
            self.hidden[kept] = hidden;
            kept += 1;
        }
        self.flows.truncate(kept);
        self.hidden.truncate(kept);
    }
}

/// The larger of two values that may be unknown.
fn later(a: Option<f64>, b: Option<f64>) -> Option<f64> {
    match (a, b) {
        (Some(a), Some(b)) => Some(a.max(b)),
        (a, b) => a.or(b),
    }
}

/// An IPv4 or IPv6 address, also with the name of an interface behind a `%`, or the number of a host.
fn address(text: &str) -> Option<Address> {
    if let Ok(ip) = text.split('%').next().unwrap_or(text).parse::<IpAddr>() {
        return Some(ip.into());
    }
    let is_number = !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    is_number.then(|| text.parse().ok().map(Address::host)).flatten()
}
