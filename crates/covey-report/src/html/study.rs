//! The page of a study over seeds.

use maud::html;

use super::document::{document, repeat};
use super::figures::figure;
use crate::{Figure, Plot, Study};

/// A self-contained HTML page about policies on several traces, with `command`, the command line
/// that repeats it.
pub fn study_page(study: &Study, command: &str) -> String {
    let table = study.table();
    let (first, last) = study.seeds();
    let base = study.baseline();
    let speedups = study.speedups().iter().enumerate().filter(|(_, it)| it.label != base);
    let curves = speedups.map(|(place, it)| (it.label.clone(), study.by_seed(place).collect()));
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
    let title = format!("Coflow completion times on {}, seeds {first} to {last}", study.trace());
    let header = html! {
        header {
            h1 { (title) }
            p class="lead" { (study.certainty().to_string()) }
        }
    };
    let main = html! {
        section id="results" {
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
        (repeat(command))
    };
    document(&title, header, main)
}
