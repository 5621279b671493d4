//! The frame of a plot: size, axes and grid lines.

use super::axis::{Axis, CHARACTER};
use maud::{Markup, html};

/// Width of the drawing, which the page scales.
pub(super) const WIDTH: f64 = 560.0;
pub(super) const HEIGHT: f64 = 406.0;
/// The right, upper and lower end of the area between the axes. The left end depends on the width
/// of the numbers there ([`left`]).
pub(super) const RIGHT: f64 = WIDTH - EDGE;
pub(super) const TOP: f64 = 32.0;
pub(super) const BOTTOM: f64 = 340.0;

/// Space beyond an end of a horizontal axis: half of the longest number, which is centred below
/// that end.
pub(super) const EDGE: f64 = 3.0 * CHARACTER + 1.5;
/// Height of a line of text.
pub(super) const LINE: f64 = 22.0;

/// Two axes with their labels.
pub(super) struct Frame<'a> {
    /// The description for screen readers.
    pub title: &'a str,
    /// How the page's script knows the plot, if it redraws it.
    pub name: Option<&'static str>,
    /// Label and horizontal axis.
    pub x: (&'a str, &'a dyn Axis),
    /// Label and vertical axis.
    pub y: (&'a str, &'a dyn Axis),
}

/// The left end of the area between the axes, which leaves room for the numbers of the vertical
/// axis.
pub(super) fn left(y_axis: &dyn Axis) -> f64 {
    let labels = y_axis.ticks().into_iter().filter_map(|tick| tick.label);
    let longest = labels.map(|label| label.chars().count()).max().unwrap_or(0);
    (CHARACTER * longest as f64 + 10.0).max(EDGE)
}

impl Frame<'_> {
    /// Draws the axes, the grid and `inside`.
    pub fn draw(&self, inside: Markup) -> Markup {
        let left = left(self.y.1);
        html! {
            svg class="plot" viewBox={ "0 0 " (WIDTH) " " (HEIGHT) } role="img" aria-label=(self.title)
                data-plot=[self.name] data-left=[self.name.map(|_| left)] data-right=[self.name.map(|_| RIGHT)]
                data-top=[self.name.map(|_| TOP)] data-bottom=[self.name.map(|_| BOTTOM)] {
                @for tick in self.y.1.ticks() {
                    @let y = rounded(tick.at);
                    line class={ "grid" @if tick.label.is_some() { " major" } } x1=(left) x2=(RIGHT) y1=(y) y2=(y) {}
                    @if let Some(label) = tick.label {
                        text class="end" x=(left - 8.0) y=(y) dy="0.35em" { (label) }
                    }
                }
                g class="x" { (vertical_grid(self.x.1, TOP, BOTTOM)) }
                text x="2" y="14" { (self.y.0) }
                (x_title(self.x.0, BOTTOM))
                (inside)
            }
        }
    }
}

/// The label of the horizontal axis, below it.
pub(super) fn x_title(title: &str, bottom: f64) -> Markup {
    html! { text class="middle" x=(WIDTH / 2.0) y=(bottom + 56.0) { (title) } }
}

/// Vertical lines at the ticks of `axis`, from `top` to `bottom`, and the numbers below.
pub(super) fn vertical_grid(axis: &dyn Axis, top: f64, bottom: f64) -> Markup {
    html! {
        @for tick in axis.ticks() {
            @let x = rounded(tick.at);
            line class={ "grid" @if tick.label.is_some() { " major" } } x1=(x) x2=(x) y1=(top) y2=(bottom) {}
            @if let Some(label) = tick.label {
                text class="middle" x=(x) y=(bottom + 26.0) { (label) }
            }
        }
    }
}

/// A name in lines of at most `max` characters, broken after spaces, commas and colons if possible.
pub(super) fn lines(name: &str, max: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in name.split_inclusive([' ', ',', ':']) {
        let letters: Vec<char> = word.chars().collect();
        for piece in letters.chunks(max) {
            let piece: String = piece.iter().collect();
            let last = lines.len() - 1;
            let used = lines[last].chars().count();
            if used > 0 && used + piece.trim_end().chars().count() > max {
                lines.push(piece);
            } else {
                lines[last].push_str(&piece);
            }
        }
    }
    lines
}

/// Lines of text at the left edge, the first at `y`.
pub(super) fn text_lines(lines: &[String], y: f64) -> Markup {
    html! {
        @for (k, line) in (0_u32..).zip(lines) {
            text x="0" y=(rounded(y + LINE * f64::from(k))) { (line.trim_end()) }
        }
    }
}

/// Rounds a coordinate to a tenth of a unit, which is finer than visible.
pub(super) fn rounded(x: f64) -> f64 {
    (x * 10.0).round() / 10.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_name_is_broken_into_lines_without_loss() {
        assert_eq!(lines("aalo", 10), ["aalo"]);
        assert_eq!(lines("aalo:queues=strict,delta=0", 14), ["aalo:", "queues=strict,", "delta=0"]);
        assert_eq!(lines(&"x".repeat(25), 10).concat(), "x".repeat(25));
        assert_eq!(lines("", 10), [""]);
    }
}
