//! The tables of a run as columns: one row per coflow, or one row per flow.

use covey_trace::{Coflow, Flow, OnClock};

use crate::Run;

/// A column of a table.
#[derive(Debug, Clone, PartialEq)]
pub struct Column<'a> {
    /// The heading, which ends with the unit.
    pub name: &'static str,
    /// One value for each row.
    pub values: Values<'a>,
}

/// The values of a column.
#[derive(Debug, Clone, PartialEq)]
pub enum Values<'a> {
    /// Text; `None` if it is missing.
    Text(Vec<Option<&'a str>>),
    /// The name of each row's coflow: all names, and for each row the index of its name.
    Name(Vec<&'a str>, Vec<u32>),
    /// Counts and numbers of ports.
    Count(Vec<u32>),
    /// Numbers.
    Number(Vec<f64>),
    /// Times on the clock of the trace, in seconds.
    Time(Vec<OnClock>),
    /// Numbers; `None` if one is missing.
    Maybe(Vec<Option<f64>>),
    /// Yes or no; `None` if it is unknown.
    Flag(Vec<Option<bool>>),
}

impl Values<'_> {
    /// The value of a row as text; empty if it is missing. Numbers have the fewest digits that
    /// parse to the same `f64`, times all their decimals.
    pub fn text(&self, row: usize) -> String {
        match self {
            Values::Text(values) => values[row].unwrap_or_default().to_owned(),
            Values::Name(names, indices) => names[indices[row] as usize].to_owned(),
            Values::Count(values) => values[row].to_string(),
            Values::Number(values) => values[row].to_string(),
            Values::Time(values) => values[row].to_string(),
            Values::Maybe(values) => values[row].map(|v| v.to_string()).unwrap_or_default(),
            Values::Flag(values) => values[row].map(|v| v.to_string()).unwrap_or_default(),
        }
    }

    /// Whether no row has a value.
    pub fn is_empty(&self) -> bool {
        match self {
            Values::Text(values) => values.iter().all(Option::is_none),
            Values::Maybe(values) => values.iter().all(Option::is_none),
            Values::Flag(values) => values.iter().all(Option::is_none),
            Values::Name(..) | Values::Count(_) | Values::Number(_) | Values::Time(_) => false,
        }
    }

    /// Number of rows.
    pub fn rows(&self) -> usize {
        match self {
            Values::Text(values) => values.len(),
            Values::Name(_, indices) => indices.len(),
            Values::Count(values) => values.len(),
            Values::Number(values) => values.len(),
            Values::Time(values) => values.len(),
            Values::Maybe(values) => values.len(),
            Values::Flag(values) => values.len(),
        }
    }
}

/// One row for each coflow, in the order of the workload: `coflow_id`, `arrival_s`, `completion_s`,
/// `cct_s`, `width`, `size_bytes`, `length_bytes`, `release_s`, `job`, `weight`, `deadline_s`,
/// `deadline_met`, `saved_bytes`, `cpu_s`, `tenant`.
///
/// Times are on the clock of the trace. `cct_s` runs from `release_s`, which is the arrival unless
/// a parent ended later. `width` is the number of flows, `size_bytes` the sum of their bytes and
/// `length_bytes` the size of the largest. `job`, `tenant`, `deadline_s` and `deadline_met` are
/// empty if the trace gives no job, tenant or deadline. Compression avoided sending `saved_bytes`
/// and took `cpu_s` seconds of processor time.
pub fn per_coflow<'a>(run: &'a Run<'_>) -> Vec<Column<'a>> {
    let (coflows, outcome) = (&run.workload().coflows, run.outcome());
    let number = |of: fn(&Coflow) -> f64| Values::Number(coflows.iter().map(of).collect());
    let time = |of: &dyn Fn(usize) -> f64| {
        Values::Time((0..coflows.len()).map(|k| run.workload().on_clock(of(k))).collect())
    };
    let compression: Vec<_> = (0..coflows.len())
        .map(|index| outcome.compression.get(index).copied().unwrap_or_default())
        .collect();
    let columns = [
        ("coflow_id", Values::Text(coflows.iter().map(|c| Some(c.id.as_str())).collect())),
        ("arrival_s", time(&|k| coflows[k].arrival_s)),
        ("completion_s", time(&|k| outcome.coflows[k].completion_s)),
        ("cct_s", Values::Number(run.ccts_s().collect())),
        ("width", Values::Count(coflows.iter().map(|c| c.width() as u32).collect())),
        ("size_bytes", number(Coflow::size_bytes)),
        ("length_bytes", number(Coflow::length_bytes)),
        ("release_s", time(&|k| outcome.coflows[k].release_s)),
        ("job", Values::Text(coflows.iter().map(|c| c.job.as_deref()).collect())),
        ("weight", number(|c| c.weight)),
        ("deadline_s", Values::Maybe(coflows.iter().map(|c| c.deadline_s).collect())),
        ("deadline_met", Values::Flag(run.deadlines_met().collect())),
        ("saved_bytes", Values::Number(compression.iter().map(|c| c.saved_bytes).collect())),
        ("cpu_s", Values::Number(compression.iter().map(|c| c.cpu_s).collect())),
        ("tenant", Values::Text(coflows.iter().map(|c| c.tenant.as_deref()).collect())),
    ];
    columns.map(|(name, values)| Column { name, values }).into()
}

/// One row for each flow, in the order of the workload: `coflow_id`, `flow`, `src`, `dst`, `bytes`,
/// `start_s`, `completion_s`, `fct_s`.
///
/// `flow` is the index within the coflow, from 0; `start_s` and `completion_s` are on the clock of
/// the trace, and `fct_s` is their difference. A flow that was cancelled has no `fct_s`, and
/// `completion_s` is when that was. If the trace has names of hosts, they follow as `src_host` and
/// `dst_host`.
pub fn per_flow<'a>(run: &'a Run<'_>) -> Vec<Column<'a>> {
    let (coflows, outcome) = (&run.workload().coflows, run.outcome());
    let flows = || coflows.iter().flat_map(|c| &c.flows);
    let count = |of: fn(&Flow) -> u32| Values::Count(flows().map(of).collect());
    let time = |seconds: &[f64]| {
        Values::Time(seconds.iter().map(|s| run.workload().on_clock(*s)).collect())
    };
    let names = coflows.iter().map(|c| c.id.as_str()).collect();
    let indices = (0..).zip(coflows).flat_map(|(index, c)| c.flows.iter().map(move |_| index));
    let numbers = coflows.iter().flat_map(|c| 0..c.flows.len() as u32);
    let is_cancelled = |k: &usize| outcome.cancelled.binary_search(k).is_ok();
    let fcts = run.fcts_s().enumerate().map(|(k, fct_s)| (!is_cancelled(&k)).then_some(fct_s));
    let columns = [
        ("coflow_id", Values::Name(names, indices.collect())),
        ("flow", Values::Count(numbers.collect())),
        ("src", count(|f| f.src)),
        ("dst", count(|f| f.dst)),
        ("bytes", Values::Number(flows().map(|f| f.bytes).collect())),
        ("start_s", time(&outcome.flow_start_s)),
        ("completion_s", time(&outcome.flow_completion_s)),
        ("fct_s", Values::Maybe(fcts.collect())),
    ];
    let workload = run.workload();
    let host = |of: fn(&Flow) -> u32| Values::Text(flows().map(|f| workload.host(of(f))).collect());
    let hosts = (!workload.hosts.is_empty())
        .then(|| [("src_host", host(|f| f.src)), ("dst_host", host(|f| f.dst))]);
    let all = columns.into_iter().chain(hosts.into_iter().flatten());
    all.map(|(name, values)| Column { name, values }).collect()
}
