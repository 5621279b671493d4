//! The version that `covey --version` prints: it names the commit from which the program was built.

use std::path::Path;
use std::process::Command;

fn main() {
    println!("cargo:rerun-if-env-changed=COVEY_COMMIT");
    let version = env!("CARGO_PKG_VERSION");
    let version = match commit() {
        Some(commit) => format!("{version} ({commit})"),
        None => version.to_owned(),
    };
    println!("cargo:rustc-env=COVEY_VERSION={version}");
}

/// What COVEY_COMMIT says, or else the repository of these sources, if they are in one.
fn commit() -> Option<String> {
    if let Ok(commit) = std::env::var("COVEY_COMMIT") {
        return Some(commit).filter(|commit| !commit.is_empty());
    }
    let repository = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../.git");
    // It has a line for each change of HEAD.
    let log = repository.join("logs/HEAD");
    if !log.exists() {
        return None;
    }
    println!("cargo:rerun-if-changed={}", log.display());
    let mut git = Command::new("git");
    git.arg("--git-dir").arg(repository).args(["rev-parse", "--short=8", "HEAD"]);
    let output = git.output().ok().filter(|output| output.status.success())?;
    Some(String::from_utf8(output.stdout).ok()?.trim().to_owned())
}
