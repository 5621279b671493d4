//! What the script of a comparison's page reads.

use serde::Serialize;

use crate::{Comparison, Interval};

/// A page with more coflows than that would be too large for a browser.
const MAX_COFLOWS: usize = 20_000;

/// The object in the page, with a value for each coflow in the order of the trace.
#[derive(Serialize, Default)]
struct Data<'a> {
    labels: Vec<&'a str>,
    /// The place of the baseline.
    baseline: usize,
    id: Vec<&'a str>,
    arrival_s: Vec<f64>,
    /// Flows.
    width: Vec<usize>,
    bytes: Vec<f64>,
    /// For each policy; none if the trace has too many coflows.
    cct_s: Vec<Vec<f64>>,
    /// For each baseline and each policy: the interval of the speed-up of the mean, as the table
    /// shows it.
    intervals: Vec<Vec<String>>,
}

/// Whether the page lists the coflows.
pub(super) fn has_coflows(comparison: &Comparison<'_>) -> bool {
    let coflows = comparison.runs().first().map_or(0, |run| run.workload().coflows.len());
    (1..=MAX_COFLOWS).contains(&coflows)
}

/// The object as JSON.
pub(super) fn of(comparison: &Comparison<'_>) -> String {
    let runs = comparison.runs();
    let labels = runs.iter().map(|run| run.info().label.as_str()).collect();
    let mut data = Data { labels, baseline: comparison.baseline(), ..Data::default() };
    if let (Some(first), true) = (runs.first(), has_coflows(comparison)) {
        let coflows = &first.workload().coflows;
        data.id = coflows.iter().map(|coflow| coflow.id.as_str()).collect();
        data.arrival_s = coflows.iter().map(|coflow| coflow.arrival_s).collect();
        data.width = coflows.iter().map(|coflow| coflow.width()).collect();
        data.bytes = coflows.iter().map(|coflow| coflow.size_bytes()).collect();
        data.cct_s = runs.iter().map(|run| run.ccts_s().collect()).collect();
        let interval = |base: usize, run: usize| {
            let found = Interval::of_pairs(&data.cct_s[base], &data.cct_s[run]);
            found.filter(|_| base != run).map_or("-".to_owned(), |it| it.to_string())
        };
        let places = 0..runs.len();
        let row = |base| places.clone().map(|run| interval(base, run)).collect();
        data.intervals = places.clone().map(row).collect();
    }
    serde_json::to_string(&data).expect("numbers and texts")
}
