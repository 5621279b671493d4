//! The frame of a plot: its size, its axes and the lines across it.

use super::axis::Axis;
use maud::{Markup, html};

/// Size of the drawing; the page scales it.
pub(super) const WIDTH: f64 = 560.0;
pub(super) const HEIGHT: f64 = 406.0;
/// The part of it that the axes enclose. Where it begins at the left depends on the numbers there.
pub(super) const RIGHT: f64 = WIDTH - EDGE;
pub(super) const TOP: f64 = 32.0;
pub(super) const BOTTOM: f64 = 340.0;

/// Width of a character at most, in the larger letters of narrow screens.
pub(super) const CHARACTER: f64 = 12.8;
/// Space beyond an end of a horizontal axis: half of its longest number, which is below that end.
pub(super) const EDGE: f64 = 3.0 * CHARACTER + 1.5;
/// Height of a line of text.
pub(super) const LINE: f64 = 22.0;

/// Two axes and what they measure, with something drawn between them.
pub(super) struct Frame<'a> {
    /// For those who cannot see it.
    pub title: &'a str,
    pub x: (&'a str, &'a dyn Axis),
    pub y: (&'a str, &'a dyn Axis),
}

/// Where plots begin that have these numbers at their left.
pub(super) fn left(up: &dyn Axis) -> f64 {
    let labels = up.ticks().into_iter().filter_map(|tick| tick.label);
    let longest = labels.map(|label| label.chars().count()).max().unwrap_or(0);
    (CHARACTER * longest as f64 + 10.0).max(EDGE)
}

impl Frame<'_> {
    /// The drawing.
    pub fn draw(&self, inside: Markup) -> Markup {
        let left = left(self.y.1);
        html! {
            svg class="plot" viewBox={ "0 0 " (WIDTH) " " (HEIGHT) } role="img" aria-label=(self.title) {
                @for tick in self.y.1.ticks() {
                    @let y = place(tick.at);
                    line class={ "grid" @if tick.label.is_some() { " major" } } x1=(left) x2=(RIGHT) y1=(y) y2=(y) {}
                    @if let Some(label) = tick.label {
                        text class="end" x=(left - 8.0) y=(y) dy="0.35em" { (label) }
                    }
                }
                (vertical_grid(self.x.1, TOP, BOTTOM))
                text x="2" y="14" { (self.y.0) }
                (x_title(self.x.0, BOTTOM))
                (inside)
            }
        }
    }
}

/// What the horizontal axis measures, below it.
pub(super) fn x_title(title: &str, bottom: f64) -> Markup {
    html! { text class="middle" x=(WIDTH / 2.0) y=(bottom + 56.0) { (title) } }
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

/// A name in lines of at most `most` characters, broken after punctuation where there is some.
pub(super) fn lines(name: &str, most: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in name.split_inclusive([' ', ',', ':']) {
        let letters: Vec<char> = word.chars().collect();
        for piece in letters.chunks(most) {
            let piece: String = piece.iter().collect();
            let last = lines.len() - 1;
            let used = lines[last].chars().count();
            if used > 0 && used + piece.trim_end().chars().count() > most {
                lines.push(piece);
            } else {
                lines[last].push_str(&piece);
            }
        }
    }
    lines
}

/// Lines of text from the left edge, the first at `y`.
pub(super) fn text_lines(lines: &[String], y: f64) -> Markup {
    html! {
        @for (k, line) in (0_u32..).zip(lines) {
            text x="0" y=(place(y + LINE * f64::from(k))) { (line.trim_end()) }
        }
    }
}

/// A tenth of a unit is as fine as anybody can see.
pub(super) fn place(x: f64) -> f64 {
    (x * 10.0).round() / 10.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_name_is_in_lines_and_all_of_it() {
        assert_eq!(lines("aalo", 10), ["aalo"]);
        assert_eq!(lines("aalo:queues=strict,delta=0", 14), ["aalo:", "queues=strict,", "delta=0"]);
        assert_eq!(lines(&"x".repeat(25), 10).concat(), "x".repeat(25));
        assert_eq!(lines("", 10), [""]);
    }
}
