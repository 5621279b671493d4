//! How this process was started.
//!
//! In Python the arguments of the process are Python's, so the caller of [`main`](crate::main)
//! gives those of the command.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// How the process was started; set once, before anything else.
static INVOCATION: OnceLock<Invocation> = OnceLock::new();

struct Invocation {
    arguments: Vec<OsString>,
    program: PathBuf,
}

/// Remembers the arguments, from the name of the program on, and the file that starts the command
/// once more.
pub fn remember(arguments: Vec<OsString>, program: PathBuf) {
    INVOCATION.get_or_init(|| Invocation { arguments, program });
}

/// The file that starts the command once more.
pub fn program() -> &'static Path {
    INVOCATION.get().map_or(Path::new("covey"), |it| &it.program)
}

/// The arguments, from the name of the program on.
#[cfg(feature = "live")]
pub fn arguments() -> Vec<OsString> {
    INVOCATION.get().map_or_else(Vec::new, |it| it.arguments.clone())
}

/// The command line, for a user who repeats it. With `--anonymise` it has no arguments, which may
/// be names.
pub fn command() -> String {
    let arguments = || INVOCATION.get().into_iter().flat_map(|it| it.arguments.iter().skip(1));
    if arguments().any(|argument| argument == "--anonymise") {
        let command =
            arguments().next().map_or_else(String::new, |it| it.to_string_lossy().into_owned());
        return format!("covey {command} … --anonymise");
    }
    let plain = |c: char| c.is_alphanumeric() || "-_=:,./+%@".contains(c);
    let quoted = |argument: &OsString| {
        let text = argument.to_string_lossy().into_owned();
        if !text.is_empty() && text.chars().all(plain) {
            text
        } else {
            format!("'{}'", text.replace('\'', r"'\''"))
        }
    };
    std::iter::once("covey".to_owned()).chain(arguments().map(quoted)).collect::<Vec<_>>().join(" ")
}
