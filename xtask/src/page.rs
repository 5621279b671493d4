//! The part of a page that a measurement writes. It stands between two lines:
//!
//! ```text
//! <!-- policies: begin (written by `cargo xtask measure policies --update`) -->
//! <!-- policies: end -->
//! ```

use std::fs;

use clap::Args;
use clap::builder::FalseyValueParser;

use crate::Result;
use crate::program::top;

/// Whether to print a measurement or to write it into its page.
#[derive(Args)]
pub struct Output {
    /// Write the result into the page instead of printing it
    #[arg(long, env = "UPDATE", value_parser = FalseyValueParser::new())]
    update: bool,
}

impl Output {
    /// Makes a measurement, and prints it or writes it into `page`, a path from the top folder,
    /// between the marks `name`. Bad marks are an error before anything is measured.
    pub fn report(&self, page: &str, name: &str, make: impl FnOnce() -> Result<String>) -> Result {
        if !self.update {
            print!("{}", make()?);
            return Ok(());
        }
        let path = top().join(page);
        let read = || fs::read_to_string(&path).map_err(|error| format!("{page}: {error}"));
        let located = |error| format!("{page}: {error}");
        replaced(&read()?, name, "").map_err(located)?;
        let text = make()?;
        // Somebody may have changed other parts meanwhile.
        let updated = replaced(&read()?, name, &text).map_err(located)?;
        fs::write(&path, updated).map_err(|error| format!("{page}: {error}"))?;
        eprintln!("{page} is up to date");
        Ok(())
    }
}

/// The page with `text` between the marks `name`, and an empty line on both sides of it.
///
/// # Errors
///
/// Unless the page has each of the two marks once, and the end after the begin.
fn replaced(page: &str, name: &str, text: &str) -> Result<String, String> {
    let lines: Vec<&str> = page.lines().collect();
    let the_line = |mark: String| {
        let found = (0..lines.len()).filter(|&k| lines[k].starts_with(&mark));
        match found.collect::<Vec<_>>()[..] {
            [one] => Ok(one),
            ref found => Err(format!("expected one line `{mark}`, found {}", found.len())),
        }
    };
    let begin = the_line(format!("<!-- {name}: begin"))?;
    let end = the_line(format!("<!-- {name}: end -->"))?;
    if end < begin {
        return Err(format!("the end of `{name}` is before its begin"));
    }
    let (before, after) = (lines[..=begin].join("\n"), lines[end..].join("\n"));
    Ok(format!("{before}\n\n{}\n\n{after}\n", text.trim_end()))
}

#[cfg(test)]
mod tests {
    use super::*;

    const BEGIN: &str = "<!-- policies: begin (written by somebody) -->";
    const END: &str = "<!-- policies: end -->";

    #[test]
    fn the_part_between_the_marks_is_replaced() {
        let page = format!("# Page\n\n{BEGIN}\n\nold\n\n{END}\nmore\n");
        let updated = format!("# Page\n\n{BEGIN}\n\n| new |\n\n{END}\nmore\n");
        assert_eq!(replaced(&page, "policies", "| new |\n"), Ok(updated.clone()));
        assert_eq!(replaced(&updated, "policies", "| new |\n"), Ok(updated));
    }

    #[test]
    fn bad_marks_are_errors() {
        for (page, error) in [
            ("# Page\n".to_owned(), "expected one line `<!-- policies: begin`, found 0"),
            (BEGIN.to_owned(), "expected one line `<!-- policies: end -->`, found 0"),
            (format!("{END}\n{BEGIN}\n"), "the end of `policies` is before its begin"),
            (
                format!("{BEGIN}\n{END}\n{BEGIN}\n"),
                "expected one line `<!-- policies: begin`, found 2",
            ),
            (format!("{BEGIN}\n {END}\n"), "expected one line `<!-- policies: end -->`, found 0"),
        ] {
            assert_eq!(replaced(&page, "policies", "text"), Err(error.to_owned()), "{page}");
        }
    }
}
