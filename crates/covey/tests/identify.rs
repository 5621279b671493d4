//! `covey identify` and `covey trace records`.

use serde_json::Value;

use crate::common::{Ran, TestFolder};

/// Two coflows of a shuffle from two hosts to two, five seconds apart, then a flow without bytes.
const FLOWS: &str = "\
start_s,src,dst,sport,dport,proto,bytes,end_s,label
100,10.0.0.1,10.0.0.3,7337,40000,tcp,3000,101,a
100,10.0.0.1,10.0.0.4,7337,40001,tcp,1000,100.5,a
100,10.0.0.2,10.0.0.3,7337,40002,tcp,1000,,a
100,10.0.0.2,10.0.0.4,7337,40003,tcp,1000,,a
105,10.0.0.1,10.0.0.3,7337,40000,tcp,500,106.25,b
105,10.0.0.1,node-9,7337,40001,tcp,500,106,b
120,10.0.0.2,10.0.0.4,7337,40003,udp,,,
";

fn folder() -> TestFolder {
    let folder = TestFolder::new();
    folder.write("flows.csv", FLOWS);
    folder
}

fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|e| panic!("{e}: {text}"))
}

#[test]
fn a_table_of_the_largest_groups() {
    let folder = folder();
    assert_eq!(
        folder.results(&["identify", "flows.csv", "--top", "2"]),
        "\
group  flows       bytes  first start, s  last end, s  sources  destinations
    0      4    5.86 KiB           0.000        1.000        2             2
    1      2  1000 bytes           5.000        6.250        1             2
… and 1 more

3 groups of 7 flows among 5 hosts, by Rough-DBSCAN with metric default, radius 1, min-points 1. Confidence 1.000.
Times count from the first start, 100 s.
Labels: 2 coflows of 6 flows. Per flow: precision 1.000, recall 1.000, F1 1.000. Per coflow: precision 1.000, recall 1.000, F1 1.000.
"
    );
}

#[test]
fn json_has_the_number_of_groups_and_the_agreement() {
    let folder = folder();
    let found = json(&folder.results(&["identify", "flows.csv", "--json"]));
    let keys: Vec<&String> = found.as_object().unwrap().keys().collect();
    assert_eq!(
        keys,
        [
            "records",
            "algorithm",
            "min_points",
            "metric",
            "radius",
            "confidence",
            "flows",
            "bytes",
            "flows_without_bytes",
            "hosts",
            "groups",
            "first_start_s",
            "labelled_flows",
            "labels",
            "precision",
            "recall",
            "f1",
            "precision_per_coflow",
            "recall_per_coflow",
            "f1_per_coflow",
            "repairs"
        ]
    );
    assert_eq!(found["groups"], 3);
    assert_eq!(found["precision"], 1.0);
    let unlabelled: String = FLOWS
        .lines()
        .map(|line| format!("{},\n", line.rsplit_once(',').unwrap().0))
        .collect::<String>()
        .replacen("end_s,", "end_s,label", 1);
    let found = json(&folder.covey_reading(&["identify", "-", "--json"], unlabelled).out);
    assert_eq!(
        (&found["groups"], &found["records"]),
        (&Value::from(3), &Value::from("standard input"))
    );
    for measure in ["precision", "recall", "precision_per_coflow", "recall_per_coflow"] {
        assert!(found[measure].is_null(), "{measure}");
    }
}

#[test]
fn a_trace_that_other_commands_read() {
    let folder = folder();
    let outputs = ["-o", "found.jsonl", "--hosts", "hosts.csv", "--per-flow", "groups.csv"];
    let Ran { status, err, .. } =
        folder.covey(&[&["identify", "flows.csv"][..], &outputs].concat());
    assert_eq!(status, Some(0));
    assert_eq!(
        err,
        "found.jsonl: left out: flows without bytes, 1; groups that have no others, 1\n"
    );
    assert_eq!(
        folder.read("found.jsonl"),
        "\
{\"covey_trace\":1,\"ports\":5,\"hosts\":[\"10.0.0.1\",\"10.0.0.2\",\"10.0.0.3\",\"10.0.0.4\",\"node-9\"],\"coflows\":2}
{\"id\":\"0\",\"arrival_s\":0,\"flows\":[{\"src\":0,\"dst\":2,\"bytes\":3000},{\"src\":0,\"dst\":3,\"bytes\":1000},\
{\"src\":1,\"dst\":2,\"bytes\":1000},{\"src\":1,\"dst\":3,\"bytes\":1000}]}
{\"id\":\"1\",\"arrival_s\":5,\"flows\":[{\"src\":0,\"dst\":2,\"bytes\":500},{\"src\":0,\"dst\":4,\"bytes\":500}]}
"
    );
    assert_eq!(
        folder.read("hosts.csv"),
        "port,host\n0,10.0.0.1\n1,10.0.0.2\n2,10.0.0.3\n3,10.0.0.4\n4,node-9\n"
    );
    let groups = folder.read("groups.csv");
    assert_eq!(
        groups.lines().next(),
        Some("start_s,src,dst,sport,dport,proto,bytes,end_s,label,group")
    );
    assert_eq!(groups.lines().last(), Some("120,10.0.0.2,10.0.0.4,7337,40003,17,,,,2"));
    folder.results(&["compare", "found.jsonl", "--policies", "fair,sebf"]);
    let piped = folder.covey(&["identify", "flows.csv", "-o", "-"]).out;
    assert_eq!(piped, folder.read("found.jsonl"));
}

#[test]
fn a_page_with_a_picture() {
    let folder = folder();
    folder.results(&["identify", "flows.csv", "--report", "groups.html"]);
    let page = folder.read("groups.html");
    assert_eq!(page.matches("<path class=\"curve c").count(), 3);
    assert!(page.contains("<title>group 0: 4 flows, 5.86 KiB</title>"));
    assert!(page.contains("covey identify flows.csv --report groups.html"));
}

#[test]
fn a_metric_is_learned_and_used() {
    let folder = TestFolder::new();
    let records =
        ["trace", "records", "builtin:fb-like:coflows=60,ports=20", "--rung", "batches-noise"];
    folder.results(&[&records[..], &["--seed", "2", "-o", "labelled.csv"]].concat());
    let trained =
        folder.results(&["identify", "labelled.csv", "--train", "metric.json", "--top", "0"]);
    assert!(trained.contains("with metric metric.json, radius 1,"), "{trained}");
    let used =
        folder.results(&["identify", "labelled.csv", "--metric", "metric.json", "--top", "0"]);
    assert_eq!(trained, used);
    let full = ["--train", "full.json", "--form", "full", "--seed", "3"];
    folder.results(&[&["identify", "labelled.csv"][..], &full].concat());
    assert!(folder.read("full.json").contains("\"row\""));

    // The same records with other labels have the same groups.
    let shifted = folder.read("labelled.csv").replace(",,", ",,other");
    folder.write("other.csv", shifted);
    for file in ["labelled.csv", "other.csv"] {
        folder.results(&["identify", file, "--per-flow", "groups.csv"]);
        let groups = folder.read("groups.csv");
        let groups: Vec<_> =
            groups.lines().map(|it| it.rsplit_once(',').unwrap().1.to_owned()).collect();
        folder.write(&format!("{file}.groups"), groups.join("\n"));
    }
    assert_eq!(folder.read("labelled.csv.groups"), folder.read("other.csv.groups"));
}

#[test]
fn algorithms_and_radius() {
    let folder = folder();
    let groups = |more: &[&str]| {
        let found = folder.results(&[&["identify", "flows.csv", "--json"][..], more].concat());
        json(&found)["groups"].as_u64().unwrap()
    };
    assert_eq!(groups(&["--algorithm", "dbscan"]), 3);
    assert_eq!(groups(&["--algorithm", "dbscan", "--min-points", "3"]), 4);
    assert_eq!(groups(&["--radius", "1e6"]), 1);
}

#[test]
fn repairs_are_said() {
    let folder = TestFolder::new();
    let lines: Vec<&str> = FLOWS.lines().collect();
    let text = format!("{}\n{}\n{}\n{}\n{}\n", lines[0], lines[5], lines[1], lines[1], lines[3]);
    folder.write("f.csv", text.replace("106.25", "90"));
    let Ran { status, out, err } = folder.covey(&["identify", "f.csv"]);
    assert_eq!(status, Some(0));
    assert!(out.contains("2 groups of 3 flows"), "{out}");
    assert_eq!(
        err,
        "f.csv: 3 records were out of order; records are now in order of start\n\
         f.csv: 1 record repeated a flow, which is kept once\n\
         f.csv: 1 record ended before its start; its end counts as unknown\n"
    );
}

/// One flow that an exporter cut, in the order of the other file first.
#[test]
fn several_files_are_one() {
    let folder = TestFolder::new();
    let file = |first: &str, last: &str, bytes: u32| {
        format!(
            "firstSeen,lastSeen,proto,srcAddr,srcPort,dstAddr,dstPort,packets,bytes,flows\n\
             2025-04-08 05:{first},2025-04-08 05:{last},TCP,10.0.1.1,40000,10.0.2.1,7337,9,{bytes},1\n\
             Summary\nflows,bytes,packets,avg_bps,avg_pps,avg_bpp\n1,{bytes},9,1,1,1\n"
        )
    };
    folder.write("a.csv", file("00:00.000", "01:00.000", 3_000_000));
    folder.write("b.csv", file("01:00.500", "01:20.000", 1_000_000));
    let Ran { status, out, err } = folder.covey(&["identify", "b.csv", "a.csv"]);
    assert_eq!(status, Some(0));
    assert!(out.contains("1 group of 1 flow among 2 hosts"), "{out}");
    assert_eq!(
        err,
        "b.csv and a.csv: put together, with gaps of up to 5 s:\n  \
         records  flows     bytes\n        2      1  3.81 MiB  cut by an active timeout\n"
    );
    let whole = json(&folder.covey(&["identify", "b.csv", "a.csv", "--json"]).out);
    assert_eq!((&whole["bytes"], &whole["flows"]), (&Value::from(4e6), &Value::from(1)));
    assert_eq!(whole["repairs"]["cut"]["records"], 2);
    let apart = json(&folder.results(&["identify", "a.csv", "b.csv", "--stitch", "off", "--json"]));
    assert_eq!(apart["flows"], 2);
    let stitched = |gap: &str| {
        json(&folder.covey(&["identify", "a.csv", "b.csv", "--stitch", gap, "--json"]).out)["flows"]
            .as_u64()
    };
    assert_eq!((stitched("400ms"), stitched("600ms")), (Some(2), Some(1)));
    let columns = "start=firstSeen,end=lastSeen,src=srcAddr,dst=dstAddr,bytes=octets";
    let refusal = folder.refusal(&["identify", "a.csv", "--columns", columns]);
    assert!(
        refusal
            .contains("one of the file's columns for bytes=: firstSeen, lastSeen, proto, srcAddr"),
        "{refusal}"
    );
}

#[test]
fn broken_lines_and_records_of_no_use() {
    let folder = folder();
    folder.write("half.csv", &FLOWS[..FLOWS.len() - 30]);
    let Ran { status, out, err } = folder.covey(&["identify", "half.csv", "--skip-bad"]);
    assert!(out.contains("of 6 flows"), "{out}");
    assert_eq!((status, err.as_str()), (Some(0), "half.csv: 1 broken line was passed over\n"));
    folder.write(
        "lines.txt",
        "Date first seen          Duration Proto      Src IP Addr:Port          Dst IP Addr:Port   Packets    Bytes Flows\n\
         2025-04-08 05:00:00.000     1.000 TCP   2001:db..:0:1.40000  ->  2001:db..:0:9.7337      1000  1000000     1\n\
         2025-04-08 05:00:00.000     1.000 OSPF  10.0.0.1:0  ->  224.0.0.5:0      3  240     1\n",
    );
    let Ran { status, out, err } = folder.covey(&["identify", "lines.txt"]);
    assert!(out.contains("1 group of 1 flow"), "{out}");
    let note =
        "lines.txt: passed over: 1 × condensed IPv6 addresses (nfdump -6 prints whole ones)\n";
    assert_eq!((status, err.as_str()), (Some(0), note));
    let strict = folder.refusal(&["identify", "lines.txt", "--strict"]);
    assert!(
        strict.starts_with("lines.txt: line 2: record: expected a flow, found condensed"),
        "{strict}"
    );
    let stitch = folder.refusal(&["identify", "lines.txt", "--stitch", "5 apples"]);
    assert!(stitch.starts_with("--stitch: "), "{stitch}");
}

#[test]
fn mistakes() {
    let folder = folder();
    let identify = |more: &[&str]| folder.refusal(&[&["identify"][..], more].concat());
    folder.write("half.csv", &FLOWS[..FLOWS.len() - 30]);
    assert_eq!(
        identify(&["half.csv"]),
        "half.csv: line 8: dst: expected 9 values, as the header has columns, found 2"
    );
    folder.write("empty", "");
    let empty = "empty: line 1: header: expected flow records, found an empty file";
    assert_eq!(identify(&["empty"]), empty);
    folder.write("binary", b"\x7fELF\x02\0");
    assert!(identify(&["binary"]).starts_with("binary: line 1: text: expected UTF-8 without NUL"));
    assert!(identify(&["none.csv"]).starts_with("none.csv: "));
    assert!(identify(&["."]).starts_with(".: "));
    let trace = identify(&["tiny.txt"]);
    assert!(trace.ends_with(
        "found a trace, whose coflows are known (covey trace records makes flow records of it)"
    ));
    assert!(identify(&["flows.csv", "--from", "jsn"]).ends_with("did you mean 'json'?"));
    assert_eq!(
        identify(&["flows.csv", "--train", "m.json"]),
        "--train: flows.csv: 7 flows with 6 labels: expected a label for each flow"
    );
    folder.write(
        "old.json",
        "{\"covey_metric\":0,\"attributes\":{},\"radius\":1,\"leader_radius\":1}",
    );
    assert_eq!(
        identify(&["flows.csv", "--metric", "old.json"]),
        "old.json: line 1: covey_metric: expected version 2, found 0"
    );
    assert!(identify(&["flows.csv", "--metric", "none.json"]).starts_with("none.json: "));
    assert_eq!(
        identify(&["flows.csv", "--radius", "0"]),
        "--radius: expected a number above 0, found 0"
    );
    assert!(
        identify(&["flows.csv", "--report", "x.pdf"])
            .starts_with("--report: expected a name that ends in .html")
    );
    assert!(
        identify(&["flows.csv", "-o", "x.csv"])
            .starts_with("output: expected a name for Covey JSON lines")
    );
    assert_eq!(
        identify(&["flows.csv", "--json", "-o", "-"]),
        "--output: expected a file beside --json, found standard output"
    );
    let records = folder.refusal(&["trace", "records", "tiny.txt", "--rung", "mixd"]);
    assert!(records.ends_with("did you mean 'mixed'?"), "{records}");
}

#[test]
fn records_of_a_trace_as_it_is() {
    let folder = TestFolder::new();
    assert_eq!(
        folder.results(&["trace", "records", "tiny.txt"]),
        "start_s,src,dst,sport,dport,proto,bytes,end_s,label\n\
         0,0,1,0,0,6,10485760,,1\n0.5,0,1,0,0,6,2097152,,2\n0.5,2,1,0,0,6,2097152,,2\n"
    );
}

#[test]
fn policies_are_simulated_on_a_rung() {
    let folder = TestFolder::new();
    let trace = "builtin:fb-like:coflows=40,ports=20,seed=1";
    let compare = |more: &[&str]| {
        let policies = ["--policies", "fair,aalo,coda", "--json"];
        json(&folder.results(&[&["compare", trace][..], &policies, more].concat()))
    };
    let means = |found: &Value| -> Vec<f64> {
        let policies = found["results"].as_array().unwrap();
        policies.iter().map(|it| it["cct_s"]["mean"].as_f64().unwrap()).collect()
    };
    let rung = compare(&["--rung", "contrived", "--seed", "2"]);
    assert_eq!(rung["results"][2]["trace"], format!("{trace}, rung contrived, seed 2"));
    assert_eq!(means(&rung), means(&compare(&["--rung", "contrived", "--seed", "2"])));
    let (plain, other_seed) = (compare(&[]), compare(&["--rung", "contrived"]));
    for other in [plain, other_seed] {
        assert!(means(&rung).iter().zip(means(&other)).all(|(a, b)| *a != b), "{rung} {other}");
    }

    // Policies that know coflows run on the same workload: its flows, as records with labels, are
    // those of the rung.
    let starts = |file: &str, column: usize| {
        let text = folder.read(file);
        let mut starts: Vec<f64> = (text.lines().skip(1))
            .map(|line| line.split(',').nth(column).unwrap().parse::<f64>().unwrap().max(0.0))
            .collect();
        starts.sort_by(f64::total_cmp);
        starts
    };
    folder.results(&["trace", "records", trace, "--rung", "batches-hosts", "-o", "records.csv"]);
    for policy in ["aalo", "coda"] {
        let simulate = ["simulate", trace, "--policy", policy, "--rung", "batches-hosts"];
        folder.results(&[&simulate[..], &["--per-flow", "flows.csv"]].concat());
        assert_eq!(starts("records.csv", 0), starts("flows.csv", 5), "{policy}");
    }
}

#[test]
fn coda_compares_flows_by_a_given_metric() {
    let folder = TestFolder::new();
    let trace = "builtin:fb-like:coflows=60,ports=20,seed=1";
    let coda = |spec: &str, more: &[&str]| {
        let simulate = ["simulate", trace, "--policy", spec, "--rung", "batches", "--json"];
        json(&folder.results(&[&simulate[..], more].concat()))
    };
    folder.results(&["trace", "records", trace, "--rung", "batches-noise", "-o", "l.csv"]);
    folder.results(&["identify", "l.csv", "--train", "metric.json", "--top", "0"]);
    let (plain, learned) = (coda("coda", &[]), coda("coda", &["--metric", "metric.json"]));
    assert_ne!(plain["cct_s"]["mean"], learned["cct_s"]["mean"]);
    assert_eq!(learned["params"]["metric"], "metric.json");

    // The radius of the file is the default of eps. A large one makes one coflow of all flows.
    let text = folder.read("metric.json");
    folder.write("wide.json", text.replace("\"radius\": 1.0", "\"radius\": 1000.0"));
    let wide = coda("coda", &["--metric", "wide.json"]);
    assert_eq!(wide["params"]["eps"], "1000");
    let given = coda("coda:eps=1000,tau=0.5", &["--metric", "metric.json"]);
    assert_eq!(wide["cct_s"], given["cct_s"]);
    // Other policies ignore it, and say so.
    let aalo = [
        "simulate",
        trace,
        "--policy",
        "aalo",
        "--rung",
        "batches",
        "--json",
        "--metric",
        "metric.json",
    ];
    let Ran { out, err, .. } = folder.covey(&aalo);
    assert!(err.starts_with("the metric changes nothing"), "{err}");
    assert_eq!(coda("aalo", &[])["cct_s"], json(&out)["cct_s"]);
}

#[test]
fn mistakes_with_rungs_and_metrics() {
    let folder = TestFolder::new();
    folder.write("bad.json", "{\n  \"covey_metric\": 2,\n  \"attributes\": {}\n");
    folder.write(
        "old.json",
        "{\n\"covey_metric\": 7, \"attributes\": {}, \"radius\": 1, \"leader_radius\": 1}",
    );
    for command in [["simulate", "none.txt", "--policy"], ["compare", "none.txt", "--policies"]] {
        let refusal = |more: &[&str]| folder.refusal(&[&command[..], &["coda"], more].concat());
        let rung = refusal(&["--rung", "mixd"]);
        assert!(rung.starts_with("--rung: expected one of trace, noise,"), "{rung}");
        assert!(rung.ends_with("found \"mixd\"; did you mean 'mixed'?"), "{rung}");
        let bad = refusal(&["--metric", "bad.json"]);
        assert!(bad.starts_with("bad.json: line 4: text: expected a metric file, found "), "{bad}");
        assert_eq!(
            refusal(&["--metric", "old.json"]),
            "old.json: line 2: covey_metric: expected version 2, found 7"
        );
        assert_eq!(
            refusal(&["--metric", "missing.json"]),
            folder.refusal(&["identify", "flows.csv", "--metric", "missing.json"])
        );
    }
}
