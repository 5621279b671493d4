//! Bars over a logarithmic axis.

use super::axis::{Axis, CHARACTER, LogAxis};
use super::frame::{EDGE, LINE, WIDTH, lines, rounded, text_lines, vertical_grid, x_title};
use super::series::Series;
use crate::units::{counted, decimals, fixed};
use crate::{Bin, BinMean, Comparison, mean_cct_by_bin};
use maud::{Markup, html};

/// Height of a bar.
const BAR: f64 = 14.0;
/// Height of the gap below a bar.
const GAP: f64 = 8.0;
/// Space between groups.
const GROUP_GAP: f64 = 6.0;
/// Number of characters that always fit into the width of the drawing.
const MAX_CHARACTERS: usize = 46;

/// A group of bars below their common name.
struct Group {
    name: String,
    /// The text at the right of the name; may be empty.
    detail: String,
    bars: Vec<Bar>,
}

/// A bar for one value.
struct Bar {
    class: String,
    value: f64,
    /// The text at the right of the bar; may be empty.
    text: String,
}

impl Group {
    /// The name in lines that leave room for the detail.
    fn lines(&self) -> Vec<String> {
        lines(&self.name, MAX_CHARACTERS - self.detail.chars().count().min(MAX_CHARACTERS / 2))
    }

    fn height(&self) -> f64 {
        LINE * self.lines().len() as f64 + (BAR + GAP) * self.bars.len() as f64 + GROUP_GAP
    }
}

/// Draws the speed-ups of the mean CCT: one panel for each bin, all with the same axis.
pub(super) fn draw(comparison: &Comparison, series: &[Series<'_>]) -> Markup {
    let places = 0..comparison.summaries().len();
    let mean = |place| mean_cct_by_bin(comparison.coflows(), place);
    let means: Vec<[BinMean; 4]> = places.map(mean).collect();
    let base = means[comparison.baseline()];
    let panels = [0, 1, 2, 3].map(|bin| {
        let digits = decimals(means.iter().map(|run| run[bin].mean_cct_s));
        let bar = |(run, series): (&[BinMean; 4], &Series<'_>)| {
            let (mean_s, value) = (run[bin].mean_cct_s, base[bin].mean_cct_s / run[bin].mean_cct_s);
            let detail = format!("{}×, {} s", fixed(value, 2), fixed(mean_s, digits));
            let bars = vec![Bar { class: series.class.clone(), value, text: String::new() }];
            Group { name: series.label.to_owned(), detail, bars }
        };
        means.iter().zip(series).map(bar).collect::<Vec<_>>()
    });
    let axis = axis(panels.iter().flatten());
    let coflows = comparison.summaries()[comparison.baseline()].coflows;
    html! {
        div class="panels" {
            @for (bin, (kind, groups)) in Bin::ALL.into_iter().zip(&panels).enumerate() {
                section {
                    h3 { (kind.name()) " " span { (share(base[bin].coflows, coflows)) } }
                    @if base[bin].coflows > 0 {
                        (panel(
                            &format!("Speed-up of the mean CCT of the coflows that are {}", kind.name()),
                            "speed-up of the mean CCT in this bin",
                            groups,
                            &axis,
                        ))
                    }
                }
            }
        }
    }
}

/// Draws groups of bars. NaN values have no bar. The index of a series decides its colour.
pub(super) fn grouped(
    title: &str,
    x_label: &str,
    unit: &str,
    groups: &[(String, Vec<f64>)],
) -> Markup {
    let group = |(name, values): &(String, Vec<f64>)| {
        let known = values.iter().enumerate().filter(|(_, value)| !value.is_nan());
        let bar = |(index, value): (usize, &f64)| {
            let text = format!("{}{unit}", fixed(*value, 2));
            Bar { class: format!("c{index}"), value: *value, text }
        };
        Group { name: name.clone(), detail: String::new(), bars: known.map(bar).collect() }
    };
    let groups: Vec<Group> = groups.iter().map(group).collect();
    panel(title, x_label, &groups, &axis(&groups))
}

/// The sample of a bar in a legend.
pub(super) fn swatch(index: usize) -> Markup {
    html! { rect class={ "bar c" (index) } x="2" y="0" width="26" height="10" {} }
}

/// The common axis of all bars, with room for their texts at the right.
fn axis<'a>(groups: impl IntoIterator<Item = &'a Group>) -> LogAxis {
    let bars: Vec<&Bar> = groups.into_iter().flat_map(|group| &group.bars).collect();
    let longest = bars.iter().map(|bar| bar.text.chars().count()).max().unwrap_or(0);
    let right = WIDTH - EDGE - CHARACTER * longest as f64;
    LogAxis::of_bars(bars.iter().map(|bar| bar.value), [EDGE, right])
}

/// Draws bars from 1 to their values, or from the end of the axis nearest to 1.
fn panel(title: &str, x_label: &str, groups: &[Group], axis: &LogAxis) -> Markup {
    let bottom: f64 = groups.iter().map(Group::height).sum();
    let start = rounded(axis.at(1.0));
    let tops = groups.iter().scan(0.0, |top, group| {
        let own = *top;
        *top += group.height();
        Some(own)
    });
    html! {
        svg class="plot" viewBox={ "0 0 " (WIDTH) " " (bottom + 66.0) } role="img" aria-label=(title) {
            (vertical_grid(axis, 0.0, bottom))
            line class="mark" x1=(start) x2=(start) y1="0" y2=(bottom) {}
            @for (group, top) in groups.iter().zip(tops) { (draw_group(group, top, start, axis)) }
            (x_title(x_label, bottom))
        }
    }
}

/// Draws a group whose upper edge is at `top`.
fn draw_group(group: &Group, top: f64, start: f64, axis: &LogAxis) -> Markup {
    let name = group.lines();
    let first = top + LINE * name.len() as f64;
    let tops = (0_u32..).map(|k| rounded(first + GAP / 2.0 + (BAR + GAP) * f64::from(k)));
    html! {
        @let y = rounded(top + LINE - 4.0);
        (text_lines(&name, y))
        @if !group.detail.is_empty() { text class="end" x=(WIDTH) y=(y) { (group.detail) } }
        @for (bar, y) in group.bars.iter().zip(tops) {
            @let end = rounded(axis.at(bar.value));
            @if !bar.value.is_nan() {
                rect class={ "bar " (bar.class) } x=(start.min(end)) y=(y)
                    width=(rounded((end - start).abs().max(2.0))) height=(BAR) {}
            }
            @if !bar.text.is_empty() {
                text class="end" x=(WIDTH) y=(y + BAR - 1.0) { (bar.text) }
            }
        }
    }
}

fn share(part: usize, whole: usize) -> String {
    let percent = fixed(100.0 * part as f64 / whole as f64, 1);
    format!("{} ({percent} %)", counted(part, "coflow"))
}
