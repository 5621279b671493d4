//! The program `covey`.

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::{Command, ExitCode, Stdio};

fn main() -> ExitCode {
    let arguments: Vec<OsString> = std::env::args_os().collect();
    if let Some(status) = in_python(&arguments) {
        return status;
    }
    let program = std::env::current_exe().unwrap_or_else(|_| PathBuf::from("covey"));
    ExitCode::from(covey::main(arguments, program))
}

/// Has the command of the Python package run the command line if a policy is a class in a file of
/// Python, such as `./mine.py:LeastServed`, also if a study names it. Nothing if none is, or if
/// there is no such package.
fn in_python(arguments: &[OsString]) -> Option<ExitCode> {
    let is_class = |argument: &OsString| {
        let names_class = |text: &str| text.contains(".py:");
        let argument = argument.to_string_lossy();
        let is_study = argument.ends_with(".toml");
        let names_one_in_study =
            || std::fs::read_to_string(&*argument).is_ok_and(|it| names_class(&it));
        names_class(&argument) || is_study && names_one_in_study()
    };
    let rest = arguments.get(1..).filter(|rest| rest.iter().any(is_class))?;
    let python = std::env::var_os("PYTHON").unwrap_or_else(|| "python3".into());
    let mut has_package = Command::new(&python);
    has_package.args(["-c", "import covey"]).stderr(Stdio::null());
    has_package.status().ok().filter(|status| status.success())?;
    let status = Command::new(&python).args(["-m", "covey"]).args(rest).status().ok()?;
    // A signal has ended it.
    Some(status.code().map_or(ExitCode::FAILURE, |code| ExitCode::from(code as u8)))
}
