//! The sums of real logs, which are beside the project.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use covey_facebook_test::spark_logs_test;
use covey_spark::{Log, Status};
use serde_json::Value;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data/spark")
}

fn json(name: &str) -> Value {
    let text = std::fs::read_to_string(folder().join(name)).expect("a file");
    serde_json::from_str(&text).expect("JSON")
}

fn read(name: &str) -> Log {
    let mut logs = covey_spark::read(&folder().join(name)).expect("a log");
    assert_eq!(logs.len(), 1, "{name}");
    logs.remove(0)
}

fn numbers(value: &Value) -> Vec<u64> {
    value.as_array().expect("a list").iter().map(|it| it.as_u64().expect("a number")).collect()
}

#[spark_logs_test]
fn all_sums_are_known_to_the_byte() {
    let known = json("KNOWN.json");
    let known = known.as_array().expect("a list");
    assert_eq!(known.len(), 7);
    for known in known {
        let name = known["file"].as_str().expect("a name");
        let log = read(name);
        let it = &log.application;
        let is =
            |key: &str, found: u64| assert_eq!(known[key].as_u64(), Some(found), "{name}: {key}");
        assert_eq!(known["ver"].as_str(), it.version.as_deref(), "{name}");
        assert_eq!(known["ended"].as_bool(), Some(it.ended), "{name}");
        is("hosts", it.hosts.len() as u64);
        is("execs", it.executors.len() as u64);
        is("jobs", it.jobs.len() as u64);
        is("stages", it.stages.len() as u64);
        is("tasks", it.tasks.len() as u64);
        is("failed", it.failed() as u64);
        is("maps", it.outputs.len() as u64);
        is("coflows", log.coflows.len() as u64);
        is("written", it.written());
        is("remote", it.remote());
        is("local", it.local());
        is("wait_ms", it.wait_ms());
        is("run_ms", it.run_ms());
        is("slot_ms", it.slot_ms());
        is("rblocks", it.remote_blocks());
        is("lblocks", it.local_blocks());
        is("bad", log.broken_lines);
        is("unmatched", log.coflows.iter().map(|coflow| u64::from(coflow.unmatched)).sum());
        is("multi", log.coflows.iter().filter(|coflow| coflow.parents.len() > 1).count() as u64);
        is("closed", log.coflows.iter().filter(|coflow| coflow.is_closed()).count() as u64);
        assert_eq!(log.coflows.iter().map(|coflow| coflow.ambiguous).sum::<u32>(), 0, "{name}");
        let hosts: Vec<_> = known["hosts_sorted"].as_array().expect("hosts").iter().collect();
        assert_eq!(hosts, it.hosts.iter().collect::<Vec<_>>(), "{name}");
        if it.hosts.len() > 1 {
            let trace = covey_spark::workload(&log);
            let found = [trace.coflows.len() as u64, trace.num_flows() as u64];
            let expected = ["coflows", "flows"].map(|key| known["trace"][key].as_u64());
            assert_eq!(expected, found.map(Some), "{name}");
            assert_eq!(trace.bytes(), it.remote() as f64, "{name}");
        }
        let coflows = known["coflow_list"].as_array().expect("coflows");
        for (known, coflow) in coflows.iter().zip(&log.coflows) {
            let at = format!("{name}: {:?}", coflow.stage);
            let is =
                |key: &str, found: u64| assert_eq!(known[key].as_u64(), Some(found), "{at}: {key}");
            is("stage", coflow.stage.0.into());
            is("attempt", coflow.stage.1.into());
            is("tasks", coflow.readers.len() as u64);
            is("fetch_wait_ms", coflow.wait_ms);
            is("first_launch_ms", coflow.first_launch_ms);
            is("last_finish_ms", coflow.last_finish_ms);
            assert_eq!(known["closed"].as_bool(), Some(coflow.is_closed()), "{at}");
            let sorted = |mut list: Vec<u64>| {
                list.sort_unstable();
                list
            };
            let parents = coflow.parents.iter().map(|&parent| parent.into()).collect();
            assert_eq!(sorted(numbers(&known["parents"])), sorted(parents), "{at}");
            assert_eq!(numbers(&known["written_by_host"]), coflow.written, "{at}");
            assert_eq!(numbers(&known["local_by_host"]), coflow.local, "{at}");
            assert_eq!(numbers(&known["remote_in_by_host"]), coflow.remote_in, "{at}");
            if coflow.is_closed() {
                let sent: Vec<u64> = coflow.remote_out().map(|bytes| bytes as u64).collect();
                assert_eq!(numbers(&known["remote_out_by_host"]), sent, "{at}");
            }
        }
    }
}

#[spark_logs_test]
fn each_log_has_a_status_and_a_reason() {
    let status = |name: &str| {
        let log = read(name);
        (log.status, log.reason)
    };
    assert_eq!(status("nds_q72_dataproc_2_2.zstd"), (Status::Success, String::new()));
    assert_eq!(status("own_q3_q18_v2"), (Status::Success, String::new()));
    let (malformed, reason) = status("malformed_json_eventlog.zstd");
    assert_eq!(malformed, Status::Success);
    assert!(reason.starts_with("1 line was not read, the first is "), "{reason}");
    let (emr, reason) = status("emr_attempt_1.zstd");
    assert_eq!(emr, Status::Skipped);
    assert!(reason.contains("one host"), "{reason}");
    let (photon, reason) = status("nds_q88_photon_db_13_3.zstd");
    assert_eq!(photon, Status::Skipped);
    assert!(reason.contains("16 stages read shuffles, 8 what was written: Photon"), "{reason}");
}

#[spark_logs_test]
fn ceilings_are_those_that_were_known() {
    let ceiling = |name: &str| {
        let shares = read(name).application.ceiling().expect("tasks");
        shares.map(|share| (share * 1e6).round() / 1e4)
    };
    assert_eq!(ceiling("nds_q72_dataproc_2_2.zstd"), [0.0008, 2.0392]);
    assert_eq!(ceiling("rp_sql_eventlog.zstd"), [0.0937, 9.1190]);
}

#[spark_logs_test]
fn fitted_pairs_are_near_the_true_ones() {
    let truth: BTreeMap<u32, BTreeMap<String, u64>> =
        serde_json::from_value(json("own_q3_q18_truth.json")).expect("pairs by stage");
    let log = read("own_q3_q18_v2");
    let (mut misplaced, mut total) = (0, 0);
    for coflow in &log.coflows {
        let fitted = coflow.pairs();
        let truth = &truth[&coflow.stage.0];
        for (from, row) in fitted.iter().enumerate() {
            for (to, &bytes) in row.iter().enumerate() {
                let hosts = &log.application.hosts;
                let true_bytes =
                    truth.get(&format!("{}>{}", hosts[from], hosts[to])).copied().unwrap_or(0);
                let error = bytes.abs_diff(true_bytes);
                assert!(
                    error as f64 <= 0.021 * true_bytes as f64,
                    "{from} {to}: {bytes} {true_bytes}"
                );
                misplaced += error;
                total += true_bytes;
            }
        }
    }
    assert_eq!(total, log.application.remote());
    // What is too much in one pair is missing in another.
    let share = misplaced as f64 / 2.0 / total as f64;
    assert!(share < 0.0006, "{share}");
}
