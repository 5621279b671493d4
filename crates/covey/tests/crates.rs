//! The table of crates in CONTRIBUTING.md: it has all crates, and each uses only those above it.

use std::path::Path;
use std::process::Command;

use serde_json::Value;

/// The names of the table's rows, from top to bottom. The rows of packages outside of `crates` have
/// their folders.
fn table(contributing: &str) -> Vec<String> {
    let rows = contributing.lines().skip_while(|line| !line.starts_with("| crate |"));
    let rows = rows.take_while(|line| line.starts_with('|'));
    let names = rows.filter_map(|row| row.strip_prefix("| `")?.split('`').next());
    let package = |name| match name {
        "python/" => "covey-python",
        _ => name.trim_end_matches('/'),
    };
    names.map(|name| package(name).to_owned()).collect()
}

/// The crates of the workspace, each with those that it depends on outside its tests.
fn crates(root: &Path) -> Vec<(String, Vec<String>)> {
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(["metadata", "--no-deps", "--offline", "--format-version", "1"]).current_dir(root);
    let output = cargo.output().expect("cargo runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let metadata: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let text = |value: &Value| value.as_str().expect("a text").to_owned();
    let list = |value: &Value| value.as_array().expect("a list").clone();
    let uses = |package: &Value| -> Vec<String> {
        let all = list(&package["dependencies"]);
        let ours = all.iter().filter(|it| !it["path"].is_null() && it["kind"].is_null());
        ours.map(|it| text(&it["name"])).collect()
    };
    let packages = list(&metadata["packages"]);
    packages.iter().map(|package| (text(&package["name"]), uses(package))).collect()
}

#[test]
fn a_crate_uses_only_those_above_it() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let contributing =
        std::fs::read_to_string(root.join("CONTRIBUTING.md")).expect("CONTRIBUTING.md");
    let table = table(&contributing);
    let row = |name: &str| table.iter().position(|row| row == name);
    let crates = crates(&root);
    for (name, uses) in &crates {
        let Some(own) = row(name) else {
            panic!("the table of crates in CONTRIBUTING.md has no row for {name}");
        };
        for used in uses {
            assert!(
                row(used).is_some_and(|row| row < own),
                "{name} uses {used}, which is not above it in the table of crates in CONTRIBUTING.md: \
                 move the row, or do without"
            );
        }
    }
    for name in &table {
        let is_there = crates.iter().any(|(known, _)| known == name);
        assert!(is_there, "the table of crates in CONTRIBUTING.md has {name}, which is no crate");
    }
}

#[test]
fn a_crate_has_a_page_and_what_a_registry_shows() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    // No registry gets the tasks of those who develop Covey.
    for (name, _) in crates(&root).into_iter().filter(|(name, _)| name != "xtask") {
        let folder =
            if name == "covey-python" { "python".into() } else { format!("crates/{name}") };
        let folder = root.join(folder);
        let manifest = std::fs::read_to_string(folder.join("Cargo.toml")).expect("a manifest");
        for line in ["description = ", "keywords.workspace", "categories.workspace"] {
            assert!(manifest.contains(line), "{name}: its Cargo.toml has no '{line}'");
        }
        if name != "covey-python" {
            let page = std::fs::read_to_string(folder.join("README.md"));
            let is_page = page.is_ok_and(|page| page.starts_with(&format!("# {name}\n")));
            assert!(is_page, "{name} has no README.md with its name");
        }
    }
}
