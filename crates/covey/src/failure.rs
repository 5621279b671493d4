//! What went wrong, as one line and an exit status.

use std::fmt::Display;
use std::io::{self, Write};
use std::process::ExitCode;

use covey_experiment::Error;
use covey_sched::SpecError;
use covey_testbed::TestbedError;
use covey_trace::TraceError;

/// Why a command did not do what was asked.
#[derive(Debug)]
pub enum Failure {
    /// The user's input or arguments are wrong, and how: exit status 2.
    Input(String),
    /// Nothing was asked for; how one asks: exit status 2.
    Usage(String),
    /// Anything else: exit status 1.
    Other(String),
}

impl Failure {
    /// An argument that means nothing.
    pub fn argument(argument: &str, expected: impl Display, found: impl Display) -> Failure {
        Failure::Input(format!("{argument}: expected {expected}, found {found}"))
    }

    /// Prints the line (or the help), and gives the exit status.
    pub fn report(&self) -> ExitCode {
        let status = match self {
            Failure::Input(message) => {
                print_line(message);
                2
            }
            Failure::Usage(help) => {
                // Where standard error is closed, nobody wants to know.
                let _ = write!(io::stderr(), "{help}");
                2
            }
            Failure::Other(message) => {
                print_line(message);
                1
            }
        };
        ExitCode::from(status)
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

impl From<TestbedError> for Failure {
    fn from(error: TestbedError) -> Self {
        if error.is_input() {
            Failure::Input(error.to_string())
        } else {
            Failure::Other(error.to_string())
        }
    }
}

impl From<covey_report::Error> for Failure {
    fn from(error: covey_report::Error) -> Self {
        Failure::Other(error.to_string())
    }
}

/// Makes a panic, which is always a bug, one line and exit status 1 as well. Developers get the
/// usual report, if they set `RUST_BACKTRACE`.
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
        if c.is_control() {
            line.extend(c.escape_default());
        } else {
            line.push(c);
        }
    }
    // Where standard error is closed too, nobody can be told.
    let _ = writeln!(io::stderr(), "{line}");
}
