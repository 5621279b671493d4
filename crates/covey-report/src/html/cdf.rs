//! Plots of cumulative distributions.

use super::axis::{Axis, LogAxis, PercentAxis};
use super::frame::{BOTTOM, Frame, RIGHT, TOP, left, rounded};
use super::series::Series;
use crate::stats::sorted;
use maud::{Markup, html};
use std::fmt::Write;

/// A curve of more values is drawn through this number of points.
const MAX_POINTS: usize = 2000;

/// The data and labels of a plot.
pub(super) struct Cdf<'a> {
    /// The description for screen readers.
    pub title: String,
    /// What the horizontal axis measures, with its unit.
    pub x_label: String,
    /// What is counted, such as `coflows`.
    pub of: &'a str,
    /// A value to mark by a vertical line.
    pub mark: Option<f64>,
    /// How the page's script knows the plot, if it redraws it.
    pub name: Option<&'static str>,
    /// The curves, each with the values of its distribution.
    pub curves: Vec<(&'a Series<'a>, Vec<f64>)>,
}

const Y_AXIS: PercentAxis = PercentAxis { ends: [BOTTOM, TOP] };

impl Cdf<'_> {
    /// The drawing.
    pub fn draw(&self) -> Markup {
        let values = self.curves.iter().flat_map(|(_, values)| values).copied();
        let x_axis = LogAxis::covering(values.chain(self.mark), [left(&Y_AXIS), RIGHT]);
        let inside = html! {
            @if let Some(mark) = self.mark {
                @let x = rounded(x_axis.at(mark));
                line class="mark" x1=(x) x2=(x) y1=(TOP) y2=(BOTTOM) {}
            }
            @for (series, values) in &self.curves {
                path class={ "curve " (series.class) } data-policy=[series.place] d=(steps(values, &x_axis)) {
                    title { (series.label) }
                }
            }
        };
        let of = format!("{} (%)", self.of);
        let (x, y) = ((self.x_label.as_str(), &x_axis as _), (of.as_str(), &Y_AXIS as _));
        Frame { title: &self.title, name: self.name, x, y }.draw(inside)
    }
}

/// The distribution of `values` as the path of a staircase, which rises at each value by its share.
fn steps(values: &[f64], axis: &LogAxis) -> String {
    let values = sorted(values.iter().copied().filter(|v| !v.is_nan()));
    let points = values.len().min(MAX_POINTS);
    let mut path = String::new();
    for point in 1..=points {
        let rank = point * values.len() / points; // number of values up to this one
        let x = rounded(axis.at(values[rank - 1]));
        let y = rounded(Y_AXIS.at(rank as f64 / values.len() as f64));
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_curve_rises_at_each_value_and_ends_at_the_top() {
        let axis = LogAxis::covering([1.0, 100.0], [0.0, 200.0]);
        assert_eq!(
            steps(&[100.0, 10.0, 1.0, 10.0], &axis),
            "M0 340V263H100V186H100V109H200V32H520.1"
        );
        assert_eq!(steps(&[], &axis), "");
    }

    #[test]
    fn a_long_curve_has_fewer_points_and_the_same_end() {
        let values: Vec<f64> = (1..=1_000_000).map(f64::from).collect();
        let axis = LogAxis::covering(values.iter().copied(), [0.0, 200.0]);
        let path = steps(&values, &axis);
        assert_eq!(path.matches('V').count(), MAX_POINTS);
        assert!(path.ends_with("H200V32H520.1"));
    }
}
