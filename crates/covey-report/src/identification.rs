//! What identification found in flow records, as text and JSON.

use std::fmt;

use covey_trace::OnClock;
use covey_trace::records::{Grouped, Repairs, Together};
use serde::Serialize;

use crate::units::{bytes, count, counted, decimals, fixed};

/// The settings of an identification, for reports.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Method {
    /// `rough` or `dbscan`.
    pub algorithm: String,
    /// Flows within the radius that make a flow the core of a group.
    pub min_points: u32,
    /// `default`, or the file of the metric.
    pub metric: String,
    /// Radius within which two flows are in one group.
    pub radius: f64,
    /// How far the starts of flows tell groups apart, from 0 to 1.
    pub confidence: f64,
}

/// What identification found. `Serialize` gives the object of `identify --json`, `Display` the text
/// for a terminal.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Identification {
    /// The file of the flow records, or the files.
    pub records: String,
    /// How groups were found.
    #[serde(flatten)]
    pub method: Method,
    /// Number of flows.
    pub flows: usize,
    /// Bytes of the flows whose bytes are known.
    pub bytes: f64,
    /// Number of flows whose bytes are unknown.
    pub flows_without_bytes: usize,
    /// Number of hosts.
    pub hosts: usize,
    /// Number of groups.
    pub groups: usize,
    /// The first start, in seconds on the clock of the records.
    pub first_start_s: Option<OnClock>,
    /// The flows that have a label: those over which the measures below are.
    pub labelled_flows: usize,
    /// Number of labels: true coflows.
    pub labels: usize,
    /// Agreement with the labels; all null without labels.
    #[serde(flatten)]
    pub agreement: Agreement,
    /// What was repaired in the records.
    pub repairs: Repairs,
    #[serde(skip)]
    top: Vec<Row>,
}

/// B-cubed precision and recall against labels, each a mean from 0 to 1.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize)]
pub struct Agreement {
    /// Mean over flows: the share of a flow's group that has its label.
    pub precision: Option<f64>,
    /// Mean over flows: the share of the flows with its label that is in its group.
    pub recall: Option<f64>,
    /// The harmonic mean of the two.
    pub f1: Option<f64>,
    /// The same with each true coflow counting once.
    pub precision_per_coflow: Option<f64>,
    /// The same with each true coflow counting once.
    pub recall_per_coflow: Option<f64>,
    /// The harmonic mean of the two.
    pub f1_per_coflow: Option<f64>,
}

/// A group in the table: its number, then the cells.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Row {
    pub group: u32,
    pub cells: [String; 6],
}

/// The headings of [`Row::cells`].
pub(crate) const HEADINGS: [&str; 6] =
    ["flows", "bytes", "first start, s", "last end, s", "sources", "destinations"];

impl Identification {
    /// What was found in the records called `name`. The table has the `top` largest groups.
    pub fn of(grouped: &Grouped<'_>, name: &str, method: Method, top: usize) -> Identification {
        let records = grouped.records;
        let first_start_s = records.flows.first().map(|flow| flow.start_s);
        let bytes = || records.hidden.iter().filter_map(|hidden| hidden.bytes);
        let agreement = grouped.accuracies().map(|found| Agreement {
            precision: Some(found.per_flow.precision),
            recall: Some(found.per_flow.recall),
            f1: Some(found.per_flow.f1()),
            precision_per_coflow: Some(found.per_coflow.precision),
            recall_per_coflow: Some(found.per_coflow.recall),
            f1_per_coflow: Some(found.per_coflow.f1()),
        });
        Identification {
            records: name.to_owned(),
            method,
            flows: records.flows.len(),
            bytes: bytes().sum(),
            flows_without_bytes: records.flows.len() - bytes().count(),
            hosts: grouped.hosts().len(),
            groups: grouped.groups.len(),
            first_start_s: first_start_s.map(|start_s| records.on_clock(start_s)),
            labelled_flows: records.labelled(),
            labels: records.labels.len(),
            agreement: agreement.unwrap_or_default(),
            repairs: records.repairs.clone(),
            top: rows(grouped, top, first_start_s.unwrap_or(0.0)),
        }
    }

    /// The largest groups.
    pub(crate) fn top(&self) -> &[Row] {
        &self.top
    }

    /// How many groups and flows there are, and how they were found.
    pub(crate) fn summary(&self) -> String {
        let Method { algorithm, min_points, metric, radius, confidence } = &self.method;
        let name = if algorithm == "rough" { "Rough-DBSCAN" } else { "DBSCAN" };
        format!(
            "{} of {} among {}, by {name} with metric {metric}, radius {radius}, min-points {min_points}. Confidence {}.",
            counted(self.groups, "group"),
            counted(self.flows, "flow"),
            counted(self.hosts, "host"),
            fixed(*confidence, 3),
        )
    }

    /// The agreement with the labels; nothing without labels.
    pub(crate) fn labels(&self) -> Option<String> {
        let numbers = |numbers: [Option<f64>; 3]| {
            let [precision, recall, f1] = numbers.map(|it| fixed(it.unwrap_or(f64::NAN), 3));
            format!("precision {precision}, recall {recall}, F1 {f1}")
        };
        let of = &self.agreement;
        of.precision?;
        Some(format!(
            "Labels: {} of {}. Per flow: {}. Per coflow: {}.",
            counted(self.labels, "coflow"),
            counted(self.labelled_flows, "flow"),
            numbers([of.precision, of.recall, of.f1]),
            numbers([of.precision_per_coflow, of.recall_per_coflow, of.f1_per_coflow]),
        ))
    }

    /// The groups that the table leaves out; nothing if it has all.
    pub(crate) fn more(&self) -> Option<String> {
        let more = self.groups - self.top.len();
        (more > 0).then(|| format!("… and {} more", count(more)))
    }

    /// What the times of the table count from.
    pub(crate) fn clock(&self) -> Option<String> {
        let zero = self.first_start_s.filter(|zero| zero.as_secs() != 0.0)?;
        Some(format!("Times count from the first start, {zero} s."))
    }
}

/// A table of the records that were put together as one flow; nothing if none were.
pub fn together_table(together: &Together) -> Option<String> {
    let rows = together.rows();
    let cells: Vec<[String; 3]> = rows
        .iter()
        .map(|(_, put)| [count(put.records as usize), count(put.flows as usize), bytes(put.bytes)])
        .collect();
    let headings = ["records", "flows", "bytes"];
    let width = |column: usize| {
        let cells = cells.iter().map(|row| row[column].chars().count());
        cells.max().unwrap_or(0).max(headings[column].len())
    };
    let line = |cells: [&str; 3], what: &str| {
        let [a, b, c] = [0, 1, 2].map(|column| format!("{:>1$}", cells[column], width(column)));
        format!("\n  {a}  {b}  {c}  {what}")
    };
    let mut table = "put together".to_owned();
    if let Some(gap_s) = together.gap_s {
        table += &format!(", with gaps of up to {gap_s} s");
    }
    table += ":";
    table += &line(headings, "");
    for ((what, _), row) in rows.iter().zip(&cells) {
        table += &line([&row[0], &row[1], &row[2]], what);
    }
    let lines: Vec<&str> = table.lines().map(str::trim_end).collect();
    (!rows.is_empty()).then(|| lines.join("\n"))
}

/// The rows of the groups with most bytes; of those with as many, the ones with most flows, then
/// the first.
fn rows(grouped: &Grouped<'_>, top: usize, zero_s: f64) -> Vec<Row> {
    let mut order: Vec<u32> = (0..grouped.groups.len() as u32).collect();
    let group = |number: u32| &grouped.groups[number as usize];
    order.sort_by(|&a, &b| {
        let (x, y) = (group(a), group(b));
        y.bytes.total_cmp(&x.bytes).then(y.flows.cmp(&x.flows)).then(a.cmp(&b))
    });
    order.truncate(top);
    let starts = || order.iter().map(|&number| group(number).first_start_s - zero_s);
    let ends = order.iter().filter_map(|&number| Some(group(number).last_end_s? - zero_s));
    let digits = decimals(starts().chain(ends));
    let row = |&number: &u32| {
        let it = group(number);
        let cells = [
            count(it.flows as usize),
            bytes(it.bytes),
            fixed(it.first_start_s - zero_s, digits),
            it.last_end_s.map_or("-".to_owned(), |end_s| fixed(end_s - zero_s, digits)),
            count(it.sources as usize),
            count(it.destinations as usize),
        ];
        Row { group: number, cells }
    };
    order.iter().map(row).collect()
}

impl fmt::Display for Identification {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.top.is_empty() {
            let names: Vec<String> = self.top.iter().map(|row| row.group.to_string()).collect();
            let first = names.iter().map(String::len).max().unwrap_or(0).max("group".len());
            let width = |column: usize| {
                let cells = self.top.iter().map(|row| row.cells[column].chars().count());
                cells.max().unwrap_or(0).max(HEADINGS[column].len())
            };
            let widths: Vec<usize> = (0..HEADINGS.len()).map(width).collect();
            write!(out, "{:>first$}", "group")?;
            (HEADINGS.iter().zip(&widths))
                .try_for_each(|(it, &width)| write!(out, "  {it:>width$}"))?;
            writeln!(out)?;
            for (name, row) in names.iter().zip(&self.top) {
                write!(out, "{name:>first$}")?;
                let mut cells = row.cells.iter().zip(&widths);
                cells.try_for_each(|(it, &width)| write!(out, "  {it:>width$}"))?;
                writeln!(out)?;
            }
        }
        if let Some(more) = self.more() {
            writeln!(out, "{more}")?;
        }
        if self.groups > 0 {
            writeln!(out)?;
        }
        writeln!(out, "{}", self.summary())?;
        let more = [self.clock(), self.labels()];
        more.iter().flatten().try_for_each(|line| writeln!(out, "{line}"))
    }
}
