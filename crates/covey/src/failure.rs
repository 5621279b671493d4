//! Errors, as one line and an exit status.

use std::fmt::Display;
use std::io::{self, Write};

use covey_experiment::Error;
use covey_sched::SpecError;
use covey_trace::{TraceError, is_printable};

/// The reason that a command failed.
#[derive(Debug)]
pub enum Failure {
    /// The user's input or arguments are wrong; the text says how. Exit status 2.
    Input(String),
    /// No command was given; the text is the help. Exit status 2.
    Usage(String),
    /// Any other error. Exit status 1.
    Other(String),
}

impl Failure {
    /// The error for an argument that cannot be used.
    pub fn argument(argument: &str, expected: impl Display, found: impl Display) -> Failure {
        Failure::Input(format!("{argument}: expected {expected}, found {found}"))
    }

    /// What it says.
    #[cfg(feature = "live")]
    pub fn message(&self) -> &str {
        match self {
            Failure::Input(message) | Failure::Usage(message) | Failure::Other(message) => message,
        }
    }

    /// Prints the line (or the help), and gives the exit status.
    pub fn report(&self) -> u8 {
        match self {
            Failure::Input(message) => {
                print_line(message);
                2
            }
            Failure::Usage(help) => {
                // If standard error is closed, no reader wants the help.
                let _ = write!(io::stderr(), "{help}");
                2
            }
            Failure::Other(message) => {
                print_line(message);
                1
            }
        }
    }
}

impl From<TraceError> for Failure {
    fn from(error: TraceError) -> Self {
        Failure::Input(error.to_string())
    }
}

impl From<SpecError> for Failure {
    fn from(error: SpecError) -> Self {
        Failure::Input(error.to_string())
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        match error {
            Error::Argument { argument, problem } => {
                Failure::Input(format!("--{argument}: {problem}"))
            }
            error if error.is_input() => Failure::Input(error.to_string()),
            error => Failure::Other(error.to_string()),
        }
    }
}

impl From<covey_report::PublishedError> for Failure {
    fn from(error: covey_report::PublishedError) -> Self {
        Failure::Input(error.to_string())
    }
}

impl From<covey_report::ResultsError> for Failure {
    fn from(error: covey_report::ResultsError) -> Self {
        Failure::Input(error.to_string())
    }
}

impl From<covey_report::Error> for Failure {
    fn from(error: covey_report::Error) -> Self {
        Failure::Other(error.to_string())
    }
}

/// Reports a panic, which is always a bug, as one line with exit status 1. With `RUST_BACKTRACE`
/// set, developers get the usual report.
pub fn report_panics() {
    if std::env::var_os("RUST_BACKTRACE").is_none() {
        std::panic::set_hook(Box::new(|panic| {
            print_line(&format!("a bug, please report it: {panic}"));
            std::process::exit(1);
        }));
    }
}

/// Prints one line on standard error, whatever is in the message.
fn print_line(message: &str) {
    let mut line = String::from("covey: ");
    for c in message.chars() {
        if !is_printable(c) {
            line.extend(c.escape_default());
        } else {
            line.push(c);
        }
    }
    // If standard error is closed too, there is no way to report.
    let _ = writeln!(io::stderr(), "{line}");
}
