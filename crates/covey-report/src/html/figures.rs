//! Draws figures from their data.

use super::axis::{Axis, LinearAxis, LogAxis};
use super::bars;
use super::cdf::Cdf;
use super::frame::{BOTTOM, Frame, RIGHT, TOP, left, rounded};
use super::series::{Series, legend, swatches};
use crate::stats::sorted;
use crate::{Figure, Plot};
use maud::{Markup, html};

/// Coordinates of the ends of the vertical axis.
const Y_ENDS: [f64; 2] = [BOTTOM, TOP];

/// A figure with heading, legend and caption.
pub(super) fn figure(figure: &Figure) -> Markup {
    let (drawing, key) = draw(&figure.title, &figure.plot);
    html! {
        figure {
            h3 { (figure.title) }
            (drawing)
            (key)
            figcaption { (figure.caption) }
        }
    }
}

/// The names in the legend of a plot, each with a sample that is 30 wide and 10 high.
pub(super) fn keys(plot: &Plot) -> Vec<(String, Markup)> {
    let line = |one: &Series<'_>| {
        let sample = html! { line class={ "curve " (one.class) } x1="0" y1="5" x2="30" y2="5" {} };
        (one.label.to_owned(), sample)
    };
    match plot {
        Plot::Cdf { curves, .. } | Plot::Tail { curves, .. } => {
            series(curves).iter().map(line).collect()
        }
        Plot::Curves { curves, .. } => series(curves).iter().map(line).collect(),
        Plot::Scatter { points, .. } => {
            series(points).iter().map(|one| (one.label.to_owned(), dot(one))).collect()
        }
        Plot::Bars { series, .. } => {
            (0..).zip(series).map(|(index, name)| (name.clone(), bars::swatch(index))).collect()
        }
    }
}

/// The drawing and its legend.
pub(super) fn draw(title: &str, plot: &Plot) -> (Markup, Markup) {
    match plot {
        Plot::Cdf { x, of, mark, curves } => {
            let series = series(curves);
            let values = curves.iter().map(|(_, values)| values.clone());
            let curves = series.iter().zip(values).collect();
            let (title, x_label) = (title.to_owned(), x.clone());
            (Cdf { title, x_label, of, mark: *mark, name: None, curves }.draw(), legend(&series))
        }
        Plot::Tail { x, of, curves } => {
            let series = series(curves);
            let tails: Vec<Vec<[f64; 2]>> = curves.iter().map(|(_, values)| tail(values)).collect();
            let values = |axis: usize| tails.iter().flatten().map(move |point| point[axis]);
            let y_axis = LogAxis::covering(values(1), Y_ENDS);
            let x_axis = LogAxis::covering(values(0), [left(&y_axis), RIGHT]);
            let inside = html! {
                @for (one, points) in series.iter().zip(&tails) {
                    path class={ "curve " (one.class) } d=(path(points, &x_axis, &y_axis)) { title { (one.label) } }
                }
            };
            let y = format!("{of} that take longer (%)");
            let frame = Frame { title, name: None, x: (x, &x_axis), y: (&y, &y_axis) };
            (frame.draw(inside), legend(&series))
        }
        Plot::Bars { x, unit, series, groups } => {
            let key = (0..).zip(series).map(|(index, name)| (name.as_str(), bars::swatch(index)));
            (bars::grouped(title, x, unit, groups), swatches(key))
        }
        Plot::Scatter { x, y, points } => {
            let series = series(points);
            // Both axes have the same unit, so they show the same range.
            let values = || points.iter().flat_map(|(_, points)| points).flatten().copied();
            let y_axis = LogAxis::covering(values(), Y_ENDS);
            let x_axis = LogAxis::covering(values(), [left(&y_axis), RIGHT]);
            let inside = html! {
                line class="mark" x1=(left(&y_axis)) x2=(RIGHT) y1=(BOTTOM) y2=(TOP) {}
                @for (one, (_, points)) in series.iter().zip(points) {
                    @for [x, y] in points.iter().filter(|point| point.iter().all(|v| !v.is_nan())) {
                        circle class={ "dot " (one.class) } cx=(rounded(x_axis.at(*x))) cy=(rounded(y_axis.at(*y))) r="4" {}
                    }
                }
            };
            let frame = Frame { title, name: None, x: (x, &x_axis), y: (y, &y_axis) };
            (frame.draw(inside), swatches(series.iter().map(|one| (one.label, dot(one)))))
        }
        Plot::Curves { x, y, curves } => {
            let series = series(curves);
            let all = || curves.iter().flat_map(|(_, points)| points);
            let y_axis = LinearAxis::covering(all().map(|[_, y]| *y), Y_ENDS);
            let x_axis = LogAxis::covering(all().map(|[x, _]| *x), [left(&y_axis), RIGHT]);
            let inside = html! {
                @for (one, (name, points)) in series.iter().zip(curves) {
                    path class={ "curve " (one.class) } d=(path(points, &x_axis, &y_axis)) { title { (name) } }
                    @for [x, y] in points.iter().filter(|[_, y]| !y.is_nan()) {
                        circle class={ "dot " (one.class) } cx=(rounded(x_axis.at(*x))) cy=(rounded(y_axis.at(*y))) r="3" {}
                    }
                }
            };
            let frame = Frame { title, name: None, x: (x, &x_axis), y: (y, &y_axis) };
            (frame.draw(inside), legend(&series))
        }
    }
}

/// The corners of the staircase of the share of values, in percent, that are at least as great.
fn tail(values: &[f64]) -> Vec<[f64; 2]> {
    let values = sorted(values.iter().copied().filter(|value| *value > 0.0));
    let all = values.len() as f64;
    let share = |k: usize| 100.0 * (all - k as f64) / all;
    let corners = |(k, value): (usize, &f64)| {
        let below = (k + 1 < values.len()).then(|| [*value, share(k + 1)]);
        [Some([*value, share(k)]), below].into_iter().flatten()
    };
    values.iter().enumerate().flat_map(corners).collect()
}

/// A series for each name.
fn series<T>(named: &[(String, T)]) -> Vec<Series<'_>> {
    Series::named(named.iter().map(|(name, _)| name.as_str()), None)
}

/// A line through all points.
fn path(points: &[[f64; 2]], x: &dyn Axis, y: &dyn Axis) -> String {
    let points = points.iter().filter(|[_, y]| !y.is_nan());
    let coordinates = points.map(|[a, b]| format!("{} {}", rounded(x.at(*a)), rounded(y.at(*b))));
    let coordinates: Vec<String> = coordinates.collect();
    if coordinates.is_empty() { String::new() } else { format!("M{}", coordinates.join("L")) }
}

/// The sample of a dot in a legend.
fn dot(series: &Series<'_>) -> Markup {
    html! { circle class={ "dot " (series.class) } cx="15" cy="5" r="4" {} }
}
