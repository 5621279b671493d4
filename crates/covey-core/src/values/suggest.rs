//! The name that a user may have meant by one that does not exist.

/// The least Jaro-Winkler similarity of two names of which one may be meant by the other.
const ALIKE: f64 = 0.8;

/// The name in `known` that is most like `found`, whatever the case of letters; the first of
/// equals.
///
/// ```
/// use covey_core::suggest::nearest;
/// assert_eq!(nearest("philea", ["fair", "philae"]), Some("philae"));
/// assert_eq!(nearest("k", ["E", "K"]), Some("K"));
/// assert_eq!(nearest("coda", ["fair", "philae"]), None);
/// ```
pub fn nearest<'a>(found: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let found = found.to_lowercase();
    let alike = |name: &str| strsim::jaro_winkler(&found, &name.to_lowercase());
    let rated = known.into_iter().map(|name| (alike(name), name));
    let alike = rated.filter(|(alike, _)| *alike >= ALIKE);
    alike.reduce(|best, next| if next.0 > best.0 { next } else { best }).map(|(_, name)| name)
}

/// The end of a message: `; did you mean 'X'?`, or nothing where there is nothing to suggest.
pub fn did_you_mean(suggestion: Option<&str>) -> String {
    suggestion.map_or_else(String::new, |name| format!("; did you mean '{name}'?"))
}
