//! How a policy looks in all plots.

use crate::Comparison;
use maud::{Markup, html};

/// Number of colours and of dash patterns in the style sheet, beside those of the baseline.
const STYLES: usize = 7;

/// Characters of a name that are sure to fit into half a plot.
const SHORT: usize = 36;

/// A policy in the plots: its name and its style.
pub(super) struct Series<'a> {
    /// The policy as the user typed it.
    pub label: &'a str,
    /// Classes of the style sheet for its colour and its dashes.
    pub class: String,
}

impl<'a> Series<'a> {
    /// A series for each run of a comparison.
    pub fn all(comparison: &'a Comparison<'_>) -> Vec<Self> {
        let labels = comparison.runs().iter().map(|run| run.info().label.as_str());
        Self::named(labels, comparison.baseline())
    }

    /// A series for each name: that of the baseline in the colour of the text, all others so that
    /// colour and dashes together tell them apart.
    pub fn named(labels: impl Iterator<Item = &'a str>, baseline: usize) -> Vec<Self> {
        labels
            .enumerate()
            .map(|(i, label)| {
                let n = if i < baseline { i } else { i.saturating_sub(1) };
                let class = if i == baseline {
                    "base".to_owned()
                } else {
                    format!("c{} d{}", n % STYLES, (n + n / STYLES) % STYLES)
                };
                Self { label, class }
            })
            .collect()
    }

    /// Its name, short enough for places of a fixed size.
    pub fn short_label(&self) -> String {
        short(self.label, SHORT)
    }

    /// Its name beside a piece of its line.
    pub fn key(&self) -> Markup {
        html! {
            span class="key" {
                svg viewBox="0 0 30 10" aria-hidden="true" {
                    line class={ "curve " (self.class) } x1="0" y1="5" x2="30" y2="5" {}
                }
                span { (self.label) }
            }
        }
    }
}

/// A name with the end cut off if it has more characters than `most`.
fn short(label: &str, most: usize) -> String {
    if label.chars().count() <= most {
        return label.to_owned();
    }
    label.chars().take(most.saturating_sub(1)).chain(['…']).collect()
}

/// A name and what it is a case of, together short enough for a line of a panel. The case is kept.
pub(super) fn short_pair(label: &str, case: &str) -> String {
    const LINE: usize = 46;
    format!("{}: {case}", short(label, LINE.saturating_sub(case.chars().count() + 2)))
}

/// The keys of several series.
pub(super) fn legend<'a>(series: impl IntoIterator<Item = &'a Series<'a>>) -> Markup {
    html! {
        ul class="legend" {
            @for one in series {
                li { (one.key()) }
            }
        }
    }
}
