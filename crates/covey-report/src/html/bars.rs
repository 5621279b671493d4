//! Bars of the mean CCT in each bin.

use super::axis::LogAxis;
use super::cdf::{place, vertical_grid};
use super::series::Series;
use crate::units::{counted, decimals, fixed};
use crate::{Bin, BinMean, Comparison, mean_cct_by_bin};
use maud::{Markup, html};

/// Width of a drawing; the page scales it.
const WIDTH: f64 = 560.0;
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
                @let rows = means.iter().zip(series).map(|(run, series)| Row {
                    series,
                    mean_cct_s: run[bin].mean_cct_s,
                    speedup: speedup(run, bin),
                }).collect::<Vec<_>>();
                section {
                    h3 { (kind.name()) " " span { (share(base[bin].coflows, coflows)) } }
                    @if base[bin].coflows > 0 { (panel(kind, &rows, &axis)) }
                }
            }
        }
    }
}

struct Row<'a> {
    series: &'a Series<'a>,
    mean_cct_s: f64,
    speedup: f64,
}

fn panel(bin: Bin, rows: &[Row<'_>], axis: &LogAxis) -> Markup {
    let bottom = ROW * rows.len() as f64;
    let digits = decimals(rows.iter().map(|r| r.mean_cct_s));
    let one = place(axis.at(1.0));
    html! {
        svg class="plot" viewBox={ "0 0 " (WIDTH) " " (bottom + 66.0) } role="img"
            aria-label={ "Speed-up of the mean CCT of the coflows that are " (bin.name()) } {
            (vertical_grid(axis, 0.0, bottom))
            line class="mark" x1=(one) x2=(one) y1="0" y2=(bottom) {}
            @for (row, top) in rows.iter().zip((0..).map(|i| ROW * f64::from(i))) {
                @let end = place(axis.at(row.speedup));
                text x="0" y=(top + TEXT) { (row.series.short_label()) }
                text class="end" x=(WIDTH) y=(top + TEXT) {
                    (fixed(row.speedup, 2)) "×, " (fixed(row.mean_cct_s, digits)) " s"
                }
                @if !row.speedup.is_nan() {
                    rect class={ "bar " (row.series.class) } x=(one.min(end)) y=(top + TEXT + 5.0)
                        width=((end - one).abs().max(2.0)) height=(BAR) {}
                }
            }
            text class="middle" x=(WIDTH / 2.0) y=(bottom + 56.0) { "speed-up of the mean CCT in this bin" }
        }
    }
}

fn share(part: usize, whole: usize) -> String {
    let percent = fixed(100.0 * part as f64 / whole as f64, 1);
    format!("{} ({percent} %)", counted(part, "coflow"))
}
