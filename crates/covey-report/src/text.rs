//! Text for terminals, at most 100 columns wide unless a name is longer.

use crate::table::{Column, Table};
use crate::units::{bytes, counted, decimals, fixed, rate};
use crate::{Comparison, Summary};
use std::fmt::{self, Write};

/// Columns of a terminal.
const WIDTH: usize = 100;
/// Spaces between columns.
const GAP: usize = 2;

/// The table of `compare`.
pub(crate) fn comparison(comparison: &Comparison<'_>, out: &mut fmt::Formatter<'_>) -> fmt::Result {
    let table = Table::of(comparison);
    let widths: Vec<usize> = table.columns.iter().map(width).collect();
    let numbers: usize = widths.iter().map(|w| w + GAP).sum();
    let longest = table.labels.iter().map(|l| chars(l)).max().unwrap_or(0).max(6);
    let label_width = longest.min(WIDTH.saturating_sub(numbers).max(6));
    let mut line = |label: &str, cells: &mut dyn Iterator<Item = &String>| {
        write!(out, "{label:label_width$}")?;
        for (cell, width) in cells.zip(&widths) {
            write!(out, "{:1$}{cell:>width$}", "", GAP)?;
        }
        out.write_char('\n')
    };

    line("policy", &mut table.columns.iter().map(|c| &c.heading[0]))?;
    line("", &mut table.columns.iter().map(|c| &c.heading[1]))?;
    for (row, label) in table.labels.iter().enumerate() {
        let mut cells = table.columns.iter().map(|c| &c.cells[row]);
        if chars(label) <= label_width {
            line(label, &mut cells)?;
        } else {
            line(label, &mut std::iter::empty())?;
            line("", &mut cells)?;
        }
    }

    let base = &comparison.summaries()[comparison.baseline()];
    writeln!(out, "\nSpeed-up over {}: of its mean CCT, and the median over coflows.", base.label)?;
    if let Some(bound) = bound(comparison.summaries()) {
        writeln!(out, "Lower bound of the mean CCT: {bound}.")?;
    }
    writeln!(out, "Trace {}: {}.", base.trace, load(base))
}

/// The text of `simulate`.
pub(crate) fn summary(summary: &Summary, out: &mut fmt::Formatter<'_>) -> fmt::Result {
    let (cct, fct) = (&summary.cct_s, &summary.fct_s);
    let column = |heading: &str, [cct, fct]: [f64; 2]| {
        let decimals = decimals([cct, fct]);
        Column {
            heading: [heading.to_owned(), String::new()],
            cells: [cct, fct].map(|v| fixed(v, decimals)).to_vec(),
        }
    };
    let columns = [
        column("mean", [cct.mean, fct.mean]),
        column("p50", [cct.p50, fct.p50]),
        column("p90", [cct.p90, fct.p90]),
        column("p95", [cct.p95, fct.p95]),
        column("p99", [cct.p99, fct.p99]),
        column("max", [cct.max, fct.max]),
    ];
    let mut line = |label: &str, cells: &mut dyn Iterator<Item = &String>| {
        write!(out, "{label:7}")?;
        for (cell, column) in cells.zip(&columns) {
            write!(out, "{:1$}{cell:>2$}", "", GAP, width(column))?;
        }
        out.write_char('\n')
    };
    line("", &mut columns.iter().map(|c| &c.heading[0]))?;
    line("CCT (s)", &mut columns.iter().map(|c| &c.cells[0]))?;
    line("FCT (s)", &mut columns.iter().map(|c| &c.cells[1]))?;

    writeln!(out)?;
    if let (Some(bound), Some(distance)) = (bound([summary]), summary.mean_over_bound()) {
        let distance = fixed(distance, 3);
        writeln!(out, "Lower bound of the mean CCT: {bound}; the mean is {distance} times that.")?;
    }
    let makespan = fixed(summary.makespan_s, decimals([summary.makespan_s]));
    writeln!(out, "From the first arrival to the last end: {makespan} s.")?;
    write!(out, "Policy {}", summary.policy)?;
    for (i, (key, value)) in summary.params.iter().enumerate() {
        write!(out, "{}{key}={value}", if i == 0 { ": " } else { ", " })?;
    }
    writeln!(out, ".\nTrace {}: {}.", summary.trace, load(summary))?;
    let events = counted(summary.events as usize, "event");
    writeln!(out, "Simulated in {} s, {events}.", fixed(summary.wall_s, 2))
}

/// What was sent and over what: `526 coflows, 706,397 flows, 8.13 TiB in all; 150 ports of 1 Gbps,
/// big-switch`.
pub(crate) fn load(summary: &Summary) -> String {
    let coflows = counted(summary.coflows, "coflow");
    let flows = counted(summary.flows, "flow");
    let ports = counted(summary.ports as usize, "port");
    let (bytes, rate) = (bytes(summary.bytes), rate(summary.port_rate_bps));
    format!("{coflows}, {flows}, {bytes} in all; {ports} of {rate}, {}", summary.fabric)
}

/// The lower bound in seconds: one for all, or the range if policies have their own (compression
/// lowers it). `None` if there is none.
pub(crate) fn bound<'a>(summaries: impl IntoIterator<Item = &'a Summary>) -> Option<String> {
    let bounds = summaries.into_iter().filter_map(|s| s.lower_bound_mean_cct_s);
    let bounds = crate::stats::sorted(bounds);
    let (least, greatest) = (*bounds.first()?, *bounds.last()?);
    let digits = decimals([least, greatest]);
    let [least, greatest] = [least, greatest].map(|b| fixed(b, digits));
    Some(if least == greatest {
        format!("{least} s")
    } else {
        format!("{least} s to {greatest} s, by policy")
    })
}

fn width(column: &Column) -> usize {
    let texts = column.heading.iter().chain(&column.cells);
    texts.map(|t| chars(t)).max().unwrap_or(0)
}

fn chars(text: &str) -> usize {
    text.chars().count()
}
