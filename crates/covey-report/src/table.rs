//! The table of a comparison, which text and HTML show.

use crate::units::{decimals, fixed};
use crate::{Claim, Comparison, Speedup, Summary, published};

/// A row for each policy, and columns of numbers.
pub(crate) struct Table {
    pub columns: Vec<Column>,
    /// The policies as the user typed them.
    pub labels: Vec<String>,
}

/// A column: two lines of heading, the second with the unit, and a cell for each policy.
pub(crate) struct Column {
    pub heading: [String; 2],
    pub cells: Vec<String>,
}

/// The heading of the intervals of the speed-up of the mean.
pub(crate) const INTERVAL: [&str; 2] = ["speed-up", "95 %"];

impl Table {
    pub fn of(comparison: &Comparison) -> Self {
        let (summaries, speedups) = (comparison.summaries(), comparison.speedups());
        let cct = |heading, pick: fn(&crate::Distribution) -> f64| {
            let values: Vec<f64> = summaries.iter().map(|s| pick(&s.cct_s)).collect();
            let decimals = decimals(values.iter().copied());
            column(heading, values, decimals)
        };
        let mut columns = vec![
            cct(["mean", "CCT, s"], |d| d.mean),
            cct(["p50", "s"], |d| d.p50),
            cct(["p95", "s"], |d| d.p95),
            cct(["p99", "s"], |d| d.p99),
            cct(["max", "s"], |d| d.max),
            column(["speed-up", "of mean"], speedups.iter().map(|s| s.mean_of_means), 2),
            column(["speed-up", "median"], speedups.iter().map(|s| s.p50), 2),
        ];
        if summaries.iter().any(|s| s.lower_bound_mean_cct_s.is_some()) {
            let distances = summaries.iter().map(|s| s.mean_over_bound().unwrap_or(f64::NAN));
            columns.push(column(["mean", "/ bound"], distances, 3));
        }
        let unless_empty = |values: Vec<Option<f64>>| -> Option<Vec<f64>> {
            let values = values.into_iter().map(|value| value.unwrap_or(f64::NAN));
            Some(values.collect::<Vec<f64>>()).filter(|values| values.iter().any(|v| !v.is_nan()))
        };
        if let Some(values) =
            unless_empty(summaries.iter().map(|s| s.weighted_mean_cct_s).collect())
        {
            let decimals = decimals(values.iter().copied());
            columns.push(column(["weighted", "CCT, s"], values, decimals));
        }
        if let Some(values) =
            unless_empty(summaries.iter().map(|s| s.jct_s.map(|d| d.mean)).collect())
        {
            let decimals = decimals(values.iter().copied());
            columns.push(column(["mean", "JCT, s"], values, decimals));
            let jct = |speedup: &Speedup| speedup.jct.as_ref().map_or(f64::NAN, |jct| jct.p50);
            columns.push(column(["speed-up", "JCT, median"], speedups.iter().map(jct), 2));
        }
        let met = |summary: &Summary| summary.deadlines_met.map(|met| met as f64);
        if let Some(values) = unless_empty(summaries.iter().map(met).collect()) {
            columns.push(column(["deadlines", "met"], values, 0));
        }
        if summaries.iter().any(|s| s.saved_bytes > 0.0) {
            let saved = summaries.iter().map(|s| 100.0 * s.saved_bytes / s.bytes);
            columns.push(column(["saved", "%"], saved, 1));
        }
        if summaries.iter().any(|s| s.wasted_bytes > 0.0) {
            let wasted = summaries.iter().map(|s| 100.0 * s.wasted_bytes / s.bytes);
            columns.push(column(["wasted", "%"], wasted, 1));
        }
        let interval = |it: &Speedup| it.interval.map_or("-".to_owned(), |it| it.to_string());
        columns.push(Column {
            heading: INTERVAL.map(str::to_owned),
            cells: speedups.iter().map(interval).collect(),
        });
        columns.push(column(["wall", "s"], summaries.iter().map(|s| s.wall_s), 2));
        Self { columns, labels: summaries.iter().map(|s| s.label.clone()).collect() }
    }

    /// Published values beside ours, a row for each.
    pub fn of_claims(claims: &[Claim]) -> Self {
        let mut columns: Vec<_> =
            published::HEADINGS.iter().map(|&heading| column(heading, [], 0)).collect();
        for claim in claims {
            let cells = columns.iter_mut().zip(claim.cells());
            cells.for_each(|(column, cell)| column.cells.push(cell));
        }
        Self { columns, labels: claims.iter().map(|claim| claim.policy.clone()).collect() }
    }
}

pub(crate) fn column(
    heading: [&str; 2],
    values: impl IntoIterator<Item = f64>,
    decimals: usize,
) -> Column {
    let cells = values.into_iter().map(|v| fixed(v, decimals)).collect();
    Column { heading: heading.map(str::to_owned), cells }
}
