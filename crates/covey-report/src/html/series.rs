//! The names and styles of policies in plots.

use crate::Comparison;
use crate::palette::{Style, styles};
use maud::{Markup, html};

/// The name and style of a policy in plots.
pub(super) struct Series<'a> {
    /// The policy as the user typed it.
    pub label: &'a str,
    /// Classes of the style sheet for colour and dashes.
    pub class: String,
    /// Its place among the policies of a comparison, by which the page's script knows it.
    pub place: Option<usize>,
}

impl<'a> Series<'a> {
    /// A series for each policy of a comparison.
    pub fn all(comparison: &'a Comparison) -> Vec<Self> {
        let labels = comparison.summaries().iter().map(|it| it.label.as_str());
        Self::of_policies(labels, comparison.baseline())
    }

    /// A series for each policy, which the page's script knows by its place.
    pub fn of_policies(labels: impl Iterator<Item = &'a str>, baseline: usize) -> Vec<Self> {
        let all = Self::named(labels, Some(baseline)).into_iter().enumerate();
        all.map(|(place, series)| Self { place: Some(place), ..series }).collect()
    }

    /// A series for each name. Colour and dashes together distinguish them.
    pub fn named(labels: impl Iterator<Item = &'a str>, baseline: Option<usize>) -> Vec<Self> {
        let labels: Vec<&str> = labels.collect();
        let styles = styles(&labels, baseline);
        let class = |style: Style| format!("c{} d{}", style.colour, style.dash);
        let both = labels.into_iter().zip(styles);
        both.map(|(label, style)| Self { label, class: class(style), place: None }).collect()
    }

    /// The name beside a sample of the line.
    pub fn key(&self) -> Markup {
        html! {
            span class="key" data-policy=[self.place] {
                svg viewBox="0 0 30 10" aria-hidden="true" {
                    line class={ "curve " (self.class) } x1="0" y1="5" x2="30" y2="5" {}
                }
                span { (self.label) }
            }
        }
    }
}

/// A legend with the names and line samples of several series.
pub(super) fn legend<'a>(series: impl IntoIterator<Item = &'a Series<'a>>) -> Markup {
    html! {
        ul class="legend" {
            @for policy in series {
                li { (policy.key()) }
            }
        }
    }
}

/// A legend of names beside samples of dots or bars.
pub(super) fn swatches<'a>(named: impl IntoIterator<Item = (&'a str, Markup)>) -> Markup {
    html! {
        ul class="legend" {
            @for (name, sample) in named {
                li { span class="key" {
                    svg viewBox="0 0 30 10" aria-hidden="true" { (sample) }
                    span { (name) }
                } }
            }
        }
    }
}
