//! What a page says of a comparison over seeds.

use maud::{Markup, html};

use super::figures::figure;
use crate::{Figure, OverSeeds, Plot};

/// The title, the header and the parts of a page about policies on traces that differ by their
/// seed.
pub(super) fn parts(compared: &OverSeeds) -> (String, Markup, Markup) {
    let table = compared.table();
    let base = compared.baseline();
    let speedups = compared.speedups().iter().enumerate().filter(|(_, it)| it.label != base);
    let curves = speedups.map(|(place, it)| (it.label.clone(), compared.by_seed(place).collect()));
    let curves: Vec<(String, Vec<f64>)> = curves.collect();
    let plot = Figure {
        title: "Speed-up of the mean, seed by seed".to_owned(),
        caption: format!(
            "How to read: the mean CCT under {base} divided by that under the policy, with each seed. At a speed-up on \
             the horizontal axis, a curve's height is the share of seeds that gave at most this speed-up."
        ),
        plot: Plot::Cdf {
            x: "speed-up of the mean CCT".to_owned(),
            of: "seeds".to_owned(),
            mark: Some(1.0),
            curves,
        },
    };
    let title = format!("Coflow completion times on {}, {}", compared.trace(), compared.range());
    let header = html! {
        header {
            h1 { (title) }
            p class="lead" { (compared.certainty().to_string()) }
        }
    };
    let main = html! {
        section {
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
                        @for (row, label) in table.labels.iter().enumerate() {
                            tr {
                                th scope="row" { (label) }
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
        @if table.labels.len() > 1 { (figure(&plot)) }
    };
    (title, header, main)
}
