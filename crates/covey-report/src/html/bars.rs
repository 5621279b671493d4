//! Bars over a logarithmic axis.

use super::axis::{Axis, LogAxis};
use super::frame::{
    CHARACTER, EDGE, LINE, WIDTH, lines, place, text_lines, vertical_grid, x_title,
};
use super::series::Series;
use crate::units::{counted, decimals, fixed};
use crate::{Bin, BinMean, Comparison, mean_cct_by_bin};
use maud::{Markup, html};

/// Height of a bar, and of the gap below it.
const BAR: f64 = 14.0;
const GAP: f64 = 8.0;
/// Space between groups.
const APART: f64 = 6.0;
/// Characters that are sure to fit into the width of the drawing.
const ACROSS: usize = 46;

/// Bars that belong together, below their name.
struct Group {
    name: String,
    /// What stands at the right of the name; may be empty.
    told: String,
    bars: Vec<Bar>,
}

/// A bar that stands for a value.
struct Bar {
    class: String,
    value: f64,
    /// What stands at the right of the bar; may be empty.
    text: String,
}

impl Group {
    /// Its name in lines that leave room for what stands beside.
    fn lines(&self) -> Vec<String> {
        lines(&self.name, ACROSS - self.told.chars().count().min(ACROSS / 2))
    }

    fn height(&self) -> f64 {
        LINE * self.lines().len() as f64 + (BAR + GAP) * self.bars.len() as f64 + APART
    }
}

/// A panel for each bin, all with the same axis.
pub(super) fn draw(comparison: &Comparison<'_>, series: &[Series<'_>]) -> Markup {
    let means: Vec<[BinMean; 4]> = comparison.runs().iter().map(mean_cct_by_bin).collect();
    let base = means[comparison.baseline()];
    let panels = [0, 1, 2, 3].map(|bin| {
        let digits = decimals(means.iter().map(|run| run[bin].mean_cct_s));
        let bar = |(run, series): (&[BinMean; 4], &Series<'_>)| {
            let (mean_s, value) = (run[bin].mean_cct_s, base[bin].mean_cct_s / run[bin].mean_cct_s);
            let told = format!("{}×, {} s", fixed(value, 2), fixed(mean_s, digits));
            let bars = vec![Bar { class: series.class.clone(), value, text: String::new() }];
            Group { name: series.label.to_owned(), told, bars }
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

/// Groups of bars; there is none where there is no value. The bars of a series have the colour of its place.
pub(super) fn grouped(
    title: &str,
    x_label: &str,
    unit: &str,
    groups: &[(String, Vec<f64>)],
) -> Markup {
    let group = |(name, values): &(String, Vec<f64>)| {
        let known = values.iter().enumerate().filter(|(_, value)| !value.is_nan());
        let bar = |(place, value): (usize, &f64)| {
            let text = format!("{}{unit}", fixed(*value, 2));
            Bar { class: format!("c{place}"), value: *value, text }
        };
        Group { name: name.clone(), told: String::new(), bars: known.map(bar).collect() }
    };
    let groups: Vec<Group> = groups.iter().map(group).collect();
    panel(title, x_label, &groups, &axis(&groups))
}

/// A bar of a legend.
pub(super) fn swatch(place: usize) -> Markup {
    html! { rect class={ "bar c" (place) } x="2" y="0" width="26" height="10" {} }
}

/// The axis of all bars, which leaves room for their texts at its right.
fn axis<'a>(groups: impl IntoIterator<Item = &'a Group>) -> LogAxis {
    let bars: Vec<&Bar> = groups.into_iter().flat_map(|group| &group.bars).collect();
    let longest = bars.iter().map(|bar| bar.text.chars().count()).max().unwrap_or(0);
    let right = WIDTH - EDGE - CHARACTER * longest as f64;
    LogAxis::of_bars(bars.iter().map(|bar| bar.value), [EDGE, right])
}

/// Bars from 1 to their values, or from the end of the axis that is next to 1.
fn panel(title: &str, x_label: &str, groups: &[Group], axis: &LogAxis) -> Markup {
    let bottom: f64 = groups.iter().map(Group::height).sum();
    let start = place(axis.at(1.0));
    let tops = groups.iter().scan(0.0, |top, group| {
        let own = *top;
        *top += group.height();
        Some(own)
    });
    html! {
        svg class="plot" viewBox={ "0 0 " (WIDTH) " " (bottom + 66.0) } role="img" aria-label=(title) {
            (vertical_grid(axis, 0.0, bottom))
            line class="mark" x1=(start) x2=(start) y1="0" y2=(bottom) {}
            @for (group, top) in groups.iter().zip(tops) { (drawn(group, top, start, axis)) }
            (x_title(x_label, bottom))
        }
    }
}

/// A group whose upper edge is at `top`.
fn drawn(group: &Group, top: f64, start: f64, axis: &LogAxis) -> Markup {
    let name = group.lines();
    let first = top + LINE * name.len() as f64;
    let tops = (0_u32..).map(|k| place(first + GAP / 2.0 + (BAR + GAP) * f64::from(k)));
    html! {
        @let y = place(top + LINE - 4.0);
        (text_lines(&name, y))
        @if !group.told.is_empty() { text class="end" x=(WIDTH) y=(y) { (group.told) } }
        @for (bar, y) in group.bars.iter().zip(tops) {
            @let end = place(axis.at(bar.value));
            @if !bar.value.is_nan() {
                rect class={ "bar " (bar.class) } x=(start.min(end)) y=(y)
                    width=(place((end - start).abs().max(2.0))) height=(BAR) {}
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
