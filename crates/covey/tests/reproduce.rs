//! `covey reproduce`: selection of parts, and forms of output.

use crate::common::TestFolder;
use serde_json::Value;

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
