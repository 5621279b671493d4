//! What the script of a page reads of a comparison.

use serde::Serialize;

use crate::{Comparison, Interval, OverSeeds, Timelines};

/// A page with more coflows than that would be too large for a browser.
const MAX_COFLOWS: usize = 20_000;

/// The object in the page, with a value for each coflow in the order of the trace.
#[derive(Serialize, Default)]
pub(super) struct Data<'a> {
    /// How names of the comparison's elements begin.
    at: &'a str,
    labels: Vec<&'a str>,
    /// The place of the baseline.
    baseline: usize,
    id: Vec<&'a str>,
    arrival_s: &'a [f64],
    /// Flows.
    width: &'a [usize],
    bytes: &'a [f64],
    /// For each policy; none if the trace has too many coflows.
    cct_s: &'a [Vec<f64>],
    /// For each baseline and each policy: the interval of the speed-up of the mean, as the table
    /// shows it.
    intervals: Vec<Vec<String>>,
    /// For each policy, of a comparison over seeds: its speed-up with each of them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    by_seed: Vec<Vec<f64>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    timelines: Option<&'a Timelines>,
}

/// Whether the page lists the coflows.
pub(super) fn has_coflows(comparison: &Comparison) -> bool {
    (1..=MAX_COFLOWS).contains(&comparison.coflows().count())
}

/// The timelines, if the page shows them: they need the names of coflows.
pub(super) fn timelines(comparison: &Comparison) -> Option<&Timelines> {
    comparison.timelines().filter(|_| has_coflows(comparison))
}

/// The data that the page's script reads of a comparison. The names of the comparison's elements
/// begin with `at`. On a page about one comparison `at` is empty; only such a page has timelines.
pub(super) fn of<'a>(comparison: &'a Comparison, at: &'a str) -> Data<'a> {
    let labels: Vec<&str> = comparison.summaries().iter().map(|it| it.label.as_str()).collect();
    let places = 0..labels.len();
    let timelines = timelines(comparison).filter(|_| at.is_empty());
    let mut data =
        Data { at, labels, baseline: comparison.baseline(), timelines, ..Data::default() };
    if has_coflows(comparison) {
        let coflows = comparison.coflows();
        data.id = coflows.id.iter().map(String::as_str).collect();
        data.arrival_s = &coflows.arrival_s;
        data.width = &coflows.width;
        data.bytes = &coflows.bytes;
        data.cct_s = &coflows.cct_s;
        let interval = |base: usize, run: usize| {
            let found = Interval::of_pairs(&data.cct_s[base], &data.cct_s[run]);
            found.filter(|_| base != run).map_or("-".to_owned(), |it| it.to_string())
        };
        let row = |base| places.clone().map(|run| interval(base, run)).collect();
        data.intervals = places.clone().map(row).collect();
    }
    data
}

/// What there is to read of a comparison over seeds.
pub(super) fn over_seeds<'a>(compared: &'a OverSeeds, at: &'a str) -> Data<'a> {
    let labels: Vec<&str> = compared.speedups().iter().map(|it| it.label.as_str()).collect();
    let by_seed = (0..labels.len()).map(|place| compared.by_seed(place).collect()).collect();
    Data { at, labels, baseline: compared.baseline(), by_seed, ..Data::default() }
}
