//! The frame of a plot: its size, its axes and the lines across it.

use super::axis::Axis;
use maud::{Markup, html};

/// Size of the drawing; the page scales it.
pub(super) const WIDTH: f64 = 560.0;
pub(super) const HEIGHT: f64 = 406.0;
/// The part of it that the axes enclose.
pub(super) const LEFT: f64 = 58.0;
pub(super) const RIGHT: f64 = 540.0;
pub(super) const TOP: f64 = 32.0;
pub(super) const BOTTOM: f64 = 340.0;

/// Two axes and what they measure, with something drawn between them.
pub(super) struct Frame<'a> {
    /// For those who cannot see it.
    pub title: &'a str,
    pub x: (&'a str, &'a dyn Axis),
    pub y: (&'a str, &'a dyn Axis),
}

impl Frame<'_> {
    /// The drawing.
    pub fn draw(&self, inside: Markup) -> Markup {
        html! {
            svg class="plot" viewBox={ "0 0 " (WIDTH) " " (HEIGHT) } role="img" aria-label=(self.title) {
                @for tick in self.y.1.ticks() {
                    @let y = place(tick.at);
                    line class={ "grid" @if tick.label.is_some() { " major" } } x1=(LEFT) x2=(RIGHT) y1=(y) y2=(y) {}
                    @if let Some(label) = tick.label {
                        text class="end" x=(LEFT - 8.0) y=(y) dy="0.35em" { (label) }
                    }
                }
                (vertical_grid(self.x.1, TOP, BOTTOM))
                text x="2" y="14" { (self.y.0) }
                text class="middle" x=((LEFT + RIGHT) / 2.0) y=(BOTTOM + 56.0) { (self.x.0) }
                (inside)
            }
        }
    }
}

/// Vertical lines at the ticks of `axis`, from `top` to `bottom`, and the numbers below.
pub(super) fn vertical_grid(axis: &dyn Axis, top: f64, bottom: f64) -> Markup {
    html! {
        @for tick in axis.ticks() {
            @let x = place(tick.at);
            line class={ "grid" @if tick.label.is_some() { " major" } } x1=(x) x2=(x) y1=(top) y2=(bottom) {}
            @if let Some(label) = tick.label {
                text class="middle" x=(x) y=(bottom + 26.0) { (label) }
            }
        }
    }
}

/// A tenth of a unit is as fine as anybody can see.
pub(super) fn place(x: f64) -> f64 {
    (x * 10.0).round() / 10.0
}
