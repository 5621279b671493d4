//! Results that are kept in a file, and shown again without a simulation.

use std::fmt;
use std::io::{self, Read, Write};

use serde::{Deserialize, Serialize};
use serde_json::error::Category;
use serde_json::{Value, to_value};

use crate::{Comparison, OverSeeds};

/// The version of the file, which its first field has.
const VERSION: u64 = 1;

/// The most bytes that are read.
const MOST_BYTES: u64 = 1 << 30;

/// Comparisons of the same policies, one for each trace. Each is of one trace, or over seeds.
///
/// `Serialize` gives the object of `study --json`, `Display` the tables for a terminal.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Results {
    covey_results: u64,
    /// The command line that made them.
    command: String,
    /// The text of the file that says what was compared, if a file does.
    study: Option<String>,
    /// Without seeds.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    comparisons: Vec<Comparison>,
    /// Over seeds.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    over_seeds: Vec<OverSeeds>,
}

/// Why a file is not read: which one, where, and what was expected.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct ResultsError(String);

impl Results {
    /// None yet, of a command line.
    pub fn of(command: String, study: Option<String>) -> Results {
        let (comparisons, over_seeds) = (Vec::new(), Vec::new());
        Results { covey_results: VERSION, command, study, comparisons, over_seeds }
    }

    /// Adds a comparison on one trace.
    pub fn add(&mut self, comparison: Comparison) {
        self.comparisons.push(comparison);
    }

    /// Adds one over seeds.
    pub fn add_over_seeds(&mut self, over_seeds: OverSeeds) {
        self.over_seeds.push(over_seeds);
    }

    /// The command line that made them.
    pub fn command(&self) -> &str {
        &self.command
    }

    /// The text of the file that says what was compared, if a file does.
    pub fn study(&self) -> Option<&str> {
        self.study.as_deref()
    }

    /// The comparisons without seeds, one for each trace.
    pub fn comparisons(&self) -> &[Comparison] {
        &self.comparisons
    }

    /// The comparisons over seeds, one for each trace.
    pub fn over_seeds(&self) -> &[OverSeeds] {
        &self.over_seeds
    }

    /// Reads what [`write`](Results::write) has written to a file called `name`.
    ///
    /// # Errors
    ///
    /// The file cannot be read, is cut off, is of another version, or is no such file.
    pub fn read(file: impl Read, name: &str) -> Result<Results, ResultsError> {
        #[derive(Deserialize)]
        struct Head {
            covey_results: Option<Value>,
        }
        let wrong = |problem: String| ResultsError(format!("{name}: {problem}"));
        let mut text = Vec::new();
        let read = file.take(MOST_BYTES + 1).read_to_end(&mut text);
        read.map_err(|error| wrong(error.to_string()))?;
        if text.len() as u64 > MOST_BYTES {
            return Err(wrong(format!("expected at most {MOST_BYTES} bytes, found more")));
        }
        let expected = "expected results that covey study or covey compare --results wrote";
        // Serde takes a list for an object with these fields, too.
        let first = text.iter().find(|byte| !byte.is_ascii_whitespace());
        if first.is_some_and(|byte| *byte != b'{') {
            return Err(wrong(format!("{expected}, found something else")));
        }
        let head: Head = serde_json::from_slice(&text).map_err(|error| {
            wrong(match error.classify() {
                Category::Eof => cut_off(&error),
                _ => format!("{expected}: {error}"),
            })
        })?;
        match head.covey_results {
            Some(version) if version == VERSION => {}
            Some(version) => {
                let found = format!("found covey_results {version}");
                return Err(wrong(format!("expected results of version {VERSION}, {found}")));
            }
            None => return Err(wrong(format!("{expected}, found no covey_results"))),
        }
        let results: Results =
            serde_json::from_slice(&text).map_err(|error| wrong(error.to_string()))?;
        if results.comparisons.is_empty() && results.over_seeds.is_empty() {
            return Err(wrong("expected comparisons or over_seeds, found neither".to_owned()));
        }
        Ok(results)
    }

    /// Writes a file with all that reports show.
    ///
    /// # Errors
    ///
    /// The errors of writing to `out`.
    pub fn write(&self, mut out: impl Write) -> io::Result<()> {
        let mut all = to_value(self)?;
        for (k, comparison) in self.comparisons.iter().enumerate() {
            all["comparisons"][k]["coflows"] = to_value(comparison.coflows())?;
        }
        serde_json::to_writer(&mut out, &all)?;
        out.write_all(b"\n")
    }
}

/// The error for the first part of a file.
fn cut_off(error: &serde_json::Error) -> String {
    format!("cut off at line {}, column {}", error.line(), error.column())
}

impl fmt::Display for Results {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let comparisons = self.comparisons.iter().map(|it| it as &dyn fmt::Display);
        let all = comparisons.chain(self.over_seeds.iter().map(|it| it as &dyn fmt::Display));
        for (k, report) in all.enumerate() {
            let gap = if k == 0 { "" } else { "\n" };
            write!(out, "{gap}{report}")?;
        }
        Ok(())
    }
}
