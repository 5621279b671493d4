//! What shells and `man` know of the commands, and the version.

use crate::common::TestFolder;

#[test]
fn each_shell_gets_completions() {
    let folder = TestFolder::new();
    for shell in ["bash", "zsh", "fish"] {
        let script = folder.results(&["completions", shell]);
        assert!(script.contains("compare") && script.contains("baseline"), "{shell}");
        folder.write("script", &script);
        let checked =
            std::process::Command::new(shell).arg("-n").arg(folder.path("script")).status();
        if let Ok(status) = checked {
            assert!(status.success(), "{shell} does not understand its completions");
        }
    }
    assert!(folder.refusal(&["completions", "bsh"]).contains("did you mean 'bash'?"));
}

#[test]
fn each_command_has_a_man_page() {
    let folder = TestFolder::new();
    folder.results(&["man", "pages/man1"]);
    let help = folder.results(&["--help"]);
    let commands = help.split_once("Commands:\n").expect("commands").1;
    let commands = commands.lines().take_while(|line| !line.is_empty());
    let names: Vec<&str> = commands.filter_map(|line| line.split_whitespace().next()).collect();
    assert!(names.contains(&"compare") && names.contains(&"serve"), "{names:?}");
    for name in names.into_iter().filter(|name| *name != "help") {
        let page = folder.read(&format!("pages/man1/covey-{name}.1"));
        assert!(page.contains(".SH NAME") && page.contains(name), "{name}");
    }
    assert!(folder.read("pages/man1/covey.1").contains("covey"));
    assert!(folder.refusal(&["man", "tiny.txt"]).contains("tiny.txt: cannot be written"));
}

#[test]
fn the_version_names_the_commit() {
    let version = TestFolder::new().results(&["--version"]);
    let number = concat!("covey ", env!("CARGO_PKG_VERSION"));
    let rest = version.trim().strip_prefix(number).expect("the version");
    let is_commit =
        |commit: &str| commit.len() == 8 && commit.bytes().all(|b| b.is_ascii_hexdigit());
    let commit = rest.strip_prefix(" (").and_then(|rest| rest.strip_suffix(')'));
    assert!(rest.is_empty() || commit.is_some_and(is_commit), "{version}");
}
