//! The pages: their links lead to existing targets, what they name of the code exists, their lines
//! are short, and their code blocks are run or marked as not run.
//!
//! A marker stands on the line before each code block:
//!
//! - `<!-- run -->`: the test runs the block with bash, in a folder that all blocks of the page
//!   share. The folder has a small `trace.txt`, and the event logs that `scripts/example-logs.sh`
//!   writes; `covey` is the program under test.
//! - `<!-- run, exit 2 -->`: the same, and the block ends with that status.
//! - `<!-- output -->`: lines that the block before it printed. `<!-- output of: COMMAND -->` names
//!   another command. The program may print more lines, and more words at the end of a line.
//! - `<!-- run by FILE -->`: a test in that file runs the block. The file names the page.
//! - `<!-- not run: REASON -->`.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A page, by its path from the top folder.
struct Page {
    path: PathBuf,
    text: String,
}

/// A code block, with the line of its fence.
struct Block<'a> {
    line: usize,
    marker: Option<&'a str>,
    text: String,
}

fn top() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

/// The files in a folder and the folders in it, by their paths from the top folder.
fn files(folder: &str) -> Vec<PathBuf> {
    let (mut files, mut folders) = (Vec::new(), vec![PathBuf::from(folder)]);
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(top().join(&folder)).unwrap() {
            let entry = entry.unwrap();
            let is_folder = entry.file_type().unwrap().is_dir();
            let all = if is_folder { &mut folders } else { &mut files };
            all.push(folder.join(entry.file_name()));
        }
    }
    files
}

/// README.md, CONTRIBUTING.md, and all of `docs`, sorted.
fn pages() -> Vec<Page> {
    let mut paths = files("docs");
    paths.retain(|path| path.extension().is_some_and(|e| e == "md"));
    paths.extend(["README.md".into(), "CONTRIBUTING.md".into()]);
    paths.sort();
    let read = |path: PathBuf| Page { text: fs::read_to_string(top().join(&path)).unwrap(), path };
    paths.into_iter().map(read).collect()
}

fn marker(line: &str) -> Option<&str> {
    line.trim().strip_prefix("<!-- ")?.strip_suffix(" -->")
}

impl Page {
    fn blocks(&self) -> Vec<Block<'_>> {
        let lines: Vec<&str> = self.text.lines().collect();
        let mut blocks = Vec::new();
        let mut at = 0;
        while at < lines.len() {
            if lines[at].trim_start().starts_with("```") {
                let end = at + 1 + lines[at + 1..].iter().position(|l| l.trim() == "```").unwrap();
                blocks.push(Block {
                    line: at + 1,
                    marker: at.checked_sub(1).and_then(|before| marker(lines[before])),
                    text: lines[at + 1..end].join("\n"),
                });
                at = end;
            }
            at += 1;
        }
        blocks
    }

    /// The lines outside of code blocks, with their numbers from 1.
    fn prose(&self) -> impl Iterator<Item = (usize, &str)> {
        let mut inside = false;
        self.text.lines().enumerate().filter_map(move |(k, line)| {
            let fence = line.trim_start().starts_with("```");
            inside ^= fence;
            (!inside && !fence).then_some((k + 1, line))
        })
    }

    /// The anchors of this page's headings, for use after the `#` of a link.
    fn anchors(&self) -> BTreeSet<String> {
        let mut anchors = BTreeSet::new();
        for (_, line) in self.prose().filter(|(_, line)| line.starts_with('#')) {
            let heading = line.trim_start_matches('#').trim().to_lowercase();
            let kept = |c: &char| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_');
            anchors.insert(heading.chars().filter(kept).collect::<String>().replace(' ', "-"));
        }
        anchors
    }

    /// The targets of the links. A link may continue on the next line.
    fn links(&self) -> Vec<String> {
        let prose: Vec<&str> = self.prose().map(|(_, line)| line).collect();
        let prose = prose.join("\n");
        let targets = prose.split("](").skip(1).filter_map(|rest| rest.split_once(')'));
        targets.map(|(target, _)| target.to_owned()).collect()
    }
}

#[test]
fn links_lead_to_files_and_headings() {
    let pages = pages();
    let mut wrong = String::new();
    for page in &pages {
        for link in page.links().iter().filter(|link| !link.contains("://")) {
            let (file, anchor) = link.split_once('#').unwrap_or((link, ""));
            let target = if file.is_empty() {
                top().join(&page.path)
            } else {
                top().join(page.path.parent().unwrap()).join(file)
            };
            // The site shows the README of a folder.
            let target = if target.is_dir() { target.join("README.md") } else { target };
            let target = target.canonicalize();
            let to = |to: &Page| target.as_ref().is_ok_and(|t| *t == top().join(&to.path));
            let anchors = || pages.iter().find(|page| to(page)).map(Page::anchors);
            if target.is_err()
                || !anchor.is_empty() && !anchors().is_some_and(|a| a.contains(anchor))
            {
                writeln!(wrong, "{}: {link}", page.path.display()).unwrap();
            }
        }
    }
    assert!(wrong.is_empty(), "these links lead nowhere:\n{wrong}");
}

/// What is in backticks in the prose of a page, with the number of its line.
fn names(page: &Page) -> impl Iterator<Item = (usize, &str)> {
    page.prose().flat_map(|(number, line)| {
        line.split('`').skip(1).step_by(2).map(move |name| (number, name))
    })
}

/// Asserts that each name of the pages that `is_meant` is one that `exists`.
fn assert_names(what: &str, is_meant: impl Fn(&str) -> bool, exists: impl Fn(&str) -> bool) {
    let mut wrong = String::new();
    for page in &pages() {
        for (number, name) in names(page).filter(|(_, name)| is_meant(name)) {
            if !exists(name) {
                writeln!(wrong, "{}:{number}: {name}", page.path.display()).unwrap();
            }
        }
    }
    assert!(wrong.is_empty(), "there is no such {what}:\n{wrong}");
}

/// The files of the sources, by their paths from the top folder.
fn sources() -> Vec<PathBuf> {
    let folders = ["crates", "fuzz/fuzz_targets", "python", "scripts", "xtask"];
    folders.into_iter().flat_map(files).collect()
}

#[test]
fn sources_that_pages_name_exist() {
    let sources = sources();
    let is_file = |name: &str| [".rs", ".py", ".sh"].iter().any(|ending| name.ends_with(ending));
    let is_source = |name: &str| is_file(name) && !name.contains(['*', ' ', '<']);
    assert_names("file", is_source, |name| sources.iter().any(|source| source.ends_with(name)));
    let is_folder = |name: &str| {
        let parts = ["crates/", "covey-", "python/", "scripts/"];
        name.contains('/')
            && parts.iter().any(|part| name.starts_with(part))
            && !name.contains([' ', '.', '*', '<'])
    };
    let in_folder = |name: &str, source: &Path| {
        source.ancestors().any(|folder| folder.ends_with(name.trim_end_matches('/')))
    };
    let is_generated = |name: &str| name.starts_with("covey-data/");
    assert_names(
        "folder",
        |name| is_folder(name) && !is_generated(name),
        |name| sources.iter().any(|source| in_folder(name, source)),
    );
}

/// Every word of the sources that may be a name.
fn words() -> BTreeSet<String> {
    let is_text =
        |path: &&PathBuf| path.extension().is_some_and(|e| e == "rs" || e == "py" || e == "sh");
    let texts = sources();
    let texts =
        texts.iter().filter(is_text).map(|path| fs::read_to_string(top().join(path)).unwrap());
    let is_name = |c: char| c.is_alphanumeric() || c == '_';
    texts
        .flat_map(|text| text.split(|c| !is_name(c)).map(str::to_owned).collect::<Vec<_>>())
        .collect()
}

#[test]
fn items_of_the_code_that_pages_name_exist() {
    let words = words();
    let is_path = |name: &str| {
        name.contains("::") && name.chars().all(|c| c.is_alphanumeric() || "_:()".contains(c))
    };
    let is_constant = |name: &str| {
        name.contains('_')
            && name.chars().all(|c| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_')
    };
    assert_names(
        "item",
        |name| is_path(name) || is_constant(name),
        |name| {
            let parts = name.trim_end_matches("()").split("::");
            parts.filter(|part| !part.is_empty()).all(|part| words.contains(part))
        },
    );
}

/// Whether `WHAT=what` names a measurement, or a test that takes long.
fn is_what(target: &str, what: &str) -> bool {
    let (list, start) = if target == "measure" {
        // The measurement `testbed-short` is the variant `TestbedShort`.
        let words = what.split('-').filter_map(|word| word.split_at_checked(1));
        let variant: String = words.map(|(first, rest)| first.to_uppercase() + rest).collect();
        ("xtask/src/measure/mod.rs".to_owned(), format!("    {variant}("))
    } else {
        (format!("scripts/{target}.sh"), format!("{what}) # "))
    };
    fs::read_to_string(top().join(list)).unwrap().lines().any(|line| line.starts_with(&start))
}

#[test]
fn make_targets_that_pages_name_exist() {
    let makefile = fs::read_to_string(top().join("Makefile")).unwrap();
    let targets: BTreeSet<&str> =
        makefile.lines().filter_map(|line| line.split_once(':')).map(|(name, _)| name).collect();
    let mut wrong = String::new();
    for page in &pages() {
        let blocks = page.blocks();
        let commands = blocks.iter().flat_map(|block| block.text.lines());
        let all = names(page).map(|(_, name)| name).chain(commands);
        let words = |line: &str| {
            if let Some(line) = line.strip_prefix("cargo xtask measure ") {
                return Some(("measure".to_owned(), line.split(' ').next().map(str::to_owned)));
            }
            let line = line.trim_start_matches("sudo ").strip_prefix("make ")?;
            let mut words = line.split_whitespace().map(str::to_owned);
            Some((words.next()?, words.find_map(|it| it.strip_prefix("WHAT=").map(str::to_owned))))
        };
        for (target, what) in all.filter_map(words) {
            let is_known = what.as_ref().is_none_or(|what| is_what(&target, what));
            if !targets.contains(target.as_str()) || !is_known {
                let what = what.map(|what| format!(" WHAT={what}")).unwrap_or_default();
                writeln!(wrong, "{}: make {target}{what}", page.path.display()).unwrap();
            }
        }
    }
    assert!(wrong.is_empty(), "Makefile has no such targets:\n{wrong}");
}

/// The options in the help texts of all commands.
fn options(command: &[&str], found: &mut BTreeSet<String>) {
    let help = [command, &["--help"]].concat();
    let ran = Command::new(env!("CARGO_BIN_EXE_covey")).args(help).output().unwrap();
    let help = String::from_utf8(ran.stdout).unwrap();
    let is_end = |c: char| !c.is_ascii_lowercase() && !c.is_ascii_digit() && c != '-';
    let of_line = |line: &str| {
        line.split(is_end)
            .filter(|word| word.starts_with("--"))
            .map(str::to_owned)
            .collect::<Vec<_>>()
    };
    found.extend(help.lines().flat_map(of_line));
    let listed = help.lines().skip_while(|line| *line != "Commands:").skip(1);
    let listed = listed.map_while(|line| line.strip_prefix("  ")?.split(' ').next());
    for name in listed.filter(|name| !name.is_empty() && *name != "help") {
        options(&[command, &[name]].concat(), found);
    }
}

#[test]
fn options_that_pages_name_exist() {
    let mut known = BTreeSet::new();
    options(&[], &mut known);
    // Those of other programs.
    known.extend(["--no-default-features", "--no-deps", "--release"].map(str::to_owned));
    let option = |name: &str| name.split(['=', ' ']).next().unwrap().to_owned();
    let is_option = |name: &str| name.starts_with("--") && name.len() > 2;
    assert_names("option", is_option, |name| known.contains(&option(name)));
}

#[test]
fn pages_that_sources_name_exist() {
    let all =
        ["Makefile", "CHANGELOG.md", "SECURITY.md"].map(PathBuf::from).into_iter().chain(sources());
    let is_page = |c: char| c.is_ascii_alphanumeric() || "/-_.".contains(c);
    let mut wrong = String::new();
    for path in all {
        let Ok(text) = fs::read_to_string(top().join(&path)) else { continue };
        let words =
            text.split(|c| !is_page(c)).filter_map(|word| word.find("docs/").map(|at| &word[at..]));
        let pages = words.filter_map(|word| word.find(".md").map(|end| &word[..end + 3]));
        for page in pages.filter(|page| !top().join(page).exists()) {
            writeln!(wrong, "{}: {page}", path.display()).unwrap();
        }
    }
    assert!(wrong.is_empty(), "these pages do not exist:\n{wrong}");
}

#[test]
fn every_page_is_in_the_index() {
    let index = fs::read_to_string(top().join("docs/README.md")).unwrap();
    let is_listed = |page: &Page| {
        page.path.strip_prefix("docs").is_ok_and(|p| index.contains(&format!("({})", p.display())))
    };
    assert!(pages().len() <= 35, "a subject has one page: there are at most 35");
    let missing: Vec<_> =
        pages().into_iter().filter(|page| !is_listed(page)).map(|page| page.path).collect();
    let others = ["CONTRIBUTING.md", "README.md", "docs/README.md"].map(PathBuf::from);
    assert_eq!(missing, others, "docs/README.md lists all pages");
}

#[test]
fn lines_are_short() {
    let mut long = String::new();
    for page in &pages() {
        for (number, line) in page.prose() {
            let is_table = line.trim_start().starts_with('|');
            if !is_table && line.chars().count() > 120 && line.trim().contains(' ') {
                writeln!(long, "{}:{number}", page.path.display()).unwrap();
            }
        }
    }
    let readme = fs::read_to_string(top().join("README.md")).unwrap();
    assert!(readme.lines().count() <= 150, "README.md has at most 150 lines");
    assert!(long.is_empty(), "these lines have more than 120 columns:\n{long}");
}

/// Tables, drawings, and words that are longer than half a line may be longer.
#[test]
fn comments_are_short() {
    let mut long = String::new();
    let folders = [
        "crates",
        "xtask",
        "python/src",
        "fuzz/fuzz_targets",
        "examples/own-policy/src",
        "jvm/src",
    ];
    for path in folders.into_iter().flat_map(files) {
        let (columns, beginnings): (_, &[&str]) = match path.extension().and_then(|it| it.to_str())
        {
            Some("rs") => (100, &["//"]),
            Some("java") => (120, &["//", "/*", "* "]),
            _ => continue,
        };
        let text = fs::read_to_string(top().join(&path)).unwrap();
        for (number, line) in (1..).zip(text.lines()) {
            let is_comment = beginnings.iter().any(|it| line.trim_start().starts_with(it));
            let is_prose = is_comment && !line.contains(['|', '─']);
            let has_long_word = line.split_whitespace().any(|word| word.chars().count() > 50);
            if is_prose && !has_long_word && line.chars().count() > columns {
                writeln!(long, "{}:{number}: more than {columns}", path.display()).unwrap();
            }
        }
    }
    assert!(long.is_empty(), "these comments have too many columns:\n{long}");
}

/// Runs commands in `folder`; returns their status and output.
fn bash(commands: &str, folder: &Path) -> (Option<i32>, String, String) {
    let program = Path::new(env!("CARGO_BIN_EXE_covey")).parent().unwrap();
    let path = format!("{}:{}", program.display(), std::env::var("PATH").unwrap());
    let ran = Command::new("bash")
        .args(["-euo", "pipefail", "-c", commands])
        .current_dir(folder)
        .env("PATH", path)
        .output()
        .unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (ran.status.code(), text(ran.stdout), text(ran.stderr))
}

/// Whether `line` was printed: a line of `output` begins with its words; spaces may differ.
fn was_printed(line: &str, output: &str) -> bool {
    let words: Vec<&str> = line.split_whitespace().collect();
    output.lines().any(|l| l.split_whitespace().take(words.len()).eq(words.iter().copied()))
}

/// The errors in the blocks of a page.
fn check(page: &Page) -> String {
    let folder = tempfile::tempdir().unwrap();
    let (status, _, err) =
        bash("covey trace convert builtin:fb-like:coflows=40,ports=20 trace.txt", folder.path());
    assert_eq!(status, Some(0), "{err}");
    let logs = top().join("scripts/example-logs.sh");
    let (status, _, err) = bash(&format!("'{}'", logs.display()), folder.path());
    assert_eq!(status, Some(0), "{err}");
    let mut wrong = String::new();
    let mut printed = String::new();
    for block in page.blocks() {
        let location = format!("{}:{}", page.path.display(), block.line);
        let marker = block.marker.unwrap_or_default();
        if let Some(how) = marker.strip_prefix("run").filter(|how| !how.starts_with(" by ")) {
            let expected = if how.is_empty() { "0" } else { how.trim_start_matches(", exit ") };
            let (status, out, err) = bash(&block.text, folder.path());
            if status.map(|s| s.to_string()).as_deref() != Some(expected) {
                writeln!(wrong, "{location}: status {status:?}\n{out}{err}").unwrap();
            }
            printed = out + &err;
        } else if let Some(how) = marker.strip_prefix("output") {
            if let Some(command) = how.strip_prefix(" of: ") {
                printed = bash(command, folder.path()).1;
            }
            for line in block.text.lines().filter(|line| !was_printed(line, &printed)) {
                writeln!(wrong, "{location}: not printed: {line}").unwrap();
            }
        } else if let Some(file) = marker.strip_prefix("run by ") {
            let test = fs::read_to_string(top().join(file)).unwrap_or_default();
            if !test.contains(page.path.to_str().unwrap()) {
                writeln!(wrong, "{location}: {file} does not name this page").unwrap();
            }
        } else if marker.strip_prefix("not run: ").is_none_or(|reason| reason.trim().is_empty()) {
            writeln!(wrong, "{location}: a marker is missing; crates/covey/tests/docs.rs has them")
                .unwrap();
        }
    }
    // Markdown also takes indented lines after an empty one for code, which no marker can describe.
    let prose: Vec<(usize, &str)> = page.prose().collect();
    for pair in prose.windows(2) {
        if pair[0].1.trim().is_empty() && pair[1].1.starts_with("    ") {
            writeln!(wrong, "{}:{}: put code into a fence", page.path.display(), pair[1].0)
                .unwrap();
        }
    }
    wrong
}

#[test]
fn blocks_are_run_or_say_why_not() {
    let wrong: String = pages().iter().map(check).collect();
    assert!(wrong.is_empty(), "{wrong}");
}
