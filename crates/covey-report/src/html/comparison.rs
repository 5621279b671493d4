//! What a page says of a comparison.

use super::cdf::Cdf;
use super::series::{Series, legend};
use super::{bars, data};
use crate::table::Table;
use crate::text::{bound, jobs_note, load};
use crate::tiers;
use crate::units::{decimals, fixed};
use crate::{Claim, Comparison, Timelines, published};
use maud::{Markup, html};

/// The parts of a page about a comparison: the table, the distributions of CCT and of the speed-up
/// over the baseline, the mean CCT in Aalo's bins, the coflows, the parameters. The names of its
/// sections begin with `at`, which is empty if the page is about this alone.
pub(super) fn parts(comparison: &Comparison, at: &str) -> Markup {
    let series = Series::all(comparison);
    html! {
        (results(comparison, &series, at))
        (published_values(comparison.claims(), at))
        div class="pair" {
            (cct_figure(comparison, &series))
            @if series.len() > 1 { (speedup_figure(comparison, &series)) }
        }
        @if series.len() > 1 { (bins_figure(comparison, &series)) }
        @if at.is_empty() { (timelines(data::timelines(comparison))) }
        (busiest_links(comparison, at))
        @if data::has_coflows(comparison) {
            section id={ (at) "coflows" } hidden { h2 { "Coflows" } }
        }
        (parameters(comparison, &series, at))
    }
}

/// The title of a page about a comparison.
pub(super) fn title(comparison: &Comparison) -> String {
    format!("Coflow completion times on {}", comparison.summaries()[comparison.baseline()].trace)
}

/// The header of a page about a comparison.
pub(super) fn header(comparison: &Comparison) -> Markup {
    let base = &comparison.summaries()[comparison.baseline()];
    html! {
        header {
            h1 { (title(comparison)) }
            p { (load(base)) "." }
            @if base.coflows > 0 && comparison.summaries().len() > 1 { (winner(comparison)) }
            @if base.coflows > 1 && comparison.summaries().len() > 1 {
                p class="note" { (comparison.certainty().to_string()) }
            }
        }
    }
}

/// A summary in a sentence for each kind of policy: which has the lowest mean CCT.
fn winner(comparison: &Comparison) -> Markup {
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
fn best_of(comparison: &Comparison, knows_sizes: Option<bool>, what: &str) -> Markup {
    let base = &comparison.summaries()[comparison.baseline()];
    let both = comparison.summaries().iter().zip(comparison.speedups());
    let of_kind = both.filter(|(summary, _)| summary.knows_sizes == knows_sizes);
    let best = of_kind.min_by(|(a, _), (b, _)| a.cct_s.mean.total_cmp(&b.cct_s.mean));
    html! {
        @if let Some((best, speedup)) = best {
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

fn results(comparison: &Comparison, series: &[Series<'_>], at: &str) -> Markup {
    let mut table = Table::of(comparison);
    // First what a narrow screen should show.
    table.columns.sort_by_key(|column| column.heading[0] != "speed-up");
    let says_knows = comparison.summaries().iter().any(|it| it.knows_sizes.is_some());
    let base = series[comparison.baseline()].label;
    html! {
        section id={ (at) "results" } {
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
                        @for (row, (policy, summary)) in series.iter().zip(comparison.summaries()).enumerate() {
                            tr {
                                th scope="row" { (policy.key()) }
                                @if says_knows {
                                    td { (summary.knows_sizes.map_or("–", |knows| if knows { "yes" } else { "no" })) }
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
                @if comparison.summaries().len() > 1 && comparison.certainty().n > 1 {
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

/// The place of the timelines, which the page's script draws.
fn timelines(timelines: Option<&Timelines>) -> Markup {
    html! {
        @if let Some(timelines) = timelines {
            section id="timelines" hidden {
                h2 { "Who sends when" }
                p class="note" { (timelines.notes().join(" ")) }
            }
        }
    }
}

/// How busy the workload keeps the links, if links between hosts can limit rates.
fn busiest_links(comparison: &Comparison, at: &str) -> Markup {
    let tiers = comparison.tiers();
    let headings = ["tier", "links", "mean busy (s)", "max busy (s)", "busiest link"];
    html! {
        @if !tiers.is_empty() {
            section id={ (at) "links" } {
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
fn published_values(claims: &[Claim], at: &str) -> Markup {
    html! {
        @if !claims.is_empty() {
            section id={ (at) "published" } {
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

fn cct_figure(comparison: &Comparison, series: &[Series<'_>]) -> Markup {
    let runs = series.iter().zip(&comparison.coflows().cct_s);
    let plot = Cdf {
        title: "Cumulative distribution of the coflow completion time".to_owned(),
        x_label: "CCT (s)".to_owned(),
        of: "coflows",
        mark: None,
        name: Some("cct"),
        curves: runs.map(|(policy, ccts_s)| (policy, ccts_s.clone())).collect(),
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

fn speedup_figure(comparison: &Comparison, series: &[Series<'_>]) -> Markup {
    let base = &series[comparison.baseline()];
    let others = || series.iter().enumerate().filter(|(place, _)| *place != comparison.baseline());
    let curve = |(place, policy)| (policy, comparison.ratios(place).collect());
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
        curves: others().map(curve).collect(),
    };
    html! {
        figure {
            h2 { "Speed-up, coflow by coflow" }
            (plot.draw())
            (legend(others().map(|(_, policy)| policy)))
            figcaption {
                "How to read: each coflow's CCT under " b data-base { (base.label) } " divided by its CCT under the policy. "
                "The height at which a curve crosses the vertical line at 1 is the share of coflows that are slower; "
                "coflows to the right of the line are faster."
            }
        }
    }
}

fn bins_figure(comparison: &Comparison, series: &[Series<'_>]) -> Markup {
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

fn parameters(comparison: &Comparison, series: &[Series<'_>], at: &str) -> Markup {
    html! {
        section id={ (at) "parameters" } {
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
