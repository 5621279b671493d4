//! The pages of results: of one comparison, of one over seeds, and of several traces.

use maud::{Markup, html};

use super::document::{document, repeat, scripted};
use super::{comparison, data, over_seeds};
use crate::{Comparison, Results};

/// A self-contained HTML page about a comparison, with `command`, the command line that repeats it.
pub fn html_page(comparison: &Comparison, command: &str) -> String {
    comparison_page(comparison, &repeat(command, None))
}

/// A self-contained HTML page about results.
pub fn results_page(results: &Results) -> String {
    let repeat = repeat(results.command(), results.study());
    match (results.comparisons(), results.over_seeds()) {
        ([one], []) => comparison_page(one, &repeat),
        ([], [one]) => {
            let (title, header, parts) = over_seeds::parts(one);
            document(&title, header, html! { (parts) (repeat) })
        }
        (comparisons, over_seeds) => {
            let of_one =
                |it| (comparison::title(it), comparison::header(it), comparison::parts(it, false));
            let parts = comparisons.iter().map(of_one);
            let parts = parts.chain(over_seeds.iter().map(over_seeds::parts)).collect();
            page_of_several(parts, &repeat)
        }
    }
}

/// The page of a single comparison, with a script.
fn comparison_page(compared: &Comparison, repeat: &Markup) -> String {
    let main = html! { (comparison::parts(compared, true)) (repeat) };
    let (title, header) = (comparison::title(compared), comparison::header(compared));
    let has_timelines = data::timelines(compared).is_some();
    scripted(&title, header, main, &data::of(compared), has_timelines)
}

/// The page of comparisons on several traces. Each has a title, a header and parts.
fn page_of_several(comparisons: Vec<(String, Markup, Markup)>, repeat: &Markup) -> String {
    let title = format!("Coflow completion times on {} traces", comparisons.len());
    let name = |place: usize| format!("trace-{}", place + 1);
    let head = html! {
        header {
            h1 { (title) }
            ul {
                @for (place, (title, ..)) in comparisons.iter().enumerate() {
                    li { a href={ "#" (name(place)) } { (title) } }
                }
            }
        }
    };
    let main = html! {
        @for (place, (_, header, parts)) in comparisons.iter().enumerate() {
            article id=(name(place)) { (header) (parts) }
        }
        (repeat)
    };
    document(&title, head, main)
}
