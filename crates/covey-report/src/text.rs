//! Text for terminals, at most 100 columns wide unless a name is longer.

use crate::table::{Column, Table};
use crate::units::{bytes, count, counted, decimals, fixed, rate};
use crate::{Claim, Comparison, Distribution, Summary, TenantSummary};
use std::fmt::{self, Write};

/// Width of the text in characters.
const WIDTH: usize = 100;
/// Number of spaces between columns.
const GAP: usize = 2;

impl fmt::Display for Comparison {
    /// The table of `compare`.
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        Table::of(self).write(out)?;
        let base = &self.summaries()[self.baseline()];
        writeln!(
            out,
            "\nSpeed-ups over {}: of the mean CCT, and the median over coflows.",
            base.label
        )?;
        if self.summaries().len() > 1 && base.coflows > 1 {
            writeln!(out, "{}", wrapped(&self.certainty().to_string()))?;
        }
        if let Some(best) = best_of_each_kind(self.summaries()) {
            writeln!(out, "{}", wrapped(&best))?;
        }
        if let Some(bound) = bound(self.summaries()) {
            writeln!(out, "Lower bound of the mean CCT: {bound}.")?;
        }
        if let Some(note) = jobs_note(self) {
            writeln!(out, "{note}")?;
        }
        let tenants = self.summaries().iter().map(|it| (it.label.as_str(), it.tenants.as_slice()));
        TenantSummary::compare(&tenants.collect::<Vec<_>>(), out)?;
        if !self.claims().is_empty() {
            out.write_char('\n')?;
            Table::of_claims(self.claims()).write(out)?;
            writeln!(out, "{}", Claim::tally(self.claims()))?;
        }
        writeln!(out, "Trace {}: {}.", base.trace, load(base))
    }
}

/// The best policy of those that know sizes beforehand, and of those that do not, if there are
/// several of both.
fn best_of_each_kind(summaries: &[Summary]) -> Option<String> {
    let best = |knows: bool| {
        let of_kind = || summaries.iter().filter(|it| it.knows_sizes == Some(knows));
        let best = of_kind().min_by(|a, b| a.cct_s.mean.total_cmp(&b.cct_s.mean))?;
        let all: Vec<&str> = of_kind().map(|it| it.label.as_str()).collect();
        (all.len() > 1)
            .then(|| format!("{} has the lowest mean CCT of {}", best.label, all.join(", ")))
    };
    let (with, without) = (best(true)?, best(false)?);
    Some(format!("With sizes known beforehand {with}; without, {without}."))
}

impl Table {
    /// The table as text, whose lines are at most [`WIDTH`] wide unless a label is longer.
    pub(crate) fn write(&self, out: &mut impl Write) -> fmt::Result {
        let widths: Vec<usize> = self.columns.iter().map(width).collect();
        let numbers: usize = widths.iter().map(|w| w + GAP).sum();
        let longest = self.labels.iter().map(|l| chars(l)).max().unwrap_or(0).max(6);
        let label_width = longest.min(WIDTH.saturating_sub(numbers).max(6));
        let mut line = |label: &str, cells: &mut dyn Iterator<Item = &String>| {
            write!(out, "{label:label_width$}")?;
            for (cell, width) in cells.zip(&widths) {
                write!(out, "{:1$}{cell:>width$}", "", GAP)?;
            }
            out.write_char('\n')
        };

        line("policy", &mut self.columns.iter().map(|c| &c.heading[0]))?;
        line("", &mut self.columns.iter().map(|c| &c.heading[1]))?;
        for (row, label) in self.labels.iter().enumerate() {
            let mut cells = self.columns.iter().map(|c| &c.cells[row]);
            if chars(label) <= label_width {
                line(label, &mut cells)?;
            } else {
                line(label, &mut std::iter::empty())?;
                line("", &mut cells)?;
            }
        }
        Ok(())
    }
}

/// A sentence in lines that are no wider than the text, unless a word is.
pub(crate) fn wrapped(sentence: &str) -> String {
    let mut lines = vec![String::new()];
    // A number stays with its sign.
    let sentence = sentence.replace(" %", "\u{a0}%");
    for word in sentence.split(' ') {
        let line = lines.last_mut().expect("there is one");
        if !line.is_empty() && chars(line) + 1 + chars(word) > WIDTH {
            lines.push(word.to_owned());
        } else {
            line.push_str(if line.is_empty() { "" } else { " " });
            line.push_str(word);
        }
    }
    lines.join("\n").replace('\u{a0}', " ")
}

/// Explains job completion times and deadlines below a table; `None` if the table has neither.
pub(crate) fn jobs_note(comparison: &Comparison) -> Option<String> {
    let base = &comparison.summaries()[comparison.baseline()];
    let mut notes = Vec::new();
    if let Some(seed) = comparison.jct_shares() {
        notes.push(format!(
            "JCT of jobs that shuffle and compute, with the published shares of time in shuffle (seed {seed})."
        ));
    } else if base.jobs.is_some() {
        notes.push("JCT: from a job's first arrival to its last end.".to_owned());
    }
    if let Some(deadlines) = base.deadlines {
        notes.push(format!("{} with a deadline.", counted(deadlines, "coflow")));
    }
    (!notes.is_empty()).then(|| notes.join(" "))
}

impl fmt::Display for Summary {
    /// The text of `simulate`.
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let rows =
            [("CCT (s)", Some(self.cct_s)), ("FCT (s)", Some(self.fct_s)), ("JCT (s)", self.jct_s)];
        let rows: Vec<(&str, Distribution)> =
            rows.into_iter().filter_map(|(label, row)| Some((label, row?))).collect();
        let column = |heading: &str, pick: fn(&Distribution) -> f64| {
            let values: Vec<f64> = rows.iter().map(|(_, row)| pick(row)).collect();
            let decimals = decimals(values.iter().copied());
            Column {
                heading: [heading.to_owned(), String::new()],
                cells: values.into_iter().map(|v| fixed(v, decimals)).collect(),
            }
        };
        let columns = [
            column("mean", |d| d.mean),
            column("p50", |d| d.p50),
            column("p90", |d| d.p90),
            column("p95", |d| d.p95),
            column("p99", |d| d.p99),
            column("max", |d| d.max),
        ];
        let mut line = |label: &str, cells: &mut dyn Iterator<Item = &String>| {
            write!(out, "{label:7}")?;
            for (cell, column) in cells.zip(&columns) {
                write!(out, "{:1$}{cell:>2$}", "", GAP, width(column))?;
            }
            out.write_char('\n')
        };
        line("", &mut columns.iter().map(|c| &c.heading[0]))?;
        for (row, (label, _)) in rows.iter().enumerate() {
            line(label, &mut columns.iter().map(|c| &c.cells[row]))?;
        }

        writeln!(out)?;
        if let (Some(bound), Some(distance)) = (bound([self]), self.mean_over_bound()) {
            let distance = fixed(distance, 3);
            writeln!(
                out,
                "Lower bound of the mean CCT: {bound}; the mean is {distance} times that."
            )?;
        }
        if let Some(mean) = self.weighted_mean_cct_s {
            writeln!(out, "Mean CCT by the trace's weights: {} s.", fixed(mean, decimals([mean])))?;
        }
        TenantSummary::write_all(&self.tenants, out)?;
        if let (Some(all), Some(met)) = (self.deadlines, self.deadlines_met) {
            writeln!(out, "Deadlines met: {} of {}.", count(met), count(all))?;
        }
        if self.saved_bytes > 0.0 {
            let (saved, cpu) = (bytes(self.saved_bytes), fixed(self.cpu_s, 1));
            let percent = fixed(100.0 * self.saved_bytes / self.bytes, 1);
            writeln!(
                out,
                "Compression saved {saved} ({percent} %) for {cpu} s of processor time."
            )?;
        }
        if self.wasted_bytes > 0.0 {
            let wasted = bytes(self.wasted_bytes);
            writeln!(out, "Sent for nothing, by flows cancelled, moved or restarted: {wasted}.")?;
        }
        if self.cancelled_flows > 0 {
            let cancelled = count(self.cancelled_flows);
            writeln!(out, "Flows cancelled, which have no completion time: {cancelled}.")?;
        }
        let makespan = fixed(self.makespan_s, decimals([self.makespan_s]));
        writeln!(out, "From the first arrival to the last end: {makespan} s.")?;
        write!(out, "Policy {}", self.policy)?;
        for (i, (key, value)) in self.params.iter().enumerate() {
            write!(out, "{}{key}={value}", if i == 0 { ": " } else { ", " })?;
        }
        writeln!(out, ".\nTrace {}: {}.", self.trace, load(self))?;
        let events = counted(self.events as usize, "event");
        writeln!(out, "Simulated in {} s, {events}.", fixed(self.wall_s, 2))
    }
}

/// The workload and the network: `526 coflows, 706,397 flows, 8.13 TiB in all; 150 ports of 1 Gbps,
/// big-switch`.
pub(crate) fn load(summary: &Summary) -> String {
    let coflows = counted(summary.coflows, "coflow");
    let flows = counted(summary.flows, "flow");
    let ports = counted(summary.ports as usize, "port");
    let (bytes, rate) = (bytes(summary.bytes), rate(summary.port_rate_bps));
    let jobs = summary.jobs.map(|jobs| format!("{} of ", counted(jobs, "job")));
    let pipelined = if summary.barrier == Some(false) { ", stages pipelined" } else { "" };
    format!(
        "{}{coflows}, {flows}, {bytes} in all; {ports} of {rate}, {}{pipelined}",
        jobs.unwrap_or_default(),
        summary.fabric
    )
}

/// The lower bound in seconds, or the range of bounds if policies have different ones, since
/// compression lowers the bound. `None` without a bound.
pub(crate) fn bound<'a>(summaries: impl IntoIterator<Item = &'a Summary>) -> Option<String> {
    let bounds = summaries.into_iter().filter_map(|s| s.lower_bound_mean_cct_s);
    let bounds = crate::stats::sorted(bounds);
    let (min, max) = (*bounds.first()?, *bounds.last()?);
    let digits = decimals([min, max]);
    let [min, max] = [min, max].map(|b| fixed(b, digits));
    Some(if min == max { format!("{min} s") } else { format!("{min} s to {max} s, by policy") })
}

fn width(column: &Column) -> usize {
    let texts = column.heading.iter().chain(&column.cells);
    texts.map(|t| chars(t)).max().unwrap_or(0)
}

fn chars(text: &str) -> usize {
    text.chars().count()
}
