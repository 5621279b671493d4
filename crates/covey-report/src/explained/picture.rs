//! Explanations as a picture: a bar for each, divided by what the time went to.

use super::{Explained, Explanations};
use crate::palette::{COLOURS, DARK_PAGE};
use crate::units::{decimals, fixed};
use covey_trace::results::Kind;
use maud::{Markup, PreEscaped, html};

/// The width of the drawing, of a bar, and the height of a bar with its name.
const WIDTH: f64 = 800.0;
const BAR: f64 = 22.0;
const ROW: f64 = 52.0;
/// The margin, and the height of the legend.
const MARGIN: f64 = 12.0;
const LEGEND: f64 = 46.0;
/// The longest name of a coflow that is shown whole, in characters.
const NAME: usize = 60;

impl Explanations {
    /// The picture as an SVG file, for light and dark screens.
    pub fn svg(&self) -> String {
        let longest_s = self.all().iter().map(|one| one.cct_s).fold(0.0, f64::max);
        let height = LEGEND + ROW * self.all().len() as f64 + MARGIN;
        let picture = html! {
            svg xmlns="http://www.w3.org/2000/svg" viewBox={ "0 0 " (WIDTH) " " (height) } width=(WIDTH) height=(height)
                role="img" aria-label="What completion times went to" {
                style { (PreEscaped(style())) }
                rect class="page" width=(WIDTH) height=(height) {}
                (legend())
                @for (row, one) in (0_u32..).zip(self.all()) {
                    (bar(one, LEGEND + ROW * f64::from(row), longest_s))
                }
            }
        };
        format!("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n{}\n", picture.into_string())
    }
}

fn style() -> String {
    let colours = |page: &str, of: fn(usize) -> &'static str| {
        let kinds = (0..Kind::ALL.len()).map(|k| format!(".k{k}{{fill:{}}}", of(k)));
        let (kinds, text): (String, _) = (kinds.collect(), of(0));
        format!(".page{{fill:{page}}}text{{fill:{text}}}{kinds}")
    };
    format!(
        "text{{font:13px sans-serif}}{}@media (prefers-color-scheme:dark){{{}}}",
        colours("#ffffff", |k| COLOURS[k].light),
        colours(DARK_PAGE, |k| COLOURS[k].dark)
    )
}

fn legend() -> Markup {
    let step = (WIDTH - 2.0 * MARGIN) / Kind::ALL.len() as f64;
    html! {
        @for (k, kind) in (0_u32..).zip(Kind::ALL) {
            @let x = MARGIN + step * f64::from(k);
            rect class={ "k" (k) } x=(x) y="12" width="10" height="10" {}
            text x=(x + 14.0) y="22" { (kind.name()) }
        }
    }
}

/// The bar of an explanation, with its name above.
fn bar(one: &Explained, top: f64, longest_s: f64) -> Markup {
    let digits = decimals([one.cct_s]);
    let name: String = one.coflow.chars().take(NAME).collect();
    let scale = (WIDTH - 2.0 * MARGIN) / longest_s.max(f64::MIN_POSITIVE);
    let mut x = MARGIN;
    let segments: Vec<(usize, f64, f64, String)> = (0..Kind::ALL.len())
        .flat_map(|k| {
            one.parts
                .iter()
                .filter(move |part| part.kind == Kind::ALL[k])
                .map(move |part| (k, part))
        })
        .map(|(k, part)| {
            let (left, width) = (x, part.s * scale);
            x += width;
            let other = part.coflow.as_ref().map(|other| format!(" {other}")).unwrap_or_default();
            (k, left, width, format!("{}{other}: {} s", part.kind.name(), fixed(part.s, digits)))
        })
        .collect();
    html! {
        text x=(MARGIN) y=(top + 14.0) { (name) ", " (one.policy) ": " (fixed(one.cct_s, digits)) " s" }
        @for (k, left, width, title) in &segments {
            rect class={ "k" (k) } x=(format!("{left:.2}")) y=(top + 20.0) width=(format!("{width:.2}")) height=(BAR) {
                title { (title) }
            }
        }
    }
}
