//! Where results go: standard output and files.

use std::ffi::OsString;
use std::io::{self, BufWriter, ErrorKind, Write};
use std::path::Path;

use covey_trace::Workload;

use crate::failure::Failure;

/// Writes results to standard output. A reader that has seen enough, such as `head`, is no failure.
pub fn print(write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<(), Failure> {
    let mut out = BufWriter::new(io::stdout().lock());
    match write(&mut out).and_then(|()| out.flush()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            Err(Failure::Other(format!("standard output: {error}")))
        }
        _ => Ok(()),
    }
}

/// Checks before long work that a file can be written after it.
pub fn check(path: &Path) -> Result<(), Failure> {
    covey_report::check_writable(path).map_err(|e| Failure::Input(message(path, &e)))
}

/// Writes a file, which is there whole or not at all.
pub fn write(
    path: &Path,
    write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> Result<(), Failure> {
    covey_report::write_file_atomically(path, write).map_err(|e| Failure::Other(message(path, &e)))
}

/// What the operating system has against a path.
pub fn message(path: &Path, error: &io::Error) -> String {
    format!("{}: cannot be written: {error}", path.display())
}

/// Writes a workload to the file `path`, or to standard output for `-`; it is made once the file is
/// known to be writable.
pub fn write_trace(
    path: &Path,
    make: impl FnOnce() -> Result<Workload, Failure>,
) -> Result<(), Failure> {
    if path.as_os_str() == "-" {
        let workload = make()?;
        return print(|out| covey_trace::write(&workload, out));
    }
    check(path)?;
    let workload = make()?;
    write(path, |out| covey_trace::write(&workload, out))
}

/// Says on standard error what was done.
pub fn note(line: &str) {
    // Where it is closed, nobody wants to know.
    let _ = writeln!(io::stderr(), "{line}");
}

/// The command line as it was given, for somebody to give it again.
pub fn command() -> String {
    let plain = |c: char| c.is_alphanumeric() || "-_=:,./+%@".contains(c);
    let quoted = |argument: OsString| {
        let text = argument.to_string_lossy().into_owned();
        if !text.is_empty() && text.chars().all(plain) {
            text
        } else {
            format!("'{}'", text.replace('\'', r"'\''"))
        }
    };
    let arguments = std::env::args_os().skip(1).map(quoted);
    std::iter::once("covey".to_owned()).chain(arguments).collect::<Vec<_>>().join(" ")
}
