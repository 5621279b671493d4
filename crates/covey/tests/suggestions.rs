//! Names that do not exist, and suggestions: one line, exit status 2.

use crate::common::TestFolder;

/// Checks that a command is refused with a question at the end.
fn suggests(arguments: &[&str], meant: &str) {
    let line = TestFolder::new().refusal(arguments);
    assert!(line.ends_with(&format!("did you mean '{meant}'?")), "{arguments:?}: {line}");
}

#[test]
fn policies() {
    for (name, meant) in [
        ("philea", "philae"),
        ("varys", "sebf"),
        ("D-CLAS", "aalo"),
        ("dark", "aalo"),
        ("max-min", "fair"),
        ("tcp", "fair"),
        ("bssi", "sincronia"),
        ("swallow", "fvdf"),
        ("baraat", "fifo-lm"),
        ("orchestra", "wss"),
    ] {
        suggests(&["simulate", "tiny.txt", "--policy", name], meant);
        suggests(&["compare", "tiny.txt", "--policies", &format!("lcf,{name}")], meant);
        suggests(&["policies", name], meant);
        suggests(&["serve", "--data", "data", "--policy", name], meant);
    }
    suggests(&["simulate", "tiny.txt", "--policy", "aalo:queue=strict"], "queues");
    suggests(&["simulate", "tiny.txt", "--policy", "lcf:compres=lz4"], "compress");
    suggests(&["simulate", "tiny.txt", "--policy", "DARK", "--sim", "coflowsim"], "aalo");
}

#[test]
fn traces() {
    suggests(&["simulate", "fb-like"], "builtin:fb-like");
    suggests(&["compare", "fblike:seed=2"], "builtin:fb-like:seed=2");
    suggests(&["trace", "info", "coflowsim"], "builtin:coflowsim-custom");
    suggests(&["bound", "builtin:fblike"], "fb-like");
    suggests(&["bound", "builtin:fb-like:coflow=3"], "coflows");
    assert!(!TestFolder::new().refusal(&["bound", "none.txt"]).contains("did you mean"));
}

#[test]
fn options() {
    for (option, meant) in [
        ("-p", "--policy"),
        ("--policies", "--policy"),
        ("--csv", "--per-coflow"),
        ("--rate", "--port-rate"),
        ("--bandwidth", "--port-rate"),
        ("--jsno", "--json"),
        ("-o", "--per-coflow"),
    ] {
        suggests(&["simulate", "tiny.txt", option, "x"], meant);
    }
    for (option, meant) in [
        ("-p", "--policies"),
        ("--csv", "--per-coflow"),
        ("--html", "--report"),
        ("-o", "--report"),
        ("-j", "--jobs"),
    ] {
        suggests(&["compare", "tiny.txt", option, "x"], meant);
    }
    suggests(&["testbed", "tiny.txt", "--rate", "x"], "--link");
    suggests(&["simulate", "tiny.txt", "--sim", "coflosim"], "coflowsim");
    assert_eq!(
        TestFolder::new().refusal(&["simulate", "--trace", "tiny.txt"]),
        "unexpected argument '--trace'; did you mean TRACE without '--trace'?"
    );
    assert_eq!(
        TestFolder::new().refusal(&["simulate", "tiny.txt", "--xyz"]),
        "unexpected argument '--xyz'; try '--help'"
    );
}

#[test]
fn commands() {
    suggests(&["simulat", "tiny.txt"], "simulate");
    suggests(&["run", "tiny.txt"], "simulate");
    suggests(&["generate", "fb-like"], "trace generate");
    suggests(&["info", "tiny.txt"], "trace info");
    suggests(&["trace", "filtre", "tiny.txt"], "filter");
    assert_eq!(TestFolder::new().refusal(&["xyz"]), "unknown command 'xyz'; try '--help'");
}

#[test]
fn units() {
    for (rate, meant) in [("10G", "10gbps"), ("100M", "100mbps"), ("125MB", "125MB/s")] {
        suggests(&["simulate", "tiny.txt", "--port-rate", rate], meant);
        suggests(&["testbed", "tiny.txt", "--link", rate], meant);
        suggests(&["trace", "waves", "tiny.txt", "--rate", rate], meant);
    }
    suggests(&["testbed", "tiny.txt", "--limit", "30m"], "30min");
    suggests(&["simulate", "tiny.txt", "--cpu", "50%"], "0.5");
}

#[test]
fn case_and_blanks_do_not_matter_in_names() {
    let folder = TestFolder::new();
    let simulate = |policy| folder.results(&["simulate", "tiny.txt", "--policy", policy, "--json"]);
    let without_time =
        |text: String| text.lines().filter(|it| !it.contains("wall_s")).collect::<String>();
    let found = without_time(simulate("SEBF:compress=LZ4"));
    assert_eq!(found.replace("LZ4", "lz4"), without_time(simulate("sebf:compress=lz4")));
    let compare = |list: &str, baseline: &str| {
        let arguments = ["compare", "tiny.txt", "--policies", list, "--baseline", baseline];
        let results = folder.results(&arguments);
        // The last column is wall time. The row of a long name begins on a line of its own.
        let row =
            |line: &str| line.rsplit_once(' ').map_or(line, |(row, _)| row).trim_end().to_owned();
        results.lines().take(5).map(row).collect::<Vec<_>>()
    };
    assert_eq!(
        compare("Fair, SEBF: share=matching", "FAIR"),
        compare("fair,sebf:share=matching", "fair")
    );
    let hour = |name| folder.results(&["trace", "info", name]);
    assert_eq!(hour("builtin:FB-like:coflows=20"), hour("builtin:fb-like:coflows=20"));
    folder.results(&["simulate", "tiny.txt", "--sim", "CoflowSim", "--policy", "AALO"]);
    folder.results(&["reproduce", "Swallow", "--figure", "4", "--json"]);
}
