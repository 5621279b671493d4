//! Tables of the rates at which coflows send through ports over time.

use std::collections::{BTreeMap, HashMap};
use std::ops::Range;

use covey_report::{Column, Values};
use covey_trace::Workload;
use covey_trace::results::Span;
use pyo3::prelude::*;

use crate::frame::Frame;

/// A row for each span. Starts and ends are on the clock of the trace.
pub fn frame(workload: &Workload, spans: &[Span]) -> PyResult<Frame> {
    let number = |of: fn(&Span) -> f64| Values::Number(spans.iter().map(of).collect());
    let time = |of: fn(&Span) -> f64| {
        Values::Time(spans.iter().map(|span| workload.on_clock(of(span))).collect())
    };
    let names = workload.coflows.iter().map(|c| c.id.as_str()).collect();
    let places = spans.iter().map(|span| span.coflow).collect();
    let ports = spans.iter().map(|span| span.link.0).collect();
    Frame::of(vec![
        Column { name: "coflow_id", values: Values::Name(names, places) },
        Column { name: "port", values: Values::Count(ports) },
        Column { name: "start_s", values: time(|span| span.start_s) },
        Column { name: "end_s", values: time(|span| span.end_s) },
        Column { name: "bytes_per_s", values: number(|span| span.rate) },
        Column { name: "duration_s", values: number(|span| span.end_s - span.start_s) },
    ])
}

/// A rectangle of a drawing: what one coflow sends at one port, over adjacent columns. It stands on
/// the rectangles of the coflows before it in the trace.
struct Bar {
    coflow: u32,
    port: u32,
    columns: Range<u32>,
    /// Its lower edge, as a share of the port's capacity.
    low: f64,
    /// Its upper edge, as a share of the port's capacity.
    high: f64,
}

/// Shares that differ by less cannot be told apart.
const VISIBLE: f64 = 1e-3;

/// A drawing of `columns` columns, in seconds after the workload's origin. In each column, the
/// coflows that send out of a port are stacked by their shares of `capacity` (bytes per second). A
/// coflow that sends during a part of a column has the height of that part in the whole column. If
/// the heights of a column are more than 1 together, all are made smaller in proportion.
pub fn drawing<'a>(
    workload: &Workload,
    spans: impl Iterator<Item = &'a Span> + Clone,
    columns: u32,
    capacity: f64,
) -> PyResult<Frame> {
    let begin_s = spans.clone().map(|span| span.start_s).fold(f64::INFINITY, f64::min);
    let end_s = spans.clone().map(|span| span.end_s).fold(begin_s, f64::max);
    let width_s = (end_s - begin_s) / f64::from(columns);
    let bars = stacked(&cells(spans, begin_s, width_s, columns), capacity);
    let number = |of: &dyn Fn(&Bar) -> f64| Values::Number(bars.iter().map(of).collect());
    let at = |column: u32| begin_s + width_s * f64::from(column);
    let names = workload.coflows.iter().map(|c| c.id.as_str()).collect();
    let places = bars.iter().map(|bar| bar.coflow).collect();
    let ports = bars.iter().map(|bar| bar.port).collect();
    Frame::of(vec![
        Column { name: "coflow_id", values: Values::Name(names, places) },
        Column { name: "port", values: Values::Count(ports) },
        Column { name: "start_s", values: number(&|bar| at(bar.columns.start)) },
        Column { name: "end_s", values: number(&|bar| at(bar.columns.end)) },
        Column { name: "low", values: number(&|bar| bar.low) },
        Column { name: "high", values: number(&|bar| bar.high) },
    ])
}

/// Bytes, and the seconds in which they are sent, by port, column and coflow.
type Cells = BTreeMap<(u32, u32, u32), (f64, f64)>;

fn cells<'a>(
    spans: impl Iterator<Item = &'a Span>,
    begin_s: f64,
    width_s: f64,
    columns: u32,
) -> Cells {
    let mut cells = Cells::new();
    for span in spans {
        let column = |time_s: f64| ((time_s - begin_s) / width_s) as u32;
        for column in column(span.start_s)..=column(span.end_s).min(columns - 1) {
            let from_s = begin_s + width_s * f64::from(column);
            let sent_s = span.end_s.min(from_s + width_s) - span.start_s.max(from_s);
            if sent_s > 0.0 {
                let cell = cells.entry((span.link.0, column, span.coflow)).or_default();
                *cell = (cell.0 + span.rate * sent_s, cell.1 + sent_s);
            }
        }
    }
    cells
}

fn stacked(cells: &Cells, capacity: f64) -> Vec<Bar> {
    let mut bars: Vec<Bar> = Vec::new();
    let mut last: HashMap<(u32, u32), usize> = HashMap::new();
    let cells: Vec<_> = cells.iter().map(|(key, (bytes, s))| (key, bytes / s / capacity)).collect();
    for column in cells.chunk_by(|(a, _), (b, _)| (a.0, a.1) == (b.0, b.1)) {
        let sum: f64 = column.iter().map(|(_, share)| share).sum();
        let mut low = 0.0;
        for &(&(port, at, coflow), share) in column {
            let high = low + share / sum.max(1.0);
            let bar = Bar { coflow, port, columns: at..at + 1, low, high };
            match last.get(&(port, coflow)).map(|&before| &mut bars[before]) {
                Some(before) if is_continued(before, &bar) => before.columns.end = at + 1,
                _ => {
                    last.insert((port, coflow), bars.len());
                    bars.push(bar);
                }
            }
            low = high;
        }
    }
    bars
}

fn is_continued(before: &Bar, bar: &Bar) -> bool {
    before.columns.end == bar.columns.start
        && (before.low - bar.low).abs() < VISIBLE
        && (before.high - bar.high).abs() < VISIBLE
}
