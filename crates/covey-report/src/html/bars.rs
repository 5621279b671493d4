//! Bars of the mean CCT in each bin.

use super::axis::{Axis, LogAxis};
use super::frame::{WIDTH, place, vertical_grid};
use super::series::{Series, short_pair};
use crate::units::{counted, decimals, fixed};
use crate::{Bin, BinMean, Comparison, mean_cct_by_bin};
use maud::{Markup, html};

/// The ends of the axis.
const ENDS: [f64; 2] = [20.0, 540.0];
/// Height of a policy: a line of text and a bar.
const ROW: f64 = 48.0;
/// The line of text in it.
const TEXT: f64 = 18.0;
/// Height of a bar.
const BAR: f64 = 12.0;

/// A panel for each bin, all with the same axis.
pub(super) fn draw(comparison: &Comparison<'_>, series: &[Series<'_>]) -> Markup {
    let means: Vec<[BinMean; 4]> = comparison.runs().iter().map(mean_cct_by_bin).collect();
    let base = means[comparison.baseline()];
    let speedup = |run: &[BinMean; 4], bin: usize| base[bin].mean_cct_s / run[bin].mean_cct_s;
    let all = means.iter().flat_map(|run| (0..4).map(move |bin| speedup(run, bin)));
    let axis = LogAxis::covering(all.chain([1.0]), ENDS);
    let coflows = comparison.summaries()[comparison.baseline()].coflows;
    html! {
        div class="panels" {
            @for (bin, kind) in Bin::ALL.into_iter().enumerate() {
                @let digits = decimals(means.iter().map(|run| run[bin].mean_cct_s));
                @let rows = means.iter().zip(series).map(|(run, series)| Row {
                    label: series.short_label(),
                    class: &series.class,
                    value: speedup(run, bin),
                    note: format!("×, {} s", fixed(run[bin].mean_cct_s, digits)),
                }).collect::<Vec<_>>();
                section {
                    h3 { (kind.name()) " " span { (share(base[bin].coflows, coflows)) } }
                    @if base[bin].coflows > 0 {
                        (panel(
                            &format!("Speed-up of the mean CCT of the coflows that are {}", kind.name()),
                            "speed-up of the mean CCT in this bin",
                            &rows,
                            &axis,
                        ))
                    }
                }
            }
        }
    }
}

/// Groups of bars, those of one series alike; there is none where there is no value.
pub(super) fn grouped(
    title: &str,
    x_label: &str,
    unit: &str,
    series: &[String],
    groups: &[(String, Vec<f64>)],
) -> Markup {
    let bars = groups.iter().flat_map(|(group, values)| {
        let named = series.iter().zip(values).enumerate();
        named.map(move |(i, (one, value))| (short_pair(group, one), format!("c{i}"), *value))
    });
    let bars: Vec<_> = bars.filter(|(.., value)| !value.is_nan()).collect();
    let axis = LogAxis::covering(bars.iter().map(|(.., value)| *value).chain([1.0]), ENDS);
    let rows = bars.iter().map(|(label, class, value)| Row {
        label: label.clone(),
        class,
        value: *value,
        note: unit.to_owned(),
    });
    panel(title, x_label, &rows.collect::<Vec<_>>(), &axis)
}

/// A bar from 1 to its value.
struct Row<'a> {
    label: String,
    class: &'a str,
    value: f64,
    /// What stands behind the value.
    note: String,
}

fn panel(title: &str, x_label: &str, rows: &[Row<'_>], axis: &LogAxis) -> Markup {
    let bottom = ROW * rows.len() as f64;
    let one = place(axis.at(1.0));
    html! {
        svg class="plot" viewBox={ "0 0 " (WIDTH) " " (bottom + 66.0) } role="img" aria-label=(title) {
            (vertical_grid(axis, 0.0, bottom))
            line class="mark" x1=(one) x2=(one) y1="0" y2=(bottom) {}
            @for (row, top) in rows.iter().zip((0..).map(|i| ROW * f64::from(i))) {
                @let end = place(axis.at(row.value));
                text x="0" y=(top + TEXT) { (row.label) }
                text class="end" x=(WIDTH) y=(top + TEXT) {
                    (fixed(row.value, 2)) (row.note)
                }
                @if !row.value.is_nan() {
                    rect class={ "bar " (row.class) } x=(one.min(end)) y=(top + TEXT + 5.0)
                        width=((end - one).abs().max(2.0)) height=(BAR) {}
                }
            }
            text class="middle" x=(WIDTH / 2.0) y=(bottom + 56.0) { (x_label) }
        }
    }
}

fn share(part: usize, whole: usize) -> String {
    let percent = fixed(100.0 * part as f64 / whole as f64, 1);
    format!("{} ({percent} %)", counted(part, "coflow"))
}
