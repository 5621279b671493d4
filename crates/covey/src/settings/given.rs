//! Settings that do not come from the command line, and where they stand.

use std::fmt;
use std::path::PathBuf;

use crate::failure::Failure;

/// A setting that the command line does not have.
#[derive(Debug)]
pub struct Given {
    /// The option, without dashes.
    pub name: String,
    /// Its values; for a flag none.
    pub values: Vec<String>,
    /// Where they stand.
    pub origin: Origin,
}

/// Where a setting stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Origin {
    /// In an environment variable.
    Variable(String),
    /// In a file.
    Line {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
    },
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Origin::Variable(name) => f.write_str(name),
            Origin::Line { path, line } => write!(f, "{}: line {line}", path.display()),
        }
    }
}

impl Given {
    /// The setting as it would stand on a command line.
    pub fn arguments(&self) -> Vec<String> {
        let Given { name, values, .. } = self;
        match values.as_slice() {
            [] => vec![format!("--{name}")],
            values => values.iter().map(|value| format!("--{name}={value}")).collect(),
        }
    }
}

/// Has an error about one of these settings say where that stands.
pub fn locate(given: &[Given], failure: Failure) -> Failure {
    let Failure::Input(message) = failure else { return failure };
    let of = |it: &&Given| message.starts_with(&format!("--{}: ", it.name));
    Failure::Input(match given.iter().find(of).map(|it| (&it.name, &it.origin)) {
        None => message,
        Some((name, Origin::Variable(variable))) => {
            message.replacen(&format!("--{name}"), variable, 1)
        }
        Some((_, line @ Origin::Line { .. })) => message.replacen("--", &format!("{line}: "), 1),
    })
}
