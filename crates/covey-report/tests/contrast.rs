//! Checks the contrast of a page: every colour of the style sheet has the contrast with its
//! background that WCAG 2 requires, on light and dark screens and on paper.

use crate::common::{comparison, workload};
use covey_report::html_page;
use covey_report::palette::{COLOURS, DARK_PAGE};
use std::collections::HashMap;

/// The contrast that WCAG 2 (AA) requires of text. It requires 3 of lines, but here colour
/// distinguishes lines.
const MIN_CONTRAST: f64 = 4.5;

/// The grid behind a plot is exempt: the numbers on the axes carry the same information.
const DECORATION: [&str; 3] = [".grid", ".grid.major", ".curve.dim"];

/// The relative luminance of `#rrggbb`.
fn luminance(colour: &str) -> f64 {
    let channel = |from: usize| {
        let value = u8::from_str_radix(&colour[from..from + 2], 16).expect("two digits");
        match f64::from(value) / 255.0 {
            dark if dark <= 0.04045 => dark / 12.92,
            bright => ((bright + 0.055) / 1.055).powf(2.4),
        }
    };
    0.2126 * channel(1) + 0.7152 * channel(3) + 0.0722 * channel(5)
}

fn contrast(one: &str, other: &str) -> f64 {
    let (one, other) = (luminance(one), luminance(other));
    (one.max(other) + 0.05) / (one.min(other) + 0.05)
}

/// The rules of a style sheet: selector and declarations. The selector of a rule inside `@media`
/// begins with the media query.
fn rules(css: &str) -> Vec<(String, String)> {
    let mut rules = Vec::new();
    let (mut media, mut rest) = (String::new(), css);
    while let Some(at) = rest.find(['{', '}']) {
        let head = rest[..at].trim();
        let opens = rest[at..].starts_with('{');
        rest = &rest[at + 1..];
        match (opens, head.starts_with("@media")) {
            (true, true) => media = format!("{head} "),
            (true, false) => {
                let (body, after) = rest.split_once('}').expect("the end of a rule");
                rules.push((format!("{media}{head}"), body.to_owned()));
                rest = after;
            }
            (false, _) => media.clear(),
        }
    }
    rules
}

fn declarations(body: &str) -> impl Iterator<Item = (&str, &str)> {
    let both = body.split(';').filter_map(|one| one.split_once(':'));
    both.map(|(property, value)| (property.trim(), value.trim()))
}

/// The variables of a light screen and of a dark screen.
fn variables(rules: &[(String, String)]) -> [HashMap<&str, &str>; 2] {
    let of = |selector: fn(&str) -> bool| -> HashMap<&str, &str> {
        let roots = rules.iter().filter(|(head, _)| selector(head));
        roots.flat_map(|(_, body)| declarations(body)).collect()
    };
    let light = of(|head| head == ":root");
    let mut dark = light.clone();
    dark.extend(of(|head| head.contains("dark") && head.ends_with(":root")));
    [light, dark]
}

#[test]
fn contrast_of_known_colours() {
    assert!((contrast("#000000", "#ffffff") - 21.0).abs() < 1e-9);
    assert!((contrast("#767676", "#ffffff") - 4.54).abs() < 0.01);
}

#[test]
fn every_colour_of_text_and_lines_stands_out() {
    let workload = workload();
    let page = html_page(&comparison(&workload), "");
    let css = page.split("<style>").nth(1).and_then(|rest| rest.split("</style>").next()).unwrap();
    let rules = rules(css);
    let mut compared = 0;
    for variables in variables(&rules) {
        let page = variables["--page"];
        for (selector, body) in &rules {
            assert!(!body.contains("opacity"), "{selector} is transparent");
            let coloured = ["color", "fill", "stroke"];
            for (property, value) in declarations(body).filter(|(p, _)| coloured.contains(p)) {
                let name = value.strip_prefix("var(").and_then(|name| name.strip_suffix(')'));
                let names = match name {
                    // `--page` is the background, and each series sets `--colour`.
                    Some("--page") => continue,
                    Some("--colour") => (0..COLOURS.len()).map(|k| format!("--c{k}")).collect(),
                    Some(name) => vec![name.to_owned()],
                    None => {
                        assert_eq!(value, "none", "{selector}: a colour without a variable");
                        continue;
                    }
                };
                for name in names {
                    let ratio = contrast(variables[name.as_str()], page);
                    let enough = ratio >= MIN_CONTRAST || DECORATION.contains(&selector.as_str());
                    assert!(enough, "{selector} {{ {property}: {name} }}: {ratio:.2}");
                    compared += 1;
                }
            }
        }
    }
    assert!(compared > 2 * COLOURS.len(), "{compared}");
}

#[test]
fn the_palette_has_enough_contrast_by_itself() {
    for colour in COLOURS {
        assert!(contrast(colour.light, "#ffffff") >= MIN_CONTRAST, "{colour:?}");
        assert!(contrast(colour.dark, DARK_PAGE) >= MIN_CONTRAST, "{colour:?}");
    }
}
