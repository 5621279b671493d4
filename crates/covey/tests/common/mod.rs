//! Runs the binary in a folder of its own.

#![allow(dead_code, reason = "not every test needs all of it")]

use std::fs;
use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

use tempfile::TempDir;

/// Two coflows on three ports; at 8 Mbps, a MB takes 1.048576 s.
pub const TINY: &str = "3 2\n1 0 1 0 1 1:10\n2 500 2 0 2 1 1:4\n";

/// A folder with the trace `tiny.txt`.
pub struct TestFolder {
    folder: TempDir,
}

/// The result of a command.
#[derive(Debug, PartialEq)]
pub struct Ran {
    pub status: Option<i32>,
    pub out: String,
    pub err: String,
}

impl TestFolder {
    pub fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("tiny.txt"), TINY).unwrap();
        Self { folder }
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub fn write(&self, name: &str, content: impl AsRef<[u8]>) {
        fs::write(self.path(name), content).unwrap();
    }

    pub fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap()
    }

    /// A page as a browser of this width has it after its scripts have run; nothing if there is no
    /// Chromium.
    pub fn shown(&self, address: &str, width: u32) -> Option<String> {
        let mut chromium = Command::new("chromium");
        chromium.args(["--headless", "--no-sandbox", "--disable-gpu", "--no-first-run"]);
        chromium.args(["--disable-background-networking", "--disable-component-update"]);
        chromium.args(["--virtual-time-budget=2000", "--dump-dom"]);
        chromium.arg(format!("--window-size={width},900"));
        chromium.arg(format!("--user-data-dir={}", self.path("profile").display()));
        let output = chromium.arg(address).output();
        match output {
            Ok(output) => Some(String::from_utf8(output.stdout).expect("text")),
            Err(_) => {
                assert!(std::env::var_os("TOOLS").is_none(), "there is no chromium");
                eprintln!("skipped: there is no chromium (scripts/tools.sh installs it)");
                None
            }
        }
    }

    /// The files and folders, sorted.
    pub fn names(&self) -> Vec<String> {
        let entries = fs::read_dir(self.folder.path()).unwrap();
        let mut names: Vec<String> =
            entries.map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_covey"));
        command.current_dir(self.folder.path()).args(arguments).env_remove("RUST_BACKTRACE");
        command
    }

    /// Runs `covey` with `arguments`.
    pub fn covey(&self, arguments: &[&str]) -> Ran {
        ran(self.command(arguments).stdin(Stdio::null()).output().unwrap())
    }

    /// Runs `covey` with `arguments` and `input` on standard input.
    pub fn covey_reading(&self, arguments: &[&str], input: impl AsRef<[u8]>) -> Ran {
        let mut command = self.command(arguments);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        child.stdin.take().unwrap().write_all(input.as_ref()).unwrap();
        ran(child.wait_with_output().unwrap())
    }

    /// The results of a command that succeeds and prints nothing on standard error.
    pub fn results(&self, arguments: &[&str]) -> String {
        let ran = self.covey(arguments);
        assert_eq!((ran.status, ran.err.as_str()), (Some(0), ""), "{arguments:?}");
        ran.out
    }

    /// The one line of a command that fails with exit status 2 and gives no results.
    pub fn refusal(&self, arguments: &[&str]) -> String {
        let Ran { status, out, err } = self.covey(arguments);
        assert_eq!((status, out.as_str()), (Some(2), ""), "{arguments:?}: {err}");
        let line = err.strip_suffix('\n').unwrap_or_default();
        assert!(!line.contains('\n'), "{err}");
        line.strip_prefix("covey: ").unwrap_or_default().to_owned()
    }
}

fn ran(Output { status, stdout, stderr }: Output) -> Ran {
    let text = |bytes| String::from_utf8(bytes).unwrap();
    Ran { status: status.code(), out: text(stdout), err: text(stderr) }
}
