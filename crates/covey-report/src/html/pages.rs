//! The pages of results: of one comparison, of one over seeds, and of several traces.

use maud::{Markup, html};

use super::data::Data;
use super::document::{repeat, scripted};
use super::{comparison, data, over_seeds};
use crate::{Comparison, OverSeeds, Results};

/// A comparison in a page.
struct Compared<'a> {
    title: String,
    header: Markup,
    parts: Markup,
    data: Data<'a>,
}

/// A self-contained HTML page about a comparison, with `command`, the command line that repeats it.
pub fn html_page(comparison: &Comparison, command: &str) -> String {
    comparison_page(comparison, &repeat(command, None))
}

/// A self-contained HTML page about results.
pub fn results_page(results: &Results) -> String {
    let repeat = repeat(results.command(), results.study());
    let (comparisons, over_seeds) = (results.comparisons(), results.over_seeds());
    match (comparisons, over_seeds) {
        ([one], []) => return comparison_page(one, &repeat),
        ([], [one]) => return page_of_one(of_seeds(one, ""), false, &repeat),
        _ => {}
    }
    let names: Vec<String> = (1..=comparisons.len() + over_seeds.len())
        .map(|number| format!("trace-{number}-"))
        .collect();
    let (own, of_several) = names.split_at(comparisons.len());
    let compared = comparisons.iter().zip(own).map(|(it, at)| of_one(it, at));
    let over_seeds = over_seeds.iter().zip(of_several).map(|(it, at)| of_seeds(it, at));
    page_of_several(compared.chain(over_seeds).collect(), &names, &repeat)
}

fn of_one<'a>(it: &'a Comparison, at: &'a str) -> Compared<'a> {
    let (title, header) = (comparison::title(it), comparison::header(it));
    Compared { title, header, parts: comparison::parts(it, at), data: data::of(it, at) }
}

fn of_seeds<'a>(it: &'a OverSeeds, at: &'a str) -> Compared<'a> {
    let (title, header, parts) = over_seeds::parts(it, at);
    Compared { title, header, parts, data: data::over_seeds(it, at) }
}

fn comparison_page(compared: &Comparison, repeat: &Markup) -> String {
    page_of_one(of_one(compared, ""), data::timelines(compared).is_some(), repeat)
}

fn page_of_one(compared: Compared<'_>, has_timelines: bool, repeat: &Markup) -> String {
    let main = html! { (compared.parts) (repeat) };
    scripted(&compared.title, compared.header, main, &[compared.data], has_timelines)
}

/// The page of comparisons, whose names in it begin with `names`.
fn page_of_several(compared: Vec<Compared<'_>>, names: &[String], repeat: &Markup) -> String {
    let title = format!("Coflow completion times on {} traces", compared.len());
    let head = html! {
        header {
            h1 { (title) }
            ul {
                @for (name, one) in names.iter().zip(&compared) {
                    li { a href={ "#" (name) "comparison" } { (one.title) } }
                }
            }
        }
    };
    let main = html! {
        @for (name, one) in names.iter().zip(&compared) {
            article id={ (name) "comparison" } { (one.header) (one.parts) }
        }
        (repeat)
    };
    let data: Vec<Data<'_>> = compared.into_iter().map(|one| one.data).collect();
    scripted(&title, head, main, &data, false)
}
