//! `covey whatif`.

use std::process::Command;

use serde_json::Value;

use crate::common::{Ran, TestFolder};

/// A folder with the logs of `scripts/example-logs.sh`.
fn example() -> TestFolder {
    let folder = TestFolder::new();
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../../scripts/example-logs.sh");
    let status = Command::new("sh").arg(script).current_dir(folder.path("")).status();
    assert!(status.expect("a shell").success());
    folder
}

fn json(text: &str) -> Value {
    serde_json::from_str(text).expect("JSON")
}

/// The rows of the replays: link rate, policy, and the share of time that is saved, at least and at
/// most.
fn gains(found: &Value) -> Vec<(f64, String, [f64; 2])> {
    let rows = found["replays"].as_array().expect("a list");
    let row = |row: &Value| {
        let sooner = [0, 1].map(|k| row["sooner"][k].as_f64().expect("a share"));
        (
            row["link_rate_bps"].as_f64().expect("a rate"),
            row["policy"].as_str().expect("a name").to_owned(),
            sooner,
        )
    };
    rows.iter().map(row).collect()
}

#[test]
fn one_application_gains_nothing_and_two_gain_where_links_are_slow() {
    let folder = example();
    let one = json(&folder.results(&["whatif", "report", "--json", "--policies", "fair,sebf"]));
    assert!(gains(&one).iter().all(|(.., sooner)| sooner[1].abs() < 0.01), "{one}");
    assert_eq!(one["logs"][0]["remote"], 14_400_000_000_u64);
    assert_eq!(one["logs"][0]["coflow_list"][0]["remote_out_by_host"]["host-1"], 3_600_000_000_u64);
    assert_eq!(one["logs"][0]["ceiling"][0], 0.0);
    let two = json(&folder.results(&["whatif", "report", "queries", "--json"]));
    for (rate, policy, sooner) in gains(&two) {
        let expected = if policy == "sebf" && rate == 1e9 { 0.04..0.1 } else { -0.05..0.03 };
        assert!(expected.contains(&sooner[1]), "{policy} {rate}: {sooner:?}");
    }
    assert!(
        two["answer"].as_str().expect("a text").contains("Scheduling would gain about nothing")
    );
}

#[test]
fn the_replay_of_a_log_is_the_log() {
    let folder = example();
    let found = json(&folder.results(&["whatif", "queries", "--json", "--link-rate", "100gbps"]));
    let error = found["logs"][0]["replay_error"][1].as_f64().expect("a share");
    assert!(error < 0.03, "{error}");
}

#[test]
fn random_starts_are_the_same_each_time_and_give_a_range() {
    let folder = example();
    let command =
        ["whatif", "report", "queries", "--offsets", "random:5", "--link-rate", "1gbps", "--json"];
    let found = folder.results(&command);
    assert_eq!(found, folder.results(&[&command[..], &["--jobs", "1"]].concat()));
    let found = json(&found);
    assert_eq!(found["draws"], 5);
    let (.., sooner) = &gains(&found)[2];
    assert!(sooner[0] < sooner[1], "{sooner:?}");
    assert_ne!(
        json(&folder.results(&[&command[..], &["--seed", "2"]].concat()))["replays"],
        found["replays"]
    );
}

#[test]
fn fewer_hosts_and_other_codecs() {
    let folder = example();
    let found =
        json(&folder.results(&[
            "whatif", "report", "queries", "--hosts", "2", "--codecs", "zstd", "--json",
        ]));
    assert_eq!(found["replay_hosts"], 2);
    assert_eq!(found["replays"].as_array().expect("a list").len(), 12);
    assert_eq!(found["replays"][3]["codec"], "zstd");
}

#[test]
fn a_trace_a_table_and_a_page() {
    let folder = example();
    let outputs = ["-o", "trace.jsonl", "--per-job", "jobs.csv", "--report", "gain.html"];
    folder.results(&[&["whatif", "queries"][..], &outputs].concat());
    let jobs = folder.read("jobs.csv");
    assert!(
        jobs.starts_with("file,job,logged_s,link_rate_bps,codec,policy,job_s_least,job_s_most\n"),
        "{jobs}"
    );
    // Twelve jobs under three policies at two link rates.
    assert_eq!(jobs.lines().count(), 1 + 12 * 6);
    let page = folder.read("gain.html");
    assert!(page.contains("covey whatif queries -o trace.jsonl"));
    assert!(page.contains("Links over time") && page.contains("host-4: "), "{page}");
    assert!(folder.results(&["trace", "info", "trace.jsonl"]).contains("12"));
    let piped = folder.results(&["whatif", "queries", "-o", "-"]);
    assert_eq!(piped, folder.read("trace.jsonl"));
}

#[test]
fn a_broken_log_has_a_status_beside_others_and_is_an_error_alone() {
    let folder = example();
    folder.write("broken", "no log\n");
    folder.write("empty", "");
    let found = json(&folder.results(&["whatif", "queries", "broken", "empty", "--json"]));
    let statuses: Vec<_> =
        (0..3).map(|k| found["logs"][k]["status"].as_str().expect("a status")).collect();
    assert_eq!(statuses, ["success", "failed", "unknown"]);
    let refusal = folder.refusal(&["whatif", "broken"]);
    assert!(refusal.starts_with("broken:1: expected an event of Spark, found "), "{refusal}");
    assert!(folder.refusal(&["whatif", "absent"]).starts_with("absent: "));
    let Ran { status, out, .. } = folder.covey(&["whatif", "empty"]);
    assert_eq!(status, Some(0), "{out}");
    assert!(out.contains("the log has no events yet"), "{out}");
}

#[test]
fn what_has_no_effect_or_counts_twice_is_said() {
    let folder = example();
    let fast = ["--link-rate", "10gbps", "--policies", "fair"];
    let said = |command: &[&str]| folder.results(&[&["whatif"], command, &fast[..]].concat());
    let both = said(&["report", "./report"]);
    assert!(both.contains("report and ./report are of one application, report, which"), "{both}");
    let alone = said(&["report", "--offsets", "random:3"]);
    assert!(alone.contains("--offsets has no effect: there is one application."), "{alone}");
    let refusal = folder.refusal(&["whatif", "report", "--offsets", "0s,10s"]);
    assert!(
        refusal.starts_with("--offsets: expected a time for each of 1 application"),
        "{refusal}"
    );
    let refusal = folder.refusal(&["compare", "report"]);
    assert!(refusal.contains("covey whatif LOG"), "{refusal}");
}

#[test]
fn wrong_arguments_are_refused_before_logs_are_read() {
    let folder = TestFolder::new();
    let refusal = |more: &[&str]| folder.refusal(&[&["whatif", "absent"][..], more].concat());
    assert!(refusal(&["--offsets", "often"]).starts_with("--offsets: expected clock, random:N"));
    assert!(refusal(&["--link-rate", "fast"]).starts_with("--link-rate: "));
    assert!(
        refusal(&["--codecs", "zip"])
            .starts_with("--codecs: expected some of lz4, lzf, snappy, zstd, none")
    );
    assert!(refusal(&["--policies", "fast"]).contains("fast"));
    assert!(refusal(&["--per-job", "jobs.html"]).starts_with("--per-job: "));
}

#[test]
fn anonymised_answers_have_no_names() {
    let folder = example();
    for log in ["report", "queries"] {
        folder.write(log, folder.read(log).replace("\"host-", "\"secret-"));
    }
    let ask = ["whatif", "report", "queries", "--json", "--policies", "fair"];
    let plain = json(&folder.results(&ask));
    assert!(plain.to_string().contains("secret-1"), "{plain}");
    let outputs = ["--anonymise", "--per-job", "jobs.csv", "--report", "gain.html"];
    let ran = folder.covey(&[&ask[..], &outputs].concat());
    let trace = folder.covey(&["whatif", "report", "--anonymise", "-o", "-"]);
    assert_eq!((ran.status, trace.status), (Some(0), Some(0)), "{}{}", ran.err, trace.err);
    for text in [&ran.out, &trace.out, &folder.read("jobs.csv"), &folder.read("gain.html")] {
        for name in ["secret", "\"report", "\"queries", "queries,", "queries<"] {
            assert!(!text.contains(name), "{name} in {text}");
        }
    }
    // What it answers does not depend on names.
    assert_eq!(gains(&json(&ran.out)), gains(&plain));
}
