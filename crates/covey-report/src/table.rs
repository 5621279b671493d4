//! The table of a comparison, before it is text or HTML.

use crate::Comparison;
use crate::units::{decimals, fixed};

/// Rows of policies, columns of numbers.
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

impl Table {
    pub fn of(comparison: &Comparison<'_>) -> Self {
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
        columns.push(column(["wall", "s"], summaries.iter().map(|s| s.wall_s), 2));
        Self { columns, labels: summaries.iter().map(|s| s.label.clone()).collect() }
    }
}

fn column(heading: [&str; 2], values: impl IntoIterator<Item = f64>, decimals: usize) -> Column {
    let cells = values.into_iter().map(|v| fixed(v, decimals)).collect();
    Column { heading: heading.map(str::to_owned), cells }
}
