//! The program `covey`.

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments: Vec<OsString> = std::env::args_os().collect();
    let program = std::env::current_exe().unwrap_or_else(|_| PathBuf::from("covey"));
    ExitCode::from(covey::main(arguments, program))
}
