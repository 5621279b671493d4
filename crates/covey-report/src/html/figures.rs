//! Figures that come as data.

use super::axis::{Axis, LinearAxis, LogAxis};
use super::bars;
use super::cdf::Cdf;
use super::frame::{BOTTOM, Frame, RIGHT, TOP, left, place};
use super::series::{Series, legend, swatches};
use crate::{Figure, Plot};
use maud::{Markup, html};

/// The ends of the vertical axis.
const UP: [f64; 2] = [BOTTOM, TOP];

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

/// The drawing and its legend.
fn draw(title: &str, plot: &Plot) -> (Markup, Markup) {
    match plot {
        Plot::Cdf { x, of, mark, curves } => {
            let series = series(curves);
            let values = curves.iter().map(|(_, values)| values.clone());
            let curves = series.iter().zip(values).collect();
            let (title, x_label) = (title.to_owned(), x.clone());
            (Cdf { title, x_label, of, mark: *mark, curves }.draw(), legend(&series))
        }
        Plot::Bars { x, unit, series, groups } => {
            let key = (0..).zip(series).map(|(place, name)| (name.as_str(), bars::swatch(place)));
            (bars::grouped(title, x, unit, groups), swatches(key))
        }
        Plot::Scatter { x, y, points } => {
            let series = series(points);
            // Both axes measure alike, so they show the same range.
            let values = || points.iter().flat_map(|(_, points)| points).flatten().copied();
            let up = LogAxis::covering(values(), UP);
            let across = LogAxis::covering(values(), [left(&up), RIGHT]);
            let inside = html! {
                line class="mark" x1=(left(&up)) x2=(RIGHT) y1=(BOTTOM) y2=(TOP) {}
                @for (one, (_, points)) in series.iter().zip(points) {
                    @for [x, y] in points.iter().filter(|point| point.iter().all(|v| !v.is_nan())) {
                        circle class={ "dot " (one.class) } cx=(place(across.at(*x))) cy=(place(up.at(*y))) r="4" {}
                    }
                }
            };
            let frame = Frame { title, x: (x, &across), y: (y, &up) };
            (frame.draw(inside), swatches(series.iter().map(|one| (one.label, dot(one)))))
        }
        Plot::Curves { x, y, curves } => {
            let series = series(curves);
            let all = || curves.iter().flat_map(|(_, points)| points);
            let up = LinearAxis::covering(all().map(|[_, y]| *y), UP);
            let across = LogAxis::covering(all().map(|[x, _]| *x), [left(&up), RIGHT]);
            let inside = html! {
                @for (one, (name, points)) in series.iter().zip(curves) {
                    path class={ "curve " (one.class) } d=(path(points, &across, &up)) { title { (name) } }
                    @for [x, y] in points.iter().filter(|[_, y]| !y.is_nan()) {
                        circle class={ "dot " (one.class) } cx=(place(across.at(*x))) cy=(place(up.at(*y))) r="3" {}
                    }
                }
            };
            let frame = Frame { title, x: (x, &across), y: (y, &up) };
            (frame.draw(inside), legend(&series))
        }
    }
}

/// A series for each name.
fn series<T>(named: &[(String, T)]) -> Vec<Series<'_>> {
    Series::named(named.iter().map(|(name, _)| name.as_str()), None)
}

/// A line through all points.
fn path(points: &[[f64; 2]], x: &dyn Axis, y: &dyn Axis) -> String {
    let points = points.iter().filter(|[_, y]| !y.is_nan());
    let places = points.map(|[a, b]| format!("{} {}", place(x.at(*a)), place(y.at(*b))));
    let places: Vec<String> = places.collect();
    if places.is_empty() { String::new() } else { format!("M{}", places.join("L")) }
}

/// A dot of a legend.
fn dot(series: &Series<'_>) -> Markup {
    html! { circle class={ "dot " (series.class) } cx="15" cy="5" r="4" {} }
}
