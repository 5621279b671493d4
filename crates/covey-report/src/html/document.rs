//! What all pages have in common.

use maud::{DOCTYPE, Markup, PreEscaped, html};

/// The style sheet, for screens of any width, light or dark, and for paper.
const STYLE: &str = include_str!("style.css");

/// A whole page that loads nothing, of a header and of what follows it.
pub(super) fn document(title: &str, header: Markup, main: Markup) -> String {
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'";
                meta name="generator" content=(concat!("covey ", env!("CARGO_PKG_VERSION")));
                title { (title) }
                style { (PreEscaped(STYLE)) }
            }
            body {
                (header)
                main { (main) }
                footer { "Made by covey " (env!("CARGO_PKG_VERSION")) "." }
            }
        }
    };
    page.into_string()
}

/// The command line that makes the page again.
pub(super) fn repeat(command: &str) -> Markup {
    html! {
        section {
            h2 { "How to repeat this" }
            pre { code { (command) } }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_style_sheet_loads_nothing_and_cannot_end_its_element() {
        assert!(!STYLE.contains("url(") && !STYLE.contains("@import") && !STYLE.contains('<'));
    }
}
