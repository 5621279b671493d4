//! `covey reproduce`: selection of parts, and forms of output.

use crate::common::TestFolder;
use serde_json::{Value, json};

#[test]
fn an_example_of_a_paper_as_json() {
    let folder = TestFolder::new();
    let json = folder.results(&["reproduce", "swallow", "--figure", "4", "--json"]);
    let report: Value = serde_json::from_str(&json).unwrap();
    assert_eq!(report["paper"], "swallow");
    let section = &report["sections"][0];
    assert_eq!(section["place"], "Figure 4");
    let found = &section["findings"][11];
    assert_eq!(found["what"], "FVDF, mean CCT");
    assert_eq!(found["published"], 3.25);
    assert_eq!(found["verdict"], "holds");
    assert!((found["ours"].as_f64().unwrap() - 3.25).abs() < 1e-6);
    // Five runs, and one on the workload in the order of FIFO.
    assert_eq!(section["runs"].as_array().unwrap().len(), 6);
}

#[test]
fn text_names_values_that_are_not_comparable() {
    let folder = TestFolder::new();
    let text = folder.results(&["reproduce", "philae", "--table", "4", "--trace", "tiny.txt"]);
    assert!(text.contains("tiny.txt is not the trace of the paper"), "{text}");
    assert!(text.contains("thin, small  fair        44.3 %      100 %"), "{text}");
    assert!(
        text.contains("Of 4 published values, 0 hold, 0 differ, 4 are not comparable."),
        "{text}"
    );
    assert!(text.lines().all(|line| line.chars().count() <= 100), "{text}");
}

#[test]
fn a_page_is_written() {
    let folder = TestFolder::new();
    folder.results(&["reproduce", "swallow", "--table", "VI", "--report", "page.html"]);
    let page = folder.read("page.html");
    assert!(page.contains("<h2>Table VI: mean and sum of CCTs</h2>"));
    assert!(page.contains("894472 ms") && page.contains("covey reproduce swallow --table VI"));
}

#[test]
fn unknown_parts_of_a_paper_are_refused() {
    let folder = TestFolder::new();
    let refusal = |arguments: &[&str]| folder.refusal(&[&["reproduce"], arguments].concat());
    assert_eq!(
        refusal(&["philae", "--table", "9"]),
        "--table: expected one of 1, 2, 3, 4, 5, 6, 7 for philae, found '9'"
    );
    assert_eq!(
        refusal(&["aalo", "--figure", "4"]),
        "--figure: expected one of 8, 9 for aalo, found '4'"
    );
    let live = |more: &[&str]| refusal(&[&["philae", "--live"], more].concat());
    assert_eq!(live(&["--table", "3"]), "--table: expected one of 1, 6, 7 for philae, found '3'");
    assert_eq!(live(&["--seconds", "0"]), "--seconds: expected from 1 to 86400, found 0");
    assert_eq!(refusal(&["coda", "--live"]), "--live: expected philae or aalo, found coda");
    assert!(refusal(&["philae", "--seconds", "5"]).contains("--live"));
    let testbed = |more: &[&str]| refusal(&[&["philae", "--testbed"], more].concat());
    assert_eq!(testbed(&["--seconds", "0"]), "--seconds: expected from 1 to 86400, found 0");
    assert_eq!(
        refusal(&["swallow", "--testbed", "--seconds", "60"]),
        "--seconds: expected a paper whose trace is replayed; --every shortens the others, found swallow"
    );
    assert_eq!(testbed(&["--table", "6"]), "--table: expected one of 5 for philae, found '6'");
    let refused = refusal(&["swallow", "--testbed", "--every", "0"]);
    assert_eq!(refused, "--every: expected 1 or more, found 0");
    assert_eq!(
        refusal(&["swallow", "--testbed", "--table", "VI"]),
        "--table: expected one of I, II, VII for swallow, found 'VI'"
    );
    assert!(refusal(&["philae", "--live", "--testbed"]).contains("--testbed"));
    assert!(live(&["--trace", "none.txt"]).starts_with("none.txt: "));
    assert_eq!(
        refusal(&["karuna"]),
        "PAPER: expected one of philae, swallow, aalo, stream, coda, found 'karuna'"
    );
    assert!(refusal(&["PHILEA"]).ends_with("; did you mean 'philae'?"));
    assert!(refusal(&["aalo", "--table", "4", "--figure", "8"]).contains("cannot be used with"));
    assert!(refusal(&["aalo", "--trace", "none.txt"]).starts_with("none.txt: "));
    assert!(refusal(&["swallow", "--report", "no/page.html"]).contains("no/page.html"));
}

/// A run of an application as `examples/spark/swallow.py` writes it.
fn run(application: &str, mode: &str, job_s: f64, bytes: u32) -> Value {
    json!({
        "application": application, "mode": mode, "job_s": job_s, "map_s": job_s / 2.0, "result_s": job_s / 4.0,
        "written_bytes": bytes, "remote_bytes": bytes, "gc_map_s": [0.1, 0.1, 0.1, 0.2],
        "gc_result_s": [0.1, 0.1, 0.1, job_s / 10.0],
    })
}

#[test]
fn what_was_measured_on_spark_is_shown_beside_the_paper() {
    let folder = TestFolder::new();
    let runs = [
        run("Sort", "none", 6.0, 8_000_000),
        run("Sort", "none", 8.0, 8_000_000),
        run("Sort", "lz4", 5.0, 4_000_000),
        run("Sort", "zstd", 7.0, 2_000_000),
        run("Sort", "swallow", 3.5, 2_000_000),
        run("Join", "none", 3.0, 2_000_000),
        run("Join", "lz4", 3.0, 1_500_000),
        run("Join", "zstd", 2.7, 1_000_000),
        run("Join", "swallow", 3.0, 1_000_000),
    ];
    let file = |runs: &[Value]| {
        json!({"spark": "4.2.0", "hosts": 3, "link_bps": 5e7, "rows": 200, "pairs": 2, "runs": runs}).to_string()
    };
    folder.write("runs.json", file(&runs));
    let text = folder.results(&["reproduce", "swallow", "--spark", "runs.json", "--json"]);
    let report: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(report["by"], "spark");
    let ours = |place: &str, what: &str| {
        let of = |list: &Value, key: &str, name: &str| {
            let found = list.as_array().unwrap().iter().find(|it| it[key] == name);
            found.unwrap_or_else(|| panic!("{place}, {what}")).clone()
        };
        of(&of(&report["sections"], "place", place)["findings"], "what", what)
    };
    assert_eq!(ours("Table I", "Sort")["ours"], 25.0);
    assert_eq!(ours("Table I", "Sort")["published"], 24.96);
    assert_eq!(ours("Table I", "Sort")["verdict"], "holds");
    assert_eq!(ours("Table I", "Join, Spark's default")["ours"], 75.0);
    // Of 10 MB, 3 are left; of 5.5, too.
    assert_eq!(ours("Table VII", "without")["ours"], 10.0);
    assert!((ours("Table VII", "reduction")["ours"].as_f64().unwrap() - 70.0).abs() < 1e-9);
    assert_eq!(ours("Table VII", "reduction")["verdict"], "differs");
    assert_eq!(ours("Figure 7(a)", "shuffling stages, most")["ours"], 2.0);
    assert_eq!(ours("Figure 7(a)", "jobs, mean")["ours"], 1.5);
    assert_eq!(ours("Figure 7(a)", "Sort, best codec")["ours"], 5.0 / 3.5);
    assert_eq!(ours("Figure 7(a)", "Join, best codec")["ours"], 2.7 / 3.0);
    assert_eq!(ours("Figure 7(b)", "Join")["ours"], 50.0);
    assert_eq!(ours("Table VIII", "reduce, longest without over with")["verdict"], "holds");
    assert!(folder.results(&["reproduce", "swallow", "--spark", "runs.json"]).contains("Spark"));

    let refusal = |paper: &str, text: &str| {
        folder.write("runs.json", text);
        folder.refusal(&["reproduce", paper, "--spark", "runs.json"])
    };
    assert_eq!(refusal("aalo", &file(&runs)), "--spark: expected swallow, found 'aalo'");
    assert!(refusal("swallow", "{").starts_with("runs.json: EOF while parsing"));
    assert_eq!(refusal("swallow", &file(&[])), "runs.json: expected at least one run, found none");
    assert_eq!(
        refusal("swallow", &file(&runs[..3])),
        "runs.json: runs: expected Sort in each mode, found none in Zstd"
    );
    let negative = [run("Sort", "none", -1.0, 0)];
    assert_eq!(
        refusal("swallow", &file(&negative)),
        "runs.json: run 0: expected times and bytes that are not negative"
    );
    assert!(refusal("swallow", &file(&[run("Sort", "fast", 1.0, 1)])).contains("`fast`"));
    let both = ["reproduce", "swallow", "--spark", "runs.json", "--testbed"];
    assert!(folder.refusal(&both).contains("--testbed"));
}

#[test]
fn the_live_coordinator_is_measured() {
    let folder = TestFolder::new();
    // A flow of 100 MB, which takes 0.84 s.
    folder.write("one.txt", "2 1\n1 0 1 0 1 1:100\n");
    let live = ["reproduce", "philae", "--live", "--table", "1", "--trace", "one.txt"];
    let json = folder.results(&[&live[..], &["--seconds", "3", "--json"]].concat());
    let report: Value = serde_json::from_str(&json).unwrap();
    assert_eq!((&report["comparable"], &report["by"]), (&false.into(), &"live".into()));
    let section = &report["sections"][0];
    assert_eq!(section["cannot"], Value::Null);
    assert_eq!(section["runs"].as_array().unwrap().len(), 3);
    let ours = |what: &str| {
        let findings = section["findings"].as_array().unwrap();
        let finding = findings.iter().find(|finding| finding["what"] == what).expect(what);
        finding["ours"].as_f64().unwrap()
    };
    for who in ["Philae", "Aalo", "Aalo, reports when due"] {
        assert!(ours(&format!("{who}, reports of ends")) > 0.0, "{who}");
        assert!(ours(&format!("{who}, decisions")) > 0.0, "{who}");
    }
    assert_eq!(ours("Philae, reports of bytes"), 0.0);
    assert!(ours("Aalo, reports of bytes") > ours("Aalo, reports when due, reports of bytes"));
}
