//! Plots of cumulative distributions.

use super::axis::{Axis, LogAxis};
use super::frame::{BOTTOM, HEIGHT, LEFT, RIGHT, TOP, WIDTH, place, vertical_grid};
use super::series::Series;
use crate::stats::sorted;
use maud::{Markup, html};
use std::fmt::Write;

/// A curve of more values is drawn through so many of them.
const MAX_POINTS: usize = 2000;

/// What a plot shows.
pub(super) struct Cdf<'a> {
    /// For those who cannot see it.
    pub title: String,
    /// What the horizontal axis measures, with its unit.
    pub x_label: String,
    /// What is counted.
    pub of: &'a str,
    /// A value to mark by a vertical line.
    pub mark: Option<f64>,
    /// The curves: each the distribution of its values.
    pub curves: Vec<(&'a Series<'a>, Vec<f64>)>,
}

impl Cdf<'_> {
    /// The drawing.
    pub fn draw(&self) -> Markup {
        let values = self.curves.iter().flat_map(|(_, values)| values).copied();
        let axis = LogAxis::covering(values.chain(self.mark), [LEFT, RIGHT]);
        html! {
            svg class="plot" viewBox={ "0 0 " (WIDTH) " " (HEIGHT) } role="img" aria-label=(self.title) {
                @for percent in [0, 25, 50, 75, 100] {
                    @let y = height(f64::from(percent) / 100.0);
                    line class="grid major" x1=(LEFT) x2=(RIGHT) y1=(y) y2=(y) {}
                    text class="end" x=(LEFT - 8.0) y=(y) dy="0.35em" { (percent) }
                }
                (vertical_grid(&axis, TOP, BOTTOM))
                text x="2" y="14" { (self.of) " (%)" }
                text class="middle" x=((LEFT + RIGHT) / 2.0) y=(BOTTOM + 56.0) { (self.x_label) }
                @if let Some(mark) = self.mark {
                    @let x = place(axis.at(mark));
                    line class="mark" x1=(x) x2=(x) y1=(TOP) y2=(BOTTOM) {}
                }
                @for (series, values) in &self.curves {
                    path class={ "curve " (series.class) } d=(steps(values, &axis)) {
                        title { (series.label) }
                    }
                }
            }
        }
    }
}

/// The distribution of `values` as a staircase: at each value it rises by that value's share.
fn steps(values: &[f64], axis: &LogAxis) -> String {
    let values = sorted(values.iter().copied().filter(|v| !v.is_nan()));
    let points = values.len().min(MAX_POINTS);
    let mut path = String::new();
    for point in 1..=points {
        let rank = point * values.len() / points; // so many values are at most this one
        let x = place(axis.at(values[rank - 1]));
        let y = height(rank as f64 / values.len() as f64);
        if point == 1 {
            let _ = write!(path, "M{x} {BOTTOM}V{y}");
        } else {
            let _ = write!(path, "H{x}V{y}");
        }
    }
    if points > 0 {
        let _ = write!(path, "H{RIGHT}");
    }
    path
}

/// The height of a share from 0 to 1.
fn height(share: f64) -> f64 {
    place(BOTTOM - (BOTTOM - TOP) * share)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_curve_rises_at_each_value_and_ends_at_the_top() {
        let axis = LogAxis::covering([1.0, 100.0], [0.0, 200.0]);
        assert_eq!(
            steps(&[100.0, 10.0, 1.0, 10.0], &axis),
            "M0 340V263H100V186H100V109H200V32H540"
        );
        assert_eq!(steps(&[], &axis), "");
    }

    #[test]
    fn a_long_curve_is_thinned_out_and_keeps_its_end() {
        let values: Vec<f64> = (1..=1_000_000).map(f64::from).collect();
        let axis = LogAxis::covering(values.iter().copied(), [0.0, 200.0]);
        let path = steps(&values, &axis);
        assert_eq!(path.matches('V').count(), MAX_POINTS);
        assert!(path.ends_with("H200V32H540"));
    }
}
