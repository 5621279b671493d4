//! The groups of flow records, as coflows.

use covey_identify::{Accuracies, Address, accuracy};

use super::record::Records;
use crate::error::TraceError;
use crate::limits::MAX_PORTS;
use crate::workload::{Coflow, Flow, Workload};

/// Flow records with the group of each.
pub struct Grouped<'a> {
    /// The records.
    pub records: &'a Records,
    /// The group of each flow.
    pub group_of: Vec<u32>,
    /// The groups.
    pub groups: Vec<Group>,
    /// The names of the groups; without them, their numbers.
    names: Option<Vec<String>>,
}

/// A group of flows that belong together.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Group {
    /// Number of flows.
    pub flows: u64,
    /// Bytes of those flows whose bytes are known.
    pub bytes: f64,
    /// The first start, in seconds.
    pub first_start_s: f64,
    /// The last end, in seconds; nothing if no flow has a known one.
    pub last_end_s: Option<f64>,
    /// Number of sending hosts.
    pub sources: u64,
    /// Number of receiving hosts.
    pub destinations: u64,
}

/// What a workload of groups leaves out: flows without bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Left {
    /// Flows without bytes.
    pub flows: u64,
    /// Groups that have no other flows.
    pub groups: u64,
}

impl<'a> Grouped<'a> {
    /// `group_of` has a group for each flow, numbered from 0 without gaps.
    pub fn new(records: &'a Records, group_of: Vec<u32>) -> Grouped<'a> {
        let groups = group_of.iter().max().map_or(0, |last| *last as usize + 1);
        let none = Group {
            flows: 0,
            bytes: 0.0,
            first_start_s: f64::INFINITY,
            last_end_s: None,
            sources: 0,
            destinations: 0,
        };
        let mut groups = vec![none; groups];
        for ((flow, hidden), &group) in records.flows.iter().zip(&records.hidden).zip(&group_of) {
            let group = &mut groups[group as usize];
            group.flows += 1;
            group.bytes += hidden.bytes.unwrap_or(0.0);
            group.first_start_s = group.first_start_s.min(flow.start_s);
            group.last_end_s = match (group.last_end_s, hidden.end_s) {
                (Some(last_s), Some(end_s)) => Some(last_s.max(end_s)),
                (last_s, end_s) => last_s.or(end_s),
            };
        }
        let flows = || records.flows.iter().zip(&group_of);
        for (group, _) in distinct(flows().map(|(flow, group)| (*group, flow.src))) {
            groups[group as usize].sources += 1;
        }
        for (group, _) in distinct(flows().map(|(flow, group)| (*group, flow.dst))) {
            groups[group as usize].destinations += 1;
        }
        Grouped { records, group_of, groups, names: None }
    }

    /// The same groups with these names.
    #[must_use]
    pub(super) fn named(self, names: Vec<String>) -> Grouped<'a> {
        Grouped { names: Some(names), ..self }
    }

    /// Compares groups with labels, over the flows that have one; nothing if none has.
    pub fn accuracies(&self) -> Option<Accuracies> {
        let both = self.records.hidden.iter().zip(&self.group_of);
        let both = both.filter_map(|(hidden, group)| Some((*group, hidden.label?)));
        let (found, truth): (Vec<u32>, Vec<u32>) = both.unzip();
        (!found.is_empty()).then(|| accuracy(&found, &truth))
    }

    /// All hosts, in order of their addresses. A host's place in this list is its port in the
    /// workload.
    pub fn hosts(&self) -> Vec<Address> {
        distinct(self.records.flows.iter().flat_map(|flow| [flow.src, flow.dst]))
    }

    /// A workload with a coflow for each group, named by the group's name or number. Times start
    /// with the first flow. Flows without bytes are left out.
    ///
    /// # Errors
    /// [`TraceError::Argument`] for more hosts than a workload may have ports, or if no flow has
    /// bytes.
    pub fn workload(&self) -> Result<(Workload, Left), TraceError> {
        let error =
            |expected: String, found: String| TraceError::argument("flow records", expected, found);
        let hosts = self.hosts();
        if hosts.len() > MAX_PORTS as usize {
            return Err(error(
                format!("records of at most {MAX_PORTS} hosts"),
                hosts.len().to_string(),
            ));
        }
        let port = |host: Address| hosts.partition_point(|it| *it < host) as u32;
        let zero_s = self.groups.iter().map(|it| it.first_start_s).fold(f64::INFINITY, f64::min);
        let mut left = Left::default();
        let mut flows: Vec<Vec<Flow>> = vec![Vec::new(); self.groups.len()];
        let records = self.records.flows.iter().zip(&self.records.hidden);
        for ((flow, hidden), &group) in records.zip(&self.group_of) {
            let Some(bytes) = hidden.bytes else {
                left.flows += 1;
                continue;
            };
            let start_s = flow.start_s - self.groups[group as usize].first_start_s;
            flows[group as usize].push(Flow {
                src: port(flow.src),
                dst: port(flow.dst),
                bytes,
                start_s,
            });
        }
        if left.flows as usize == self.records.flows.len() {
            return Err(error("records with bytes, which a trace must have (--columns bytes=COLUMN says where a table has them)".into(), "none".into()));
        }
        left.groups = flows.iter().filter(|flows| flows.is_empty()).count() as u64;
        let groups =
            self.groups.iter().zip(flows).enumerate().filter(|(_, (_, flows))| !flows.is_empty());
        let coflows = groups.map(|(number, (group, flows))| {
            let name =
                self.names.as_ref().map_or_else(|| number.to_string(), |it| it[number].clone());
            Coflow::new(name, group.first_start_s - zero_s, flows)
        });
        let names = hosts.iter().map(|host| self.records.host(*host)).collect();
        let workload = Workload::new(hosts.len() as u32, coflows.collect());
        Ok((Workload { hosts: names, ..workload }, left))
    }
}

/// The distinct ones of many items, in order.
fn distinct<T: Ord>(items: impl Iterator<Item = T>) -> Vec<T> {
    let mut items: Vec<T> = items.collect();
    items.sort_unstable();
    items.dedup();
    items
}
