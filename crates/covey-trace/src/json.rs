//! Lines of JSON, with errors that name the field.

use serde::Deserialize;

use crate::error::{Location, TraceError, escape};

/// Reads one line as a `T`. An error names the innermost field, or `whole` if there is none.
pub(crate) fn parse<'a, T: Deserialize<'a>>(
    location: Location<'_>,
    whole: &str,
    line: &'a str,
) -> Result<T, TraceError> {
    serde_json::from_str(line).or_else(|_| {
        // Only a second parse tracks the field, because that would slow down every line.
        let mut json = serde_json::Deserializer::from_str(line);
        let (field, error) = match serde_path_to_error::deserialize(&mut json) {
            Ok(value) => match json.end() {
                Ok(()) => return Ok(value),
                Err(error) => ("end of line".to_owned(), error),
            },
            Err(error) => {
                let path = error.path().to_string();
                // The path ends in a question mark if the text ends early.
                let field = match path.trim_end_matches(['.', '?']) {
                    "" => whole,
                    field => field,
                };
                (field.to_owned(), error.into_inner())
            }
        };
        let message = error.to_string();
        let at = format!(" at line {} column {}", error.line(), error.column());
        let message = message.strip_suffix(&at).unwrap_or(&message);
        let (found, expected) = match message.rsplit_once(", expected ") {
            Some((found, expected)) => (found, in_words(expected)),
            None => (message, format!("the JSON of a {whole}")),
        };
        let found = found
            .strip_prefix("invalid type: ")
            .or_else(|| found.strip_prefix("invalid value: "))
            .unwrap_or(found);
        let found = format!("{} (column {})", escape(found, 60), error.column());
        Err(location.bad(escape(&field, 60), escape(&expected, 200), found))
    })
}

/// What serde expects of a field, in words.
fn in_words(expected: &str) -> String {
    expected
        .replace("f64", "a number")
        .replace("u32", "a whole number")
        .replace("usize", "a whole number")
}
