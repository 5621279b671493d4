//! Output of results: standard output and files.

use std::ffi::OsStr;
use std::fmt;
use std::io::{self, BufWriter, ErrorKind, Write};
use std::path::Path;

use covey_trace::Workload;

use crate::failure::Failure;

/// Writes results to standard output. A reader may stop reading early, as `head` does.
pub fn print(write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<(), Failure> {
    let mut out = BufWriter::new(io::stdout().lock());
    match write(&mut out).and_then(|()| out.flush()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            Err(Failure::Other(format!("standard output: {error}")))
        }
        _ => Ok(()),
    }
}

/// Checks, before long work, that a file can be written afterwards.
pub fn check(path: &Path) -> Result<(), Failure> {
    covey_report::check_writable(path).map_err(|e| Failure::Input(message(path, &e)))
}

/// Like [`check`], for the file of an option that writes one format. Its name must end in one of
/// `endings`, or have no ending, as the name of a device.
pub fn check_format(option: &str, path: &Path, endings: &[&str]) -> Result<(), Failure> {
    let is_of_format = |ending: &OsStr| endings.iter().any(|it| ending.eq_ignore_ascii_case(it));
    if path.extension().is_none_or(is_of_format) {
        return check(path);
    }
    let expected = format!("a name that ends in .{}", endings[0]);
    Err(Failure::argument(option, expected, format!("'{}'", path.display())))
}

/// Refuses a file that is the one which is read, also by a link.
pub fn check_apart(option: &str, path: &Path, input: &str) -> Result<(), Failure> {
    if path.is_file() && same_file::is_same_file(path, input).unwrap_or(false) {
        let found = format!("'{}', which is read", path.display());
        return Err(Failure::argument(option, "another file than the input", found));
    }
    Ok(())
}

/// Like [`check`], for a trace, or `-`. A trace is plain text, neither a table nor compressed.
pub fn check_trace(path: &Path) -> Result<(), Failure> {
    if path.as_os_str() == "-" {
        return Ok(());
    }
    let is = |ending: &str| path.extension().is_some_and(|it| it.eq_ignore_ascii_case(ending));
    if is("csv") || is("gz") || is("zst") {
        let expected = "a name for Covey JSON lines, such as trace.jsonl";
        return Err(Failure::argument("output", expected, format!("'{}'", path.display())));
    }
    check(path)
}

/// Endings of the names of pages.
pub const PAGE: &[&str] = &["html", "htm"];
/// Endings of the names of kept results.
pub const RESULTS: &[&str] = &["json"];
/// Endings of the names of tables.
pub const TABLE: &[&str] = &["csv"];

/// Writes a file completely or not at all.
pub fn write(
    path: &Path,
    write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> Result<(), Failure> {
    covey_report::write_file_atomically(path, write).map_err(|e| Failure::Other(message(path, &e)))
}

/// The operating system's error for a path.
pub fn message(path: &Path, error: &dyn fmt::Display) -> String {
    format!("{}: cannot be written: {error}", path.display())
}

/// Writes a workload to the file `path`, or to standard output for `-`. Makes the workload from the
/// files `inputs` only after a check that the file can be written, and is another one.
pub fn write_trace(
    path: &Path,
    inputs: &[String],
    make: impl FnOnce() -> Result<Workload, Failure>,
) -> Result<(), Failure> {
    check_trace(path)?;
    inputs.iter().try_for_each(|input| check_apart("output", path, input))?;
    let workload = make()?;
    if path.as_os_str() == "-" {
        return print(|out| covey_trace::write(&workload, out));
    }
    write(path, |out| covey_trace::write(&workload, out))
}

/// Opens a workload by name, and says on standard error what was guessed, merged or left out.
pub fn open(trace: &str) -> Result<Workload, Failure> {
    Ok(covey_trace::open_noting(trace, &mut note)?)
}

/// Prints a note on standard error.
pub fn note(line: &str) {
    // If standard error is closed, no reader wants the note.
    let _ = writeln!(io::stderr(), "{line}");
}
