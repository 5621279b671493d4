//! Colours and dashes of policies: a policy has the same colour in every figure, here and in
//! Python.
//!
//! Colour and dashes together identify a curve. A reader who cannot distinguish colours, or prints
//! without them, can follow the dashes.

/// A colour on white paper or a light screen, and the same on a dark screen, as `#rrggbb`.
///
/// Each has a contrast of at least 4.5 on its background, which WCAG 2 requires of text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Colour {
    /// On white.
    pub light: &'static str,
    /// On [`DARK_PAGE`].
    pub dark: &'static str,
}

/// The background of pages on a dark screen. On a light screen it is white.
pub const DARK_PAGE: &str = "#161616";

/// The colours of policies. The first is that of text.
pub const COLOURS: [Colour; 8] = [
    Colour { light: "#1a1a1a", dark: "#e8e8e8" },
    Colour { light: "#0072b2", dark: "#4aa3e0" },
    Colour { light: "#c04c00", dark: "#f47d20" },
    Colour { light: "#007d5a", dark: "#20b98b" },
    Colour { light: "#b8357f", dark: "#e58bbd" },
    Colour { light: "#856600", dark: "#e6b020" },
    Colour { light: "#6a43c9", dark: "#a996f5" },
    Colour { light: "#00778a", dark: "#5fd0dd" },
];

/// Lengths of dashes and gaps in pixels, for a line that is 2 pixels wide. The first line has no
/// gaps.
pub const DASHES: [&[f64]; 8] = [
    &[],
    &[9.0, 3.0],
    &[3.0, 2.5],
    &[12.0, 3.0, 2.5, 3.0],
    &[6.0, 3.0],
    &[16.0, 3.0],
    &[9.0, 2.5, 2.0, 2.5, 2.0, 2.5],
    &[1.5, 2.0],
];

/// The policies compared most often, which have fixed colours in the order of [`COLOURS`].
const FIXED: [&str; 8] = ["fair", "covey", "fifo", "aalo", "philae", "sebf", "sincronia", "fvdf"];

/// The style of a curve.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Style {
    /// Index in [`COLOURS`].
    pub colour: usize,
    /// Index in [`DASHES`].
    pub dash: usize,
}

/// The index in [`COLOURS`] of a policy's own colour. Case and parameters, which follow a `:`, do
/// not count.
///
/// A policy without a fixed colour gets one by the sum of its name's bytes.
pub fn colour_of(policy: &str) -> usize {
    let sum = || name(policy).bytes().map(usize::from).sum::<usize>() % COLOURS.len();
    fixed_colour(policy).unwrap_or_else(sum)
}

fn name(policy: &str) -> String {
    policy.split(':').next().unwrap_or_default().to_ascii_lowercase()
}

fn fixed_colour(policy: &str) -> Option<usize> {
    let name = name(policy);
    FIXED.iter().position(|fixed| *fixed == name)
}

/// Styles for the curves of one figure. Up to 40 curves have different styles.
///
/// Each curve gets its policy's own colour. If another curve has that colour, such as the same
/// policy with other parameters, the curve gets the colour with the fewest users. Policies with a
/// fixed colour have priority. Only the `baseline`, if there is one, has a line without gaps.
pub fn styles(labels: &[&str], baseline: Option<usize>) -> Vec<Style> {
    let mut styles: Vec<Style> = Vec::with_capacity(labels.len());
    let own: Vec<usize> = labels.iter().map(|label| colour_of(label)).collect();
    for (index, &own_colour) in own.iter().enumerate() {
        let users = |colour: &usize| {
            let given = styles.iter().filter(|style| style.colour == *colour).count();
            given + own.iter().filter(|other| *other == colour).count()
        };
        let first = |is_fixed: bool| {
            let mut all = labels.iter().zip(&own);
            all.position(|(label, colour)| {
                *colour == own_colour && fixed_colour(label).is_some() == is_fixed
            })
        };
        let is_first = first(true).or_else(|| first(false)) == Some(index);
        let least_used = || (0..COLOURS.len()).min_by_key(users).unwrap_or(own_colour);
        let colour = if is_first { own_colour } else { least_used() };
        let dash = if Some(index) == baseline { 0 } else { dash(index, colour, &styles) };
        styles.push(Style { colour, dash });
    }
    styles
}

/// The dashes of the curve at `index`: the first, beginning with those of its index, that no other
/// curve of the same colour has.
fn dash(index: usize, colour: usize, taken: &[Style]) -> usize {
    let gapped = DASHES.len() - 1;
    let candidates = (0..gapped).map(|step| 1 + (index + step) % gapped);
    let is_free = |dash: &usize| !taken.contains(&Style { colour, dash: *dash });
    candidates.clone().find(is_free).unwrap_or(1 + index % gapped)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn a_policy_has_its_colour_beside_any_others() {
        let philae = colour_of("philae");
        for others in [&["philae", "aalo"][..], &["aalo", "fair", "philae"], &["x", "philae"]] {
            let at = others.iter().position(|label| *label == "philae").expect("it");
            assert_eq!(styles(others, Some(0))[at].colour, philae, "{others:?}");
        }
        assert_eq!(colour_of("Aalo"), colour_of("aalo:queues=strict,delta=0"));
    }

    #[test]
    fn a_fixed_colour_has_priority() {
        assert_eq!(colour_of("aalo-oracle"), colour_of("fair"));
        let styles = styles(&["aalo-oracle", "fair"], None);
        assert_eq!(styles[1].colour, colour_of("fair"));
        assert_ne!(styles[0].colour, styles[1].colour);
    }

    #[test]
    fn fixed_colours_are_all_different() {
        assert_eq!(FIXED.map(colour_of).iter().collect::<HashSet<_>>().len(), FIXED.len());
    }

    #[test]
    fn no_two_curves_look_alike() {
        for count in [2, 8, 10, 40] {
            let styles = styles(&vec!["philae"; count], Some(1));
            let different: HashSet<_> = styles.iter().map(|s| (s.colour, s.dash)).collect();
            assert_eq!(different.len(), count);
        }
        let mixed: Vec<String> = (0..30).map(|k| format!("policy{k}")).collect();
        let mixed: Vec<&str> = mixed.iter().map(String::as_str).collect();
        let styles = styles(&mixed, None);
        assert_eq!(styles.iter().map(|s| (s.colour, s.dash)).collect::<HashSet<_>>().len(), 30);
    }

    #[test]
    fn the_baseline_alone_has_no_gaps() {
        let styles = styles(&["covey", "fair", "aalo"], Some(1));
        let solid: Vec<bool> = styles.iter().map(|style| style.dash == 0).collect();
        assert_eq!(solid, [false, true, false]);
    }
}
