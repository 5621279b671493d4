//! HTML pages: each is one file that loads nothing. The page of a comparison has a script, and
//! shows the same without.

mod appendix;
mod axis;
mod bars;
mod cdf;
mod data;
mod document;
mod figures;
mod files;
mod frame;
mod identification;
mod series;
mod study;
mod whatif;

use crate::table::Table;
use crate::text::{bound, jobs_note, load};
use crate::tiers;
use crate::units::{decimals, fixed};
use crate::{Claim, Comparison, published};
use cdf::Cdf;
use document::{repeat, scripted};
use maud::{Markup, html};
use series::{Series, legend};

pub use appendix::{Appendix, Cell, CellKind, Grid, Part, Row, appendix_page};
pub use files::{FigureStyle, figure_files};
pub use identification::identification_page;
pub use study::study_page;
pub use whatif::whatif_page;

/// A self-contained HTML page about a comparison: the table, the distributions of CCT and of the
/// speed-up over the baseline, the mean CCT in Aalo's bins, the parameters, and `command`, the
/// command line that repeats it.
pub fn html_page(comparison: &Comparison<'_>, command: &str) -> String {
    let base = &comparison.summaries()[comparison.baseline()];
    let series = Series::all(comparison);
    let main = html! {
        (results(comparison, &series))
        (published_values(comparison.claims()))
        div class="pair" {
            (cct_figure(comparison, &series))
            @if series.len() > 1 { (speedup_figure(comparison, &series)) }
        }
        @if series.len() > 1 { (bins_figure(comparison, &series)) }
        (busiest_links(comparison))
        @if data::has_coflows(comparison) { section id="coflows" hidden { h2 { "Coflows" } } }
        (parameters(comparison, &series))
        (repeat(command))
    };
    let title = format!("Coflow completion times on {}", base.trace);
    scripted(&title, header(comparison), main, &data::of(comparison))
}

fn header(comparison: &Comparison<'_>) -> Markup {
    let base = &comparison.summaries()[comparison.baseline()];
    html! {
        header {
            h1 { "Coflow completion times on " (base.trace) }
            p { (load(base)) "." }
            @if base.coflows > 0 && comparison.runs().len() > 1 { (winner(comparison)) }
            @if base.coflows > 1 && comparison.runs().len() > 1 {
                p class="note" { (comparison.certainty().to_string()) }
            }
        }
    }
}

/// A summary in a sentence for each kind of policy: which has the lowest mean CCT.
fn winner(comparison: &Comparison<'_>) -> Markup {
    let kinds = [
        (Some(false), "has the lowest mean CCT of those that know no sizes"),
        (Some(true), "has the lowest mean CCT of those that know sizes"),
        (None, "has the lowest mean CCT"),
    ];
    html! {
        @for (kind, what) in kinds { (best_of(comparison, kind, what)) }
    }
}

/// Speed-ups that differ by less are no difference.
const NO_DIFFERENCE: f64 = 0.005;

/// The policy with the lowest mean CCT of those that know sizes or not, or of which that is
/// unknown.
fn best_of(comparison: &Comparison<'_>, knows_sizes: Option<bool>, what: &str) -> Markup {
    let base = &comparison.summaries()[comparison.baseline()];
    let both = comparison.summaries().iter().zip(comparison.speedups()).zip(comparison.runs());
    let of_kind = both.filter(|(_, run)| run.info().knows_sizes == knows_sizes);
    let best = of_kind.min_by(|((a, _), _), ((b, _), _)| a.cct_s.mean.total_cmp(&b.cct_s.mean));
    html! {
        @if let Some(((best, speedup), _)) = best {
            p class="lead" {
                b { (best.label) } " " (what) ": "
                (fixed(best.cct_s.mean, decimals([best.cct_s.mean]))) " s"
                @if best.label != base.label {
                    @let is_certain = speedup.interval.is_none_or(|it| it.is_faster().is_some());
                    @if (speedup.mean_of_means - 1.0).abs() < NO_DIFFERENCE {
                        ", no difference from " b { (base.label) }
                    } @else if is_certain {
                        ", " (fixed(speedup.mean_of_means, 2)) " times as fast as " b { (base.label) }
                    } @else {
                        ", no certain difference from " b { (base.label) }
                    }
                }
                @if let Some(distance) = best.mean_over_bound() {
                    " and " (fixed(distance, 2)) " times the lower bound"
                }
                "."
            }
        }
    }
}

fn results(comparison: &Comparison<'_>, series: &[Series<'_>]) -> Markup {
    let mut table = Table::of(comparison);
    // First what a narrow screen should show.
    table.columns.sort_by_key(|column| column.heading[0] != "speed-up");
    let knows = |run: &crate::Run<'_>| run.info().knows_sizes;
    let says_knows = comparison.runs().iter().any(|run| knows(run).is_some());
    let base = series[comparison.baseline()].label;
    html! {
        section id="results" {
            h2 { "Results" }
            div class="scroll" role="region" tabindex="0" aria-label="Results" {
                table {
                    thead {
                        tr {
                            th scope="col" { "policy" }
                            @if says_knows { th scope="col" { "knows" br; span { "sizes" } } }
                            @for column in &table.columns {
                                th scope="col" data-column=(column.heading.join(" ")) { (column.heading[0]) br; span { (column.heading[1]) } }
                            }
                        }
                    }
                    tbody {
                        @for (row, (policy, run)) in series.iter().zip(comparison.runs()).enumerate() {
                            tr {
                                th scope="row" { (policy.key()) }
                                @if says_knows {
                                    td { (knows(run).map_or("–", |knows| if knows { "yes" } else { "no" })) }
                                }
                                @for column in &table.columns { td { (column.cells[row]) } }
                            }
                        }
                    }
                }
            }
            p class="note" {
                "CCT, the coflow completion time, runs from a coflow's arrival to the end of its last flow. "
                "Speed-ups are over " b data-base { (base) } "; above 1 is faster. One is of the mean CCT, the other is the median "
                "of the speed-ups of single coflows. "
                @if comparison.runs().len() > 1 && comparison.certainty().n > 1 {
                    i { "95 %" } " is the interval of the first, over " (comparison.certainty().basis()) ". "
                }
                @if let Some(bound) = bound(comparison.summaries()) {
                    "No schedule has a mean CCT below " b { (bound) } "; "
                    i { "mean / bound" } " is a policy's mean CCT over this bound. "
                }
                @if let Some(note) = jobs_note(comparison) { (note) " " }
                i { "wall" } " is the time the simulation took."
            }
        }
    }
}

/// How busy the workload keeps the links, if links between hosts can limit rates.
fn busiest_links(comparison: &Comparison<'_>) -> Markup {
    let tiers = &comparison.runs()[comparison.baseline()].info().tiers;
    let headings = ["tier", "links", "mean busy (s)", "max busy (s)", "busiest link"];
    html! {
        @if !tiers.is_empty() {
            section id="links" {
                h2 { "Links" }
                div class="scroll" role="region" tabindex="0" aria-label="Links" {
                    table {
                        thead { tr { @for heading in headings { th scope="col" { (heading) } } } }
                        tbody {
                            @for [tier, links, mean, max, busiest] in tiers::rows(tiers) {
                                tr {
                                    th scope="row" { (tier) }
                                    td { (links) }
                                    td { (mean) }
                                    td { (max) }
                                    td { (busiest) }
                                }
                            }
                        }
                    }
                }
                p class="note" { (tiers::MEANING) }
            }
        }
    }
}

/// Published values beside ours.
fn published_values(claims: &[Claim]) -> Markup {
    html! {
        @if !claims.is_empty() {
            section id="published" {
                h2 { "Published values" }
                p { (Claim::tally(claims)) }
                div class="scroll" role="region" tabindex="0" aria-label="Published values" {
                    table {
                        thead {
                            tr {
                                th scope="col" { "policy" }
                                @for [a, b] in published::HEADINGS { th scope="col" { (a) " " (b) } }
                            }
                        }
                        tbody {
                            @for claim in claims {
                                tr {
                                    th scope="row" { (claim.policy) }
                                    @for cell in claim.cells() { td { (cell) } }
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}

fn cct_figure(comparison: &Comparison<'_>, series: &[Series<'_>]) -> Markup {
    let runs = series.iter().zip(comparison.runs());
    let plot = Cdf {
        title: "Cumulative distribution of the coflow completion time".to_owned(),
        x_label: "CCT (s)".to_owned(),
        of: "coflows",
        mark: None,
        name: Some("cct"),
        curves: runs.map(|(policy, run)| (policy, run.ccts_s().collect())).collect(),
    };
    html! {
        figure {
            h2 { "Completion times" }
            (plot.draw())
            (legend(series))
            figcaption {
                "How to read: at a time on the horizontal axis, a curve's height is the share of coflows that took "
                "at most this time. A curve further left is faster. The axis is logarithmic: the long coflows at "
                "the top right decide the mean."
            }
        }
    }
}

fn speedup_figure(comparison: &Comparison<'_>, series: &[Series<'_>]) -> Markup {
    let base = &series[comparison.baseline()];
    let others = || {
        let all = series.iter().zip(comparison.runs()).enumerate();
        all.filter(|(i, _)| *i != comparison.baseline()).map(|(_, other)| other)
    };
    let plot = Cdf {
        title: format!("Cumulative distribution of the speed-up over {}", base.label),
        x_label: match base.label.chars().count() {
            // Longer labels do not fit below the plot.
            0..=20 => format!("speed-up of a coflow over {}", base.label),
            _ => "speed-up of a coflow over the baseline".to_owned(),
        },
        of: "coflows",
        mark: Some(1.0),
        name: Some("speedup"),
        curves: others().map(|(policy, run)| (policy, comparison.ratios(run).collect())).collect(),
    };
    html! {
        figure {
            h2 { "Speed-up, coflow by coflow" }
            (plot.draw())
            (legend(others().map(|(policy, _)| policy)))
            figcaption {
                "How to read: each coflow's CCT under " b data-base { (base.label) } " divided by its CCT under the policy. "
                "The height at which a curve crosses the vertical line at 1 is the share of coflows that are slower; "
                "coflows to the right of the line are faster."
            }
        }
    }
}

fn bins_figure(comparison: &Comparison<'_>, series: &[Series<'_>]) -> Markup {
    let base = series[comparison.baseline()].label;
    html! {
        figure {
            h2 { "Mean CCT by kind of coflow" }
            (bars::draw(comparison, series))
            figcaption {
                "How to read: bars to the right of 1 mean faster than " b { (base) } ", bars to the left slower. "
                "The numbers are the speed-up of the mean CCT in the bin, and the mean CCT. "
                "A coflow is short if its longest flow has less than 5 MB (a MB is 1,048,576 bytes), "
                "and narrow if it has at most 50 flows."
            }
        }
    }
}

fn parameters(comparison: &Comparison<'_>, series: &[Series<'_>]) -> Markup {
    html! {
        section id="parameters" {
            h2 { "Parameters" }
            dl {
                @for (policy, summary) in series.iter().zip(comparison.summaries()) {
                    dt { (policy.key()) }
                    dd {
                        (summary.policy)
                        @if summary.params.is_empty() { " without parameters" }
                        @for (key, value) in &summary.params { " " code { (key) "=" (value) } }
                    }
                }
            }
        }
    }
}
