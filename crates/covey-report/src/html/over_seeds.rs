//! What a page says of a comparison over seeds.

use maud::{Markup, html};

use super::cdf::Cdf;
use super::series::{Series, legend};
use crate::OverSeeds;

/// The title, the header and the parts of a page about policies on traces that differ by their
/// seed. `at` begins the names of its sections.
pub(super) fn parts(compared: &OverSeeds, at: &str) -> (String, Markup, Markup) {
    let table = compared.table();
    let labels = compared.speedups().iter().map(|it| it.label.as_str());
    let series = Series::of_policies(labels, compared.baseline());
    let base = series[compared.baseline()].label;
    let title = format!("Coflow completion times on {}, {}", compared.trace(), compared.range());
    let header = html! {
        header {
            h1 { (title) }
            p class="lead" { (compared.certainty().to_string()) }
        }
    };
    let main = html! {
        section id={ (at) "results" } {
            h2 { "Results" }
            div class="scroll" role="region" tabindex="0" aria-label="Results" {
                table {
                    thead { tr {
                        th scope="col" { "policy" }
                        @for column in &table.columns {
                            th scope="col" { (column.heading[0]) br; span { (column.heading[1]) } }
                        }
                    } }
                    tbody {
                        @for (row, policy) in series.iter().enumerate() {
                            tr {
                                th scope="row" { (policy.key()) }
                                @for column in &table.columns { td { (column.cells[row]) } }
                            }
                        }
                    }
                }
            }
            p class="note" {
                "Speed-ups are over " b { (base) } "; above 1 is faster. They are geometric means over the seeds, and "
                i { "95 %" } " is the interval of the speed-up of the mean."
            }
        }
        @if series.len() > 1 { (speedup_figure(compared, &series)) }
    };
    (title, header, main)
}

fn speedup_figure(compared: &OverSeeds, series: &[Series<'_>]) -> Markup {
    let base = series[compared.baseline()].label;
    let others = || series.iter().enumerate().filter(|(place, _)| *place != compared.baseline());
    let plot = Cdf {
        title: format!("Cumulative distribution of the speed-up of the mean over {base}"),
        x_label: "speed-up of the mean CCT".to_owned(),
        of: "seeds",
        mark: Some(1.0),
        name: Some("seeds"),
        curves: others().map(|(place, it)| (it, compared.by_seed(place).collect())).collect(),
    };
    html! {
        figure {
            h2 { "Speed-up of the mean, seed by seed" }
            (plot.draw())
            (legend(others().map(|(_, policy)| policy)))
            figcaption {
                "How to read: the mean CCT under " b { (base) } " divided by that under the policy, with each seed. "
                "At a speed-up on the horizontal axis, a curve's height is the share of seeds that gave at most "
                "this speed-up."
            }
        }
    }
}
