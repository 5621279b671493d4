//! What all commands read: traces, flow records, and several files of them.

use crate::common::TestFolder;

const FLOWS: &str = "ts,te,client,server,n,job\n\
    2024-05-01 12:00:00+02:00,2024-05-01 12:00:09+02:00,web-3,db,125e6,q1\n\
    2024-05-01T10:00:01Z,,web-1,db,125e6,q1\n\
    2024-05-01 10:00:03Z,,web-1,web-3,125e6,q2\n";
const MAP: &str = "start=ts,end=te,src=client,dst=server,bytes=n,coflow=job";

/// A folder with the table, whole and in two parts.
fn folder() -> TestFolder {
    let folder = TestFolder::new();
    folder.write("flows.csv", FLOWS);
    let (header, rows) = FLOWS.split_once('\n').unwrap();
    for (name, row) in ["a.csv", "b.csv", "c.csv"].iter().zip(rows.lines()) {
        folder.write(name, format!("{header}\n{row}\n"));
    }
    folder
}

#[test]
fn every_command_reads_a_table_of_flows() {
    let folder = folder();
    let converted =
        folder.results(&["trace", "convert", "flows.csv", "flows.jsonl", "--columns", MAP]);
    assert_eq!(converted, "");
    let trace = folder.read("flows.jsonl");
    assert!(trace.starts_with(
        "{\"covey_trace\":1,\"ports\":3,\"hosts\":[\"db\",\"web-1\",\"web-3\"],\"coflows\":2}\n{\"id\":\"q1\""
    ));
    for command in [
        &["compare", "--policies", "fair,sebf", "--json"][..],
        &["simulate", "--policy", "sebf"],
        &["bound"],
        &["trace", "info"],
        &["trace", "filter", "--min-width", "2"],
        &["trace", "records"],
    ] {
        // Names and wall time of the runs differ.
        let run = |inputs: &[&str]| {
            let ran = folder.covey(&[command, inputs].concat());
            assert_eq!(ran.status, Some(0), "{command:?}: {}", ran.err);
            let of_run = [".csv", "jsonl", "trace", "wall", "Simulated in"];
            let is_same = |line: &&str| !of_run.iter().any(|word| line.contains(word));
            ran.out.lines().filter(is_same).map(str::to_owned).collect::<Vec<_>>()
        };
        let whole = run(&["flows.csv", "--columns", MAP]);
        assert_eq!(whole, run(&["b.csv", "c.csv", "a.csv", "--columns", MAP]), "{command:?}");
        assert_eq!(whole, run(&["flows.jsonl"]), "{command:?}");
    }
    folder.covey(&["simulate", "flows.jsonl", "--per-flow", "flows-of.csv"]);
    assert!(folder.read("flows-of.csv").contains(",web-3,db\n"));
    assert!(folder.results(&["trace", "info", "flows.jsonl"]).contains("at port 0 (db)"));
}

#[test]
fn coflows_are_found_where_none_is_named() {
    let folder = folder();
    let map = "start=ts,src=client,dst=server,bytes=n";
    let ran = folder.covey(&["compare", "flows.csv", "--columns", map, "--policies", "fair"]);
    assert_eq!(ran.status, Some(0), "{}", ran.err);
    assert!(ran.err.starts_with("flows.csv: no flow names its coflow: "), "{}", ran.err);
    assert!(ran.err.contains("--columns coflow=COLUMN says which"), "{}", ran.err);
}

#[test]
fn one_named_column_is_enough_where_the_others_have_common_names() {
    let folder = TestFolder::new();
    folder.write("jobs.csv", "start,src,dst,bytes,job\n0,a,b,1000000,one\n1,a,c,2000000,two\n");
    let ran =
        folder.covey(&["compare", "jobs.csv", "--columns", "coflow=job", "--policies", "fair"]);
    assert_eq!(ran.status, Some(0), "{}", ran.err);
    assert!(
        ran.err.contains("columns taken by their names: start=start,src=src,dst=dst,bytes=bytes")
    );
    assert!(ran.out.contains("2 coflows"), "{}", ran.out);
}

#[test]
fn mixed_files_and_what_has_no_tasks() {
    let folder = folder();
    folder.write("common.csv", FLOWS.replace(",n,", ",bytes,"));
    assert_eq!(
        folder.refusal(&["compare", "tiny.txt", "common.csv"]),
        "files: expected traces or flow records alone, found a trace, tiny.txt, and flow records, common.csv"
    );
    for (file, what) in [("common.csv", "flow records"), ("tiny.txt", "a trace")] {
        assert_eq!(
            folder.refusal(&["whatif", file]),
            format!(
                "{file}: expected an event log of Spark, with the tasks that wait for flows, found {what} \
                 (covey compare {file} says what policies do for its flows alone)"
            )
        );
    }
}

/// Names that nothing may show.
const SECRETS: [&str; 7] = ["secret", "10.77.", "ada", "payroll", "acme", "tuesday", "app-"];

/// Fails if a text has one of the names.
fn assert_has_no_names(what: &str, text: &str) {
    for name in SECRETS {
        assert!(!text.contains(name), "{what} has {name}: {text}");
    }
}

#[test]
fn anonymised_traces_have_no_names() {
    let folder = TestFolder::new();
    folder.write(
        "tuesday.jsonl",
        r#"{"covey_trace":1}
{"id":"payroll","arrival_s":0,"flows":[{"src":"secret-2","dst":"10.77.0.1","bytes":125e6}],"job":"ada","tenant":"acme"}
{"id":"payroll 2","arrival_s":1,"flows":[{"src":"secret-1","dst":"10.77.0.1","bytes":125e6}],"job":"ada","tenant":"acme"}
"#,
    );
    folder.write("tuesday.csv", "start,src,dst,bytes,coflow\n0,secret-2,10.77.0.1,125e6,payroll\n1,secret-1,10.77.0.1,125e6,ada\n");
    let run = |arguments: &[&str]| {
        let ran = folder.covey(arguments);
        assert_eq!(ran.status, Some(0), "{arguments:?}: {}", ran.err);
        assert_has_no_names(&format!("{arguments:?}"), &ran.out);
        ran.out
    };
    for file in ["tuesday.jsonl", "tuesday.csv"] {
        let trace = run(&["trace", "convert", file, "-", "--anonymise"]);
        assert!(trace.contains(r#""hosts":["host-1","host-2","host-3"]"#), "{trace}");
        assert!(trace.contains(r#""id":"coflow-1""#), "{trace}");
        run(&["trace", "info", file, "--anonymise"]);
        run(&["trace", "info", file, "--anonymise", "--json"]);
        run(&["trace", "records", file, "--anonymise"]);
        run(&["bound", file, "--anonymise"]);
        run(&["compare", file, "--anonymise", "--policies", "fair,sebf", "--report", "page.html"]);
        run(&[
            "compare",
            file,
            "--anonymise",
            "--policies",
            "fair",
            "--json",
            "--per-coflow",
            "all",
        ]);
        let outputs = ["--per-flow", "flows.csv", "--per-coflow", "coflows.csv"];
        run(&[&["simulate", file, "--anonymise", "--json"][..], &outputs].concat());
        for output in ["page.html", "flows.csv", "coflows.csv", "all/fair.csv"] {
            assert_has_no_names(output, &folder.read(output));
        }
    }
    let outputs = [
        "-o",
        "found.jsonl",
        "--hosts",
        "hosts.csv",
        "--per-flow",
        "groups.csv",
        "--report",
        "page.html",
    ];
    run(&[&["identify", "tuesday.csv", "--anonymise"][..], &outputs].concat());
    run(&["identify", "tuesday.csv", "--anonymise", "--json"]);
    for output in ["found.jsonl", "hosts.csv", "groups.csv", "page.html"] {
        assert_has_no_names(output, &folder.read(output));
    }
    assert_eq!(folder.read("hosts.csv"), "port,host\n0,host-1\n1,host-2\n2,host-3\n");
}

#[test]
fn anonymised_results_are_the_same() {
    let folder = folder();
    let results = |more: &[&str]| {
        let arguments = ["simulate", "flows.csv", "--columns", MAP, "--policy", "covey", "--json"];
        let text = folder.covey(&[&arguments[..], more].concat()).out;
        let found: serde_json::Value = serde_json::from_str(&text).unwrap();
        (found["cct_s"].clone(), found["fct_s"].clone(), found["trace"].clone())
    };
    let (with, without) = (results(&[]), results(&["--anonymise"]));
    assert_eq!((&with.0, &with.1), (&without.0, &without.1));
    assert_eq!(without.2, "anonymised");
}
