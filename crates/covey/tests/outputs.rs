//! The output of commands on which others rely.

use std::fs;

use crate::common::{TINY, TestFolder};
use serde_json::Value;

const SUMMARY: [&str; 24] = [
    "policy",
    "params",
    "trace",
    "fabric",
    "port_rate_bps",
    "coflows",
    "flows",
    "bytes",
    "cct_s",
    "fct_s",
    "makespan_s",
    "lower_bound_mean_cct_s",
    "events",
    "wall_s",
    "label",
    "ports",
    "jobs",
    "jct_s",
    "weighted_mean_cct_s",
    "deadlines",
    "deadlines_met",
    "saved_bytes",
    "cpu_s",
    "knows_sizes",
];

fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|e| panic!("{e}: {text}"))
}

fn keys(value: &Value) -> Vec<&str> {
    value.as_object().unwrap().keys().map(String::as_str).collect()
}

#[test]
fn simulate_prints_text() {
    let text = TestFolder::new().results(&["simulate", "tiny.txt", "--policy", "sebf", "--bound"]);
    for part in ["CCT (s)", "FCT (s)", "Lower bound", "Policy sebf: share=madd", "Trace tiny.txt"] {
        assert!(text.contains(part), "{part}: {text}");
    }
}

#[test]
fn simulate_prints_json() {
    let folder = TestFolder::new();
    let simulate = ["simulate", "tiny.txt", "--policy", "aalo:delta=0", "--json"];
    let found = json(&folder.results(&[&simulate[..], &["--port-rate", "8mbps"]].concat()));
    assert_eq!(keys(&found), SUMMARY);
    assert_eq!(keys(&found["cct_s"]), ["mean", "p50", "p90", "p95", "p99", "max"]);
    assert_eq!(keys(&found["fct_s"]), keys(&found["cct_s"]));
    assert_eq!(
        keys(&found["params"]),
        ["K", "E", "q1", "delta", "start_small", "queues", "share", "work_conservation"]
    );
    assert_eq!(
        [&found["policy"], &found["label"], &found["params"]["delta"], &found["fabric"]],
        ["aalo", "aalo:delta=0", "0", "big-switch"]
    );
    assert_eq!(
        [&found["port_rate_bps"], &found["coflows"], &found["flows"], &found["bytes"]],
        [8_000_000, 2, 3, 14 * 1_048_576]
    );
    assert_eq!(found["lower_bound_mean_cct_s"], Value::Null);

    let found = json(&folder.results(&[&simulate[..], &["--bound"]].concat()));
    let bound = found["lower_bound_mean_cct_s"].as_f64().unwrap();
    assert!(bound > 0.0 && bound <= found["cct_s"]["mean"].as_f64().unwrap());
}

#[test]
fn simulate_writes_tables() {
    let folder = TestFolder::new();
    let tables = ["--per-coflow", "coflows.csv", "--per-flow", "flows.csv"];
    let simulate = ["simulate", "tiny.txt", "--policy", "fifo", "--port-rate", "1MiB/s"];
    folder.results(&[&simulate[..], &tables].concat());
    let coflows = folder.read("coflows.csv");
    let mut lines = coflows.lines();
    let header = "coflow_id,arrival_s,completion_s,cct_s,width,size_bytes,length_bytes,release_s,job,weight,deadline_s,deadline_met,saved_bytes,cpu_s,tenant";
    assert_eq!(lines.next(), Some(header));
    assert_eq!(lines.next(), Some("1,0,10,10,1,10485760,10485760,0,,1,,,0,0,"));
    assert_eq!(lines.next(), Some("2,0.5,14,13.5,2,4194304,2097152,0.5,,1,,,0,0,"));
    assert_eq!(lines.next(), None);
    let flows = folder.read("flows.csv");
    let mut lines = flows.lines();
    let header = "coflow_id,flow,src,dst,bytes,start_s,completion_s,fct_s";
    assert_eq!(lines.next(), Some(header));
    assert_eq!(lines.next(), Some("1,0,0,1,10485760,0,10,10"));
    assert_eq!(lines.count(), 2);
    assert_eq!(folder.names(), ["coflows.csv", "flows.csv", "tiny.txt"]);
}

#[test]
fn all_outputs_show_compression() {
    let folder = TestFolder::new();
    folder.write("cpu.csv", "port,from_s,share\n*,0,0.5\n");
    // Ports of 1 MiB a second; 2 MiB a second are compressed to half, with half of a processor 1.
    let simulate = ["simulate", "tiny.txt", "--policy", "fifo:compress=4MiB/s:0.5"];
    let simulate = [&simulate[..], &["--port-rate", "0.5MiB/s", "--cpu", "cpu.csv"]].concat();
    let found = json(&folder.results(&[&simulate[..], &["--json", "--bound"]].concat()));
    assert_eq!(found["params"]["compress"], "4MiB/s:0.5");
    assert_eq!(found["saved_bytes"], 7 * 1_048_576);
    assert_eq!(found["cpu_s"], 14.0 / 4.0);
    let bound = found["lower_bound_mean_cct_s"].as_f64().unwrap();
    assert!(bound > 0.0 && bound <= found["cct_s"]["mean"].as_f64().unwrap());
    let text = folder.results(&[&simulate[..], &["--per-coflow", "coflows.csv"]].concat());
    assert!(
        text.contains("Compression saved 7 MiB (50.0 %) for 3.5 s of processor time."),
        "{text}"
    );
    assert!(folder.read("coflows.csv").lines().nth(1).unwrap().ends_with(",5242880,2.5,"));
    // Without processors nothing is compressed.
    let compare = ["compare", "tiny.txt", "--policies", "fifo,fifo:compress=lz4", "--json"];
    let found = json(&folder.results(&[&compare[..], &["--cpu", "0"]].concat()));
    assert_eq!(found["results"][0]["cct_s"], found["results"][1]["cct_s"]);
    // Each has the bound that goes with its bytes.
    let found = json(&folder.results(&compare));
    let bound = |k: usize| found["results"][k]["lower_bound_mean_cct_s"].as_f64().unwrap();
    assert!((bound(1) / bound(0) - 0.6215).abs() < 0.01, "{} {}", bound(0), bound(1));
    let text = folder.results(&compare[..4]);
    assert!(text.contains("saved"), "{text}");
}

#[test]
fn compare_prints_a_table_of_all_policies() {
    let text = TestFolder::new().results(&["compare", "tiny.txt"]);
    let first = |line: &str| line.split(' ').next().unwrap_or_default().to_owned();
    let rows: Vec<String> = text.lines().skip(2).take(7).map(first).collect();
    assert_eq!(rows, ["covey", "fair", "fifo", "aalo", "philae", "sebf", "sincronia"]);
    assert!(text.contains("Speed-ups over fair"), "{text}");
    assert!(text.contains("Lower bound of the mean CCT"), "{text}");
}

#[test]
fn compare_prints_json() {
    let folder = TestFolder::new();
    let list = "sebf,aalo:queues=strict,delta=0,fifo";
    let found = json(&folder.results(&["compare", "tiny.txt", "--policies", list, "--json"]));
    assert_eq!(keys(&found), ["baseline", "results", "speedups", "baseline_label", "certainty"]);
    assert_eq!(found["baseline"], "sebf");
    let results = found["results"].as_array().unwrap();
    let labels: Vec<&Value> = results.iter().map(|r| &r["label"]).collect();
    assert_eq!(labels, ["sebf", "aalo:queues=strict,delta=0", "fifo"]);
    for result in results {
        assert_eq!(keys(result), SUMMARY);
        assert_eq!(result["lower_bound_mean_cct_s"], results[0]["lower_bound_mean_cct_s"]);
        assert!(result["lower_bound_mean_cct_s"].is_number());
    }
    let speedups = found["speedups"].as_array().unwrap();
    assert_eq!(
        keys(&speedups[1]),
        ["policy", "mean_of_means", "p50", "p90", "label", "jct", "interval"]
    );
    assert_eq!(
        (&speedups[0]["interval"], &found["certainty"]["over"]),
        (&Value::Null, &"coflows".into())
    );
    assert_eq!(keys(&speedups[1]["interval"]), ["low", "high"]);
    assert_eq!([&speedups[0]["policy"], &speedups[1]["policy"]], ["sebf", "aalo"]);
    assert_eq!(speedups[0]["mean_of_means"], 1.0);
}

#[test]
fn compare_says_over_seeds_what_is_certain() {
    let folder = TestFolder::new();
    let trace = "builtin:fb-like:coflows=20,ports=10";
    let compare = ["compare", trace, "--policies", "fair,fifo,sebf", "--seeds", "3"];
    let found = json(&folder.results(&[&compare[..], &["--seed", "5", "--json"]].concat()));
    let runs = found["runs"].as_array().unwrap();
    let seeds: Vec<&Value> = runs.iter().map(|run| &run["seed"]).collect();
    assert_eq!(seeds, [5, 6, 7]);
    // Each is what the seed alone gives.
    let alone = ["compare", trace, "--policies", "fair,fifo,sebf", "--seed", "6", "--json"];
    let alone = json(&folder.results(&alone));
    assert_eq!(runs[1]["speedups"], alone["speedups"]);
    let logs = |policy: usize| {
        let of = |run: &Value| run["speedups"][policy]["mean_of_means"].as_f64().unwrap().ln();
        runs.iter().map(of).collect::<Vec<f64>>()
    };
    let sebf = &found["speedups"][2];
    let mean = logs(2).iter().sum::<f64>() / 3.0;
    assert!((sebf["mean_of_means"].as_f64().unwrap() - mean.exp()).abs() < 1e-9, "{sebf}");
    // Student's t with two degrees of freedom.
    let variance = logs(2).iter().map(|log| (log - mean).powi(2)).sum::<f64>() / 2.0;
    let low = (mean - 4.302_653 * (variance / 3.0).sqrt()).exp();
    assert!((sebf["interval"]["low"].as_f64().unwrap() - low).abs() < 1e-6, "{sebf}");
    assert_eq!([&found["certainty"]["over"], &found["certainty"]["order"][0]], ["seeds", "sebf"]);
    let text = folder.results(&[&compare[..], &["--report", "page.html"]].concat());
    assert!(text.contains("Order by mean CCT: sebf"), "{text}");
    assert!(text.contains("seeds 1 to 3 of builtin:fb-like"), "{text}");
    assert!(text.lines().all(|line| line.chars().count() <= 100), "{text}");
    let page = folder.read("page.html");
    assert!(
        page.contains("Speed-up of the mean, seed by seed") && page.contains("Order by mean CCT")
    );
}

#[test]
fn seeds_that_change_nothing_are_refused() {
    let folder = TestFolder::new();
    let refusal = |trace: &str, seeds: &str| folder.refusal(&["compare", trace, "--seeds", seeds]);
    let same = "found a trace that is the same for every seed";
    assert!(refusal("tiny.txt", "3").contains(same), "{}", refusal("tiny.txt", "3"));
    assert!(refusal("builtin:fb-like:seed=1", "3").contains(same));
    assert!(refusal("builtin:fb-like", "1").contains("--seeds: expected a number from 2 to 1000"));
}

#[test]
fn the_baseline_is_a_label_or_a_name() {
    let folder = TestFolder::new();
    let baseline = |more: &[&str]| {
        let compare = ["compare", "tiny.txt", "--json", "--policies"];
        json(&folder.results(&[&compare[..], more].concat()))["baseline_label"].clone()
    };
    assert_eq!(baseline(&["fifo,fair"]), "fair");
    assert_eq!(baseline(&["fifo,sebf"]), "fifo");
    assert_eq!(baseline(&["fifo,sebf", "--baseline", "sebf"]), "sebf");
    assert_eq!(baseline(&["fifo,aalo:delta=0", "--baseline", "aalo"]), "aalo:delta=0");
    assert_eq!(baseline(&["aalo,aalo:delta=0", "--baseline", "aalo"]), "aalo");
    assert_eq!(baseline(&["aalo,aalo:delta=0", "--baseline", "aalo:delta=0"]), "aalo:delta=0");
}

#[test]
fn compare_writes_a_table_for_each_policy() {
    let folder = TestFolder::new();
    let compare = ["compare", "tiny.txt", "--policies", "sebf,aalo:queues=strict,delta=0"];
    // The first run makes the folder, and the second uses it again.
    for _ in 0..2 {
        folder.results(&[&compare[..], &["--per-coflow", "out"]].concat());
        for name in ["out/sebf.csv", "out/aalo_queues=strict_delta=0.csv"] {
            assert_eq!(folder.read(name).lines().count(), 3, "{name}");
        }
    }
    assert_eq!(folder.names(), ["out", "tiny.txt"]);
}

/// Checks that a page of this width embeds the letters of its text.
fn assert_pdf(pdf: &[u8], width_mm: f64) {
    assert!(pdf.starts_with(b"%PDF-") && pdf.ends_with(b"%%EOF"));
    let text = String::from_utf8_lossy(pdf);
    let page = text.split_once("/MediaBox [0 0 ").expect("a page").1;
    let points: f64 = page.split(' ').next().expect("a width").parse().expect("a number");
    assert!((points / 72.0 * 25.4 - width_mm).abs() < 0.1, "{points} points for {width_mm} mm");
    assert!(text.contains("/FontFile") && text.contains("DejaVuSans"), "no letters");
}

#[test]
fn figures_are_files_for_papers() {
    let folder = TestFolder::new();
    let compare = ["compare", "tiny.txt", "--policies", "fair,aalo:delta=0", "--figures", "out"];
    folder.results(&compare);
    for name in ["cct", "tail", "speedup", "bins"] {
        let figure = folder.read(&format!("out/{name}.svg"));
        assert_pdf(&fs::read(folder.path(&format!("out/{name}.pdf"))).expect("a PDF"), 85.0);
        assert!(figure.starts_with("<?xml") && figure.contains("width=\"85mm\""), "{figure}");
        assert!(
            figure.contains("aalo:delta=0") && !figure.contains("http://www.w3.org/1999"),
            "{figure}"
        );
    }
    let cct = folder.read("out/cct.csv");
    let rows: Vec<&str> = cct.lines().collect();
    assert_eq!((rows.len(), rows[0]), (5, "policy,value,share"));
    assert!(rows[1].starts_with("fair,") && rows[1].ends_with(",0.5") && rows[2].ends_with(",1"));
    let tail = folder.read("out/tail.csv");
    assert!(tail.lines().nth(1).unwrap().ends_with(",1"), "{tail}");
    let latex = folder.read("out/table.tex");
    assert!(latex.contains("\\begin{tabular}{lr") && latex.contains("aalo:delta=0 & "), "{latex}");
    assert!(latex.contains("95 \\%") && !latex.contains("wall"), "{latex}");
    // Fair sharing is black, and aalo has its green.
    let bins = folder.read("out/bins.svg");
    assert!(bins.contains(".bar.c0{fill:#1a1a1a}.bar.c1{fill:#007d5a}"), "{bins}");
    let markdown = folder.read("out/table.md");
    assert!(markdown.starts_with("| policy | mean CCT, s |"), "{markdown}");
    folder.results(&[&compare[..], &["--style", "talk"]].concat());
    assert!(folder.read("out/tail.svg").contains("width=\"250mm\""));
}

#[test]
fn the_report_needs_nothing_else() {
    let folder = TestFolder::new();
    folder.results(&["compare", "tiny.txt", "--policies", "fair,sebf", "--report", "page.html"]);
    let page = folder.read("page.html");
    assert!(page.starts_with("<!DOCTYPE html>") && page.ends_with("</html>"), "{page}");
    for part in ["http:", "https:", "src=", "url(", "@import", "<link", "fetch("] {
        assert!(!page.contains(part), "{part}");
    }
    let command = "covey compare tiny.txt --policies fair,sebf --report page.html";
    assert!(page.contains(command), "{page}");
}

#[test]
fn policies_lists_all() {
    let folder = TestFolder::new();
    let found = json(&folder.results(&["policies", "--json"]));
    let text = folder.results(&["policies"]);
    let names: Vec<&str> =
        found.as_array().unwrap().iter().map(|p| p["name"].as_str().unwrap()).collect();
    for name in ["fair", "fifo", "sebf", "sincronia", "aalo", "philae"] {
        assert!(names.contains(&name), "{name}");
    }
    for policy in found.as_array().unwrap() {
        assert_eq!(keys(policy), ["name", "knows", "params", "source", "summary"]);
        assert!(text.contains(policy["source"].as_str().unwrap()));
        for param in policy["params"].as_array().unwrap() {
            assert_eq!(keys(param), ["name", "default", "help"]);
        }
        let last = policy["params"].as_array().unwrap().last().unwrap();
        assert!(policy["name"] == "fvdf" || last["name"] == "compress", "{policy}");
    }
    assert!(text.lines().all(|line| line.chars().count() <= 100), "{text}");
}

#[test]
fn trace_info() {
    let folder = TestFolder::new();
    assert!(folder.results(&["trace", "info", "tiny.txt"]).starts_with("ports     3\ncoflows   2"));
    let found = json(&folder.results(&["trace", "info", "tiny.txt", "--json"]));
    assert_eq!([&found["ports"], &found["coflows"], &found["flows"]], [3, 2, 3]);
    let hour = json(&folder.results(&["trace", "info", "builtin:fb-like:seed=3", "--json"]));
    assert_eq!(hour["coflows"], 526);
}

#[test]
fn trace_convert_and_replicate() {
    let folder = TestFolder::new();
    let converted = folder.results(&["trace", "convert", "tiny.txt", "-"]);
    assert_eq!(converted.lines().next(), Some(r#"{"covey_trace":1,"ports":3,"coflows":2}"#));
    assert_eq!(folder.results(&["trace", "convert", "tiny.txt", "tiny.jsonl"]), "");
    assert_eq!(folder.read("tiny.jsonl"), converted);
    assert_eq!(folder.results(&["trace", "convert", "tiny.jsonl", "-"]), converted);
    let twice = folder.results(&["trace", "replicate", "tiny.txt", "2", "-"]);
    assert_eq!(twice.lines().next(), Some(r#"{"covey_trace":1,"ports":6,"coflows":4}"#));
    assert_eq!(folder.names(), ["tiny.jsonl", "tiny.txt"]);
}

#[test]
fn a_trace_may_come_on_standard_input() {
    let folder = TestFolder::new();
    let ran = folder.covey_reading(&["simulate", "-", "--policy", "fair", "--json"], TINY);
    assert_eq!((ran.status, ran.err.as_str()), (Some(0), ""));
    let mut found = json(&ran.out);
    assert_eq!(found["trace"], "standard input");
    let mut same = json(&folder.results(&["simulate", "tiny.txt", "--policy", "fair", "--json"]));
    for object in [&mut found, &mut same] {
        object["trace"] = Value::Null;
        object["wall_s"] = Value::Null;
    }
    assert_eq!(found, same);
}

/// The output has the same bytes, except for elapsed times, for any number of policies simulated at
/// a time.
#[test]
fn results_are_the_same_again() {
    let trace = "builtin:fb-like:coflows=40,ports=20,seed=7";
    let policies = "fair,fifo,aalo:delta=0,philae,sebf,sincronia";
    let compare = |jobs: &str| {
        let folder = TestFolder::new();
        let arguments = ["compare", trace, "--policies", policies, "--jobs", jobs, "--json"];
        let out = folder.results(&[&arguments[..], &["--per-coflow", "out"]].concat());
        let timeless = |line: &&str| !line.trim_start().starts_with("\"wall_s\"");
        let out: Vec<&str> = out.lines().filter(timeless).collect();
        let tables = ["fair", "fifo", "aalo_delta=0", "philae", "sebf", "sincronia"]
            .map(|name| folder.read(&format!("out/{name}.csv")));
        (out.join("\n"), tables)
    };
    let once = compare("1");
    assert_eq!(once, compare("1"));
    assert_eq!(once, compare("2"));
}

#[test]
fn bound_prints_bounds_of_the_mean() {
    let folder = TestFolder::new();
    // KA6, at a byte a second.
    let spread = [0, 1, 2].map(|port| format!(r#"{{"src":{port},"dst":{port},"bytes":2}}"#));
    let mut trace = format!(
        "{{\"covey_trace\":1,\"ports\":3}}\n{{\"id\":\"A\",\"arrival_s\":0,\"flows\":[{}]}}\n",
        spread.join(",")
    );
    for (id, port) in [("B", 0), ("C", 1), ("D", 2)] {
        trace += &format!(
            "{{\"id\":\"{id}\",\"arrival_s\":0,\"flows\":[{{\"src\":{port},\"dst\":{port},\"bytes\":3}}]}}\n"
        );
    }
    folder.write("ka6.jsonl", &trace);
    let bound = ["bound", "ka6.jsonl", "--port-rate", "8bps"];
    let found = json(&folder.results(&[&bound[..], &["--json"]].concat()));
    assert_eq!(
        keys(&found),
        [
            "trace",
            "fabric",
            "port_rate_bps",
            "ports",
            "coflows",
            "isolated_mean_cct_s",
            "single_port_mean_cct_s",
            "lower_bound_mean_cct_s",
            "uncoupled_mean_cct_s",
            "uncoupled_weighted_mean_cct_s"
        ]
    );
    let value = |key: &str| found[key].as_f64().unwrap();
    // 2, 3, 3, 3; the two on one port 2 and 5, and the others alone.
    assert!((value("isolated_mean_cct_s") - 11.0 / 4.0).abs() < 1e-6, "{found}");
    assert!((value("single_port_mean_cct_s") - 13.0 / 4.0).abs() < 1e-6, "{found}");
    assert_eq!(value("uncoupled_mean_cct_s"), 16.0 / 4.0);
    assert_eq!(found["uncoupled_weighted_mean_cct_s"], Value::Null);
    let simulate = ["simulate", "ka6.jsonl", "--policy", "fair", "--bound", "--json"];
    let same = json(&folder.results(&[&simulate[..], &["--port-rate", "8bps"]].concat()));
    assert_eq!(found["lower_bound_mean_cct_s"], same["lower_bound_mean_cct_s"]);

    let text = folder.results(&bound);
    assert!(text.contains("uncoupled           4.000  no bound"), "{text}");
    // With a weight of 10, A is first: 2, 5, 5, 5.
    folder.write("ka6.jsonl", trace.replacen("\"id\":\"A\"", "\"weight\":10,\"id\":\"A\"", 1));
    let text = folder.results(&bound);
    assert!(text.contains("uncoupled           4.250"), "{text}");
    assert!(text.contains("  by weight         2.692"), "{text}");
}

#[test]
fn bound_refuses_impossible_arguments() {
    let folder = TestFolder::new();
    assert_eq!(
        folder.refusal(&["bound", "tiny.txt", "--port-rate", "fast"]),
        "--port-rate: 'fast' is not a speed above zero with its unit: expected one like 1gbps, 100mbps, 8bps, 10Gb/s or 128MiB/s"
    );
    assert!(folder.refusal(&["bound", "none.txt"]).starts_with("none.txt: "));
}

/// The commands that a help text lists.
fn commands(help: &str) -> Vec<&str> {
    let lines = help.lines().skip_while(|line| *line != "Commands:").skip(1);
    let names = lines.map_while(|line| line.strip_prefix("  ")?.split(' ').next());
    names.filter(|name| *name != "help").collect()
}

#[test]
fn every_command_has_help_with_examples() {
    let folder = TestFolder::new();
    let (top, trace) = (folder.results(&["--help"]), folder.results(&["trace", "--help"]));
    let mut all: Vec<String> = commands(&top).into_iter().map(str::to_owned).collect();
    all.extend(commands(&trace).into_iter().map(|name| format!("trace {name}")));
    for command in ["bound", "compare", "trace filter", "trace generate"] {
        assert!(all.iter().any(|name| name == command), "{all:?}");
    }
    for command in all {
        let words: Vec<&str> = command.split(' ').chain(["--help"]).collect();
        let text = folder.results(&words);
        assert!(text.contains("\nExamples:\n"), "{text}");
        assert!(text.contains(&format!("  covey {command}")), "{text}");
    }
    assert!(folder.results(&["--version"]).starts_with("covey "));
}

/// Help that was not requested goes to standard error, with exit status 2.
#[test]
fn without_a_command_there_is_help() {
    let folder = TestFolder::new();
    for arguments in [&[][..], &["trace"]] {
        let ran = folder.covey(arguments);
        assert_eq!((ran.status, ran.out.as_str()), (Some(2), ""));
        let help = folder.results(&[arguments, &["--help"]].concat());
        assert_eq!(ran.err, help);
    }
}

#[test]
fn one_policy_is_shown() {
    let folder = TestFolder::new();
    let all: Value = json(&folder.results(&["policies", "--json"]));
    let philae = all.as_array().unwrap().iter().find(|it| it["name"] == "philae").unwrap();
    assert_eq!(&json(&folder.results(&["policies", "Philae", "--json"])), philae);
    let text = folder.results(&["policies", "philae"]);
    assert!(text.starts_with("philae (unsized): "), "{text}");
    for param in philae["params"].as_array().unwrap() {
        let setting = format!("    {}=", param["name"].as_str().unwrap());
        assert_eq!(text.matches(&setting).count(), 1, "{setting}: {text}");
    }
    assert!(!text.contains("sebf ("), "{text}");
    assert!(folder.results(&["policies", "srtf"]).starts_with("pfp ("));
}

#[test]
fn compressed_traces_are_read_from_files_and_standard_input() {
    use std::io::Write;
    let folder = TestFolder::new();
    let mut file = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    file.write_all(TINY.as_bytes()).unwrap();
    let compressed = file.finish().unwrap();
    // The name does not matter.
    folder.write("tiny", &compressed);
    let info = |trace| folder.results(&["trace", "info", trace]);
    assert_eq!(info("tiny"), info("tiny.txt"));
    let ran = folder.covey_reading(&["trace", "info", "-"], &compressed);
    assert_eq!((ran.status, ran.out), (Some(0), info("tiny.txt")));
}
