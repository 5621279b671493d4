//! `covey trace …`: for each kind of workload, one that can be made and one that cannot.

use crate::common::{Ran, TestFolder};
use serde_json::Value;

/// The output of a command: the first line, the coflows, and the summary on standard error.
fn made(folder: &TestFolder, arguments: &[&str]) -> (Value, Vec<Value>, String) {
    let Ran { status, out, err } = folder.covey(arguments);
    assert_eq!(status, Some(0), "{arguments:?}: {err}");
    let mut lines = out.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    (lines.next().unwrap(), lines.collect(), err)
}

fn ids(coflows: &[Value]) -> Vec<&str> {
    coflows.iter().map(|coflow| coflow["id"].as_str().unwrap()).collect()
}

fn bytes(coflow: &Value) -> Vec<f64> {
    let flows = coflow["flows"].as_array().unwrap();
    flows.iter().map(|flow| flow["bytes"].as_f64().unwrap()).collect()
}

fn size(coflow: &Value) -> f64 {
    bytes(coflow).iter().sum()
}

/// Consecutive coflows, each from ports 0 to 15 to port 0.
fn wide(coflows: usize) -> String {
    let mappers: Vec<String> = (0..16).map(|port| port.to_string()).collect();
    let coflow = |k| format!("{k} {} 16 {} 1 0:16\n", 1000 * k, mappers.join(" "));
    format!("16 {coflows}\n{}", (0..coflows).map(coflow).collect::<String>())
}

#[test]
fn filter() {
    let folder = TestFolder::new();
    let (header, coflows, note) =
        made(&folder, &["trace", "filter", "tiny.txt", "--min-width", "2"]);
    assert_eq!((&header["coflows"], ids(&coflows)), (&Value::from(1), vec!["2"]));
    assert!(note.starts_with("1 coflow, 2 flows, 4194304 bytes on 3 ports"), "{note}");
    assert_eq!(
        folder.refusal(&["trace", "filter", "tiny.txt", "--min-width", "3"]),
        "filter: expected a coflow that passes, found none: the largest width is 2, the largest skew 1"
    );
}

#[test]
fn mantri() {
    let folder = TestFolder::new();
    folder.write("wide.txt", wide(400));
    let arguments = ["trace", "mantri", "wide.txt", "--cv-p90", "0.9", "--seed", "3"];
    let (_, coflows, note) = made(&folder, &arguments);
    assert!(note.contains("400 coflows with other sizes"), "{note}");
    assert!(note.contains("0.34 at the median, 0.90 at the 90th percentile"), "{note}");
    for coflow in &coflows {
        // The reducer receives as much as before.
        assert!((size(coflow) - 16.0 * 1_048_576.0).abs() < 1.0, "{coflow}");
    }
    assert_eq!(made(&folder, &arguments).1, coflows, "the same seed");
    assert_eq!(
        folder.refusal(&["trace", "mantri", "tiny.txt"]),
        "mantri: expected enough coflows, with enough mappers, for coefficients of variation of 0.34 and 3.1 (n mappers allow up to √(n - 1)), found 0.340 and 0.340 at most, over 1 coflow with several mappers"
    );
}

#[test]
fn skew() {
    let folder = TestFolder::new();
    let (_, coflows, note) = made(&folder, &["trace", "skew", "tiny.txt", "--sigma", "1"]);
    assert!(note.contains("1 coflow with other sizes"), "{note}");
    assert_ne!(bytes(&coflows[1])[0], bytes(&coflows[1])[1]);
    assert!((size(&coflows[1]) - 4.0 * 1_048_576.0).abs() < 1.0);
    assert_eq!(
        folder.refusal(&["trace", "skew", "tiny.txt", "--sigma=-1"]),
        "sigma: expected a number from 0 to 10, found -1"
    );
}

#[test]
fn scale() {
    let folder = TestFolder::new();
    let scale = ["trace", "scale", "tiny.txt", "--time", "2/3", "--size", "2", "--ports", "2"];
    let (header, coflows, _) = made(&folder, &scale);
    assert_eq!(header["ports"], 2);
    assert_eq!(coflows[1]["arrival_s"], 0.5 * (2.0 / 3.0));
    assert_eq!(bytes(&coflows[1]), [4_194_304.0; 2]);
    assert_eq!(coflows[1]["flows"][1]["src"], 0);
    assert_eq!(
        folder.refusal(&["trace", "scale", "tiny.txt", "--ports", "4"]),
        "ports: expected 1 to 3, the ports of the trace (replicate makes copies for more), found 4"
    );
    assert_eq!(
        folder.refusal(&["trace", "scale", "tiny.txt", "--time", "x"]),
        "--time: expected a number or a fraction, like 1.5 or 2/3, found 'x'"
    );
}

#[test]
fn burst() {
    let folder = TestFolder::new();
    let (_, coflows, note) = made(&folder, &["trace", "burst", "tiny.txt", "--group", "2"]);
    assert!(coflows.iter().all(|coflow| coflow["arrival_s"] == 0), "{coflows:?}");
    assert!(note.ends_with("1 coflow with other arrivals\n"), "{note}");
    assert_eq!(
        folder.refusal(&["trace", "burst", "tiny.txt", "--group", "0"]),
        "group: expected at least 1 coflow, found 0"
    );
}

#[test]
fn waves() {
    let folder = TestFolder::new();
    folder.write("wide.txt", wide(10));
    let (_, coflows, _) = made(&folder, &["trace", "waves", "wide.txt", "--max", "2"]);
    let late = |coflow: &&Value| {
        let flows = coflow["flows"].as_array().unwrap();
        let late = flows.iter().filter(|flow| flow.get("start_s").is_some()).count();
        assert!([0, 8].contains(&late), "half of the senders: {coflow}");
        late > 0
    };
    // One in ten has two waves.
    assert_eq!(coflows.iter().filter(late).count(), 1);
    assert_eq!(
        folder.refusal(&["trace", "waves", "tiny.txt", "--max", "5"]),
        "max: expected 1, 2, 3 or 4 waves, found 5"
    );
}

#[test]
fn waves_of_flows() {
    let folder = TestFolder::new();
    folder.write("wide.txt", wide(2));
    let arguments = ["trace", "waves", "wide.txt", "--of", "flows", "--max", "3"];
    let (_, coflows, note) = made(&folder, &arguments);
    let late = |coflow: &Value| {
        let flows = coflow["flows"].as_array().unwrap();
        flows.iter().filter(|flow| flow.get("start_s").is_some()).count()
    };
    // Of 16 flows, 81 % are 13 and 90 % are 14.
    assert!(coflows.iter().all(|coflow| late(coflow) == 3), "{coflows:?}");
    assert!(note.ends_with("0 coflows with 2 waves, 2 with 3, 0 with 4 or more\n"), "{note}");
    assert_eq!(
        folder.refusal(&["trace", "waves", "tiny.txt", "--of", "bytes"]),
        "of: expected flows or coflows, found \"bytes\""
    );
}

#[test]
fn split_receivers() {
    let folder = TestFolder::new();
    let (_, coflows, note) = made(&folder, &["trace", "split-receivers", "tiny.txt"]);
    assert!(ids(&coflows).iter().all(|id| id.contains(".r")), "{coflows:?}");
    assert!(coflows.iter().all(|coflow| coflow["job"].is_string()), "{coflows:?}");
    assert!(note.ends_with("2 jobs\n"), "{note}");
    // A coflow's time is that of its job.
    let split = folder.covey(&["trace", "split-receivers", "tiny.txt"]).out;
    let ran = folder.covey_reading(&["simulate", "-", "--policy", "fifo", "--json"], &split);
    assert!(ran.out.contains("\"jct_s\""), "{}{}", ran.out, ran.err);
}

#[test]
fn tenants() {
    let folder = TestFolder::new();
    let arguments = ["trace", "tenants", "tiny.txt", "--shares", "a=3,b=1"];
    let (_, coflows, note) = made(&folder, &arguments);
    assert!(coflows.iter().all(|it| ["a", "b"].contains(&it["tenant"].as_str().unwrap())));
    assert!(note.contains("coflow of a") || note.contains("coflows of a"), "{note}");
    let traced = folder.covey(&arguments).out;
    let simulate = ["simulate", "-", "--policy", "fair", "--tenants", "a=3,b=1"];
    let ran = folder.covey_reading(&simulate, &traced);
    assert_eq!(ran.status, Some(0), "{}", ran.err);
    let split = ["trace", "tenants", "tiny.txt", "--shares", "a=1,b=1", "--by", "split"];
    let (_, coflows, note) = made(&folder, &split);
    assert!(coflows.iter().all(|it| it["job"].is_string()), "{coflows:?}");
    assert!(note.contains("2 jobs"), "{note}");
    for (more, problem) in [
        (&["--shares", "a"][..], "--shares: expected NAME=WEIGHT,…, found 'a'"),
        (&["--shares", "a=1", "--by", "flow"], "by: expected job, coflow or split, found \"flow\""),
    ] {
        let refused = [&["trace", "tenants", "tiny.txt"], more].concat();
        assert_eq!(folder.refusal(&refused), problem);
    }
    folder.refusal(&["trace", "tenants", "tiny.txt"]);
}

#[test]
fn dag() {
    let folder = TestFolder::new();
    let (_, coflows, note) = made(&folder, &["trace", "dag", "tiny.txt", "--shape", "tao"]);
    assert_eq!(ids(&coflows)[..7], ["1.1", "1.2", "1.3", "1.4", "1.5", "1.6", "2.1"]);
    assert_eq!(coflows[1]["parents"][0], "1.1");
    assert_eq!(coflows[6]["job"], "2");
    assert!(note.ends_with("2 jobs\n"), "{note}");
    assert_eq!(
        folder.refusal(&["trace", "dag", "tiny.txt", "--shape", "ring"]),
        "shape: expected q42 or tao, found \"ring\""
    );
}

#[test]
fn generate() {
    let folder = TestFolder::new();
    let (_, coflows, note) = made(&folder, &["trace", "generate", "coflowsim-custom"]);
    assert_eq!(coflows.len(), 8);
    assert_eq!(note, "8 coflows, 2394 flows, 1315378823168 bytes on 100 ports\n");
    assert_eq!(
        folder.refusal(&["trace", "generate", "hour"]),
        "builtin: expected one of fb-like, coflowsim-custom, found \"hour\""
    );
}

#[test]
fn replicate() {
    let folder = TestFolder::new();
    let (header, coflows, _) = made(&folder, &["trace", "replicate", "tiny.txt", "2", "-"]);
    assert_eq!(header["ports"], 6);
    assert_eq!(ids(&coflows), ["1.0", "1.1", "2.0", "2.1"]);
    assert_eq!(coflows[1]["flows"][0]["src"], 3);
    assert_eq!(
        folder.refusal(&["trace", "replicate", "tiny.txt", "0", "-"]),
        "copies: expected 1 to 333333, found 0"
    );
}

/// As in a pipe, one workload is made from another; a failure leaves no file.
#[test]
fn chained() {
    let folder = TestFolder::new();
    let burst = folder.covey(&["trace", "burst", "tiny.txt"]).out;
    let dag = ["trace", "dag", "-", "-o", "jobs.jsonl"];
    let Ran { status, out, err } = folder.covey_reading(&dag, &burst);
    assert_eq!((status, out.as_str()), (Some(0), ""), "{err}");
    assert_eq!(folder.read("jobs.jsonl").lines().count(), 1 + 12);
    folder.refusal(&["trace", "burst", "tiny.txt", "--group", "0", "-o", "none.jsonl"]);
    assert_eq!(folder.names(), ["jobs.jsonl", "tiny.txt"]);
}
