//! The frame of all pages: head, style sheet and footer.

use super::data::Data;
use crate::palette::{COLOURS, Colour, DARK_PAGE, DASHES};
use maud::{DOCTYPE, Markup, PreEscaped, html};
use std::fmt::Write;

/// The style sheet, for screens of any width, light or dark, and for paper.
const STYLE: &str = include_str!("style.css");
/// The script of a page of comparisons, and that of its timelines.
const SCRIPT: &str = include_str!("page.js");
const TIMELINES: &str = include_str!("timelines.js");
/// What the style sheet has for timelines.
const TIMELINES_STYLE: &str = include_str!("timelines.css");

/// A whole page of a header and a main part, which loads nothing and has no script.
pub(super) fn document(title: &str, header: Markup, main: Markup) -> String {
    page(title, header, main, None, "")
}

/// A page with a script, and the data that the script reads of each comparison: JSON, in the
/// element `data`.
pub(super) fn scripted(
    title: &str,
    header: Markup,
    main: Markup,
    data: &[Data<'_>],
    has_timelines: bool,
) -> String {
    let data = serde_json::to_string(data).expect("numbers and texts");
    // No text can end the element.
    let data = data.replace('<', "\\u003c");
    let scripts = html! {
        script type="application/json" id="data" { (PreEscaped(data)) }
        script { (PreEscaped(SCRIPT)) }
        @if has_timelines { script { (PreEscaped(TIMELINES)) } }
    };
    page(title, header, main, Some(scripts), if has_timelines { TIMELINES_STYLE } else { "" })
}

fn page(
    title: &str,
    header: Markup,
    main: Markup,
    scripts: Option<Markup>,
    more_style: &str,
) -> String {
    let own = if scripts.is_some() { "; script-src 'unsafe-inline'" } else { "" };
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta http-equiv="Content-Security-Policy" content={ "default-src 'none'; style-src 'unsafe-inline'" (own) };
                meta name="generator" content=(concat!("covey ", env!("CARGO_PKG_VERSION")));
                title { (title) }
                style { (PreEscaped(palette())) (PreEscaped(STYLE)) (PreEscaped(more_style)) }
            }
            body {
                (header)
                main { (main) }
                footer { "Made by covey " (env!("CARGO_PKG_VERSION")) "." }
                @if let Some(scripts) = scripts { (scripts) }
            }
        }
    };
    page.into_string()
}

/// The palette as a style sheet: the classes `c0` to `c7` set a colour, `d0` to `d7` set dashes.
fn palette() -> String {
    let colours = |of: fn(&Colour) -> &str| -> String {
        let set = |(k, colour)| format!("--c{k}:{};", of(colour));
        (0..).zip(&COLOURS).map(set).collect()
    };
    let (light, dark) = (colours(|colour| colour.light), colours(|colour| colour.dark));
    let mut css = format!(
        ":root{{--page:#ffffff;{light}}}\n\
         @media screen and (prefers-color-scheme:dark){{:root{{--page:{DARK_PAGE};{dark}}}}}\n"
    );
    for k in 0..COLOURS.len() {
        let _ = writeln!(css, ".c{k}{{--colour:var(--c{k})}}");
    }
    for (k, dashes) in DASHES.iter().enumerate().filter(|(_, dashes)| !dashes.is_empty()) {
        let lengths: Vec<String> = dashes.iter().map(f64::to_string).collect();
        let _ = writeln!(css, ".curve.d{k}{{stroke-dasharray:{}}}", lengths.join(" "));
    }
    css
}

/// The section with the command line that repeats the page, and the file that this reads, if it
/// reads one.
pub(super) fn repeat(command: &str, study: Option<&str>) -> Markup {
    html! {
        section {
            h2 { "How to repeat this" }
            pre { code { (command) } }
            @if let Some(study) = study {
                details {
                    summary { "The study" }
                    pre { code { (study) } }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn style_sheet_and_script_cannot_end_their_elements() {
        assert!(!STYLE.contains("url(") && !STYLE.contains("@import") && !STYLE.contains('<'));
        for script in [SCRIPT, TIMELINES] {
            assert!(!script.contains("</") && !script.contains("<!--"));
        }
    }
}
