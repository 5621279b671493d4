//! Logs that tests make: small ones whose every byte is known, and broken ones.

use std::fmt::Write as _;
use std::fs;

use covey_spark::{Log, Status, read, read_from};
use proptest::prelude::*;

/// A task of a log: stage, index, host, bytes written, and bytes read remotely and locally.
pub struct Task(pub u32, pub u32, pub &'static str, pub u64, pub u64, pub u64);

impl Task {
    fn line(&self, reason: &str) -> String {
        let Task(stage, index, host, written, remote, local) = self;
        format!(
            r#"{{"Event":"SparkListenerTaskEnd","Stage ID":{stage},"Stage Attempt ID":0,"Task Type":"ResultTask","Task End Reason":{{"Reason":"{reason}"}},"Task Info":{{"Task ID":{index},"Index":{index},"Attempt":0,"Launch Time":1000,"Executor ID":"{host}","Host":"{host}","Speculative":false,"Finish Time":3000,"Failed":false,"Killed":false}},"Task Metrics":{{"Executor Run Time":2000,"Shuffle Read Metrics":{{"Remote Blocks Fetched":2,"Local Blocks Fetched":1,"Fetch Wait Time":5,"Remote Bytes Read":{remote},"Local Bytes Read":{local}}},"Shuffle Write Metrics":{{"Shuffle Bytes Written":{written},"Shuffle Records Written":10}}}}}}"#
        )
    }
}

fn stage(event: &str, id: u32, parents: &str, rdd: u32, accumulables: &str) -> String {
    format!(
        r#"{{"Event":"SparkListenerStage{event}","Stage Info":{{"Stage ID":{id},"Stage Attempt ID":0,"Number of Tasks":2,"RDD Info":[{{"RDD ID":{rdd}}}],"Parent IDs":[{parents}],"Submission Time":{},"Completion Time":4000,"Accumulables":[{accumulables}]}}}}"#,
        1000 + id
    )
}

/// A map stage 0 on two hosts, and stage 2 which reads it: its parent by the log is stage 1, which
/// was skipped and has the RDDs of stage 0.
fn lines() -> Vec<String> {
    let data_size = r#"{"ID":1,"Name":"data size","Value":"960"}"#;
    vec![
        r#"{"Event":"SparkListenerLogStart","Spark Version":"4.1.0"}"#.to_owned(),
        r#"{"Event":"SparkListenerApplicationStart","App Name":"a \"b\"","App ID":"app-1","Timestamp":900}"#.to_owned(),
        r#"{"Event":"SparkListenerJobStart","Job ID":0,"Submission Time":950,"Stage Infos":[{"Stage ID":1,"RDD Info":[{"RDD ID":7}],"Parent IDs":[]}],"Stage IDs":[0,1,2]}"#.to_owned(),
        stage("Submitted", 0, "", 7, ""),
        Task(0, 0, "h1", 600, 0, 0).line("Success"),
        Task(0, 1, "h2", 400, 0, 0).line("Success"),
        // A copy that is too late does not count.
        Task(0, 1, "h1", 400, 0, 0).line("TaskKilled"),
        stage("Completed", 0, "", 7, data_size),
        stage("Submitted", 2, "1", 8, ""),
        Task(2, 0, "h1", 0, 150, 250).line("Success"),
        Task(2, 1, "h2", 0, 350, 250).line("Success"),
        stage("Completed", 2, "1", 8, ""),
        r#"{"Event":"SparkListenerSomethingElse","x":[1,2]}"#.to_owned(),
        r#"{"Event":"SparkListenerApplicationEnd","Timestamp":5000}"#.to_owned(),
    ]
}

fn text() -> String {
    lines().join("\n") + "\n"
}

fn parse(text: impl Into<Vec<u8>>) -> Log {
    read_from(std::io::Cursor::new(text.into()), "log")
}

#[test]
fn sums_pairs_and_parents_of_a_small_log() {
    let log = parse(text());
    assert_eq!((log.status, log.reason.as_str()), (Status::Success, ""));
    let it = &log.application;
    assert_eq!((it.written(), it.remote(), it.local()), (1000, 500, 500));
    assert_eq!(
        (it.name.as_str(), it.id.as_str(), it.start_ms, it.end_ms),
        ("a \"b\"", "app-1", 900, 5000)
    );
    assert_eq!(it.ceiling(), Some([25.0 / 10_000.0, 40.0 / 10_000.0]));
    // 960 bytes and four for each of 20 records.
    assert_eq!((it.raw_bytes(0), it.raw_bytes(2)), (Some(1040), None));
    let [coflow] = &log.coflows[..] else { panic!("{:?}", log.coflows) };
    assert_eq!((coflow.stage, &coflow.parents[..]), ((2, 0), &[0][..]));
    assert!(coflow.is_closed());
    assert_eq!(coflow.remote_out().collect::<Vec<_>>(), [350, 150]);
    assert_eq!(coflow.pairs(), [[0, 350], [150, 0]]);
}

#[test]
fn a_coflow_that_is_not_closed_keeps_what_was_received() {
    let mut lines = lines();
    lines[10] = Task(2, 1, "h2", 0, 500, 250).line("Success");
    let log = parse(lines.join("\n"));
    assert_eq!(log.status, Status::Success);
    assert!(log.reason.contains("senders are estimated for 1 coflow"), "{}", log.reason);
    assert_eq!(log.coflows[0].pairs(), [[0, 500], [150, 0]]);
}

#[test]
fn events_may_be_written_with_spaces_and_in_another_order() {
    let spaced = |line: String| {
        let value: serde_json::Value = serde_json::from_str(&line).expect("JSON");
        let mut entries: Vec<_> = value.as_object().expect("an object").iter().collect();
        entries.reverse();
        let entries: Vec<String> =
            entries.iter().map(|(key, value)| format!("\"{key}\" : {value}")).collect();
        format!("{{ {} }}", entries.join(" , "))
    };
    let spaced: Vec<String> = lines().into_iter().map(spaced).collect();
    assert_eq!(parse(spaced.join("\r\n")).application, parse(text()).application);
}

#[test]
fn broken_lines_are_counted_and_the_first_is_named() {
    let mut lines = lines();
    lines.insert(3, "{\"Event\":\"SparkListenerTaskEnd\",\"Stage".to_owned());
    lines.insert(9, "\u{fffd}".to_owned());
    let log = parse(lines.join("\n"));
    assert_eq!((log.status, log.broken_lines), (Status::Success, 2));
    assert!(
        log.reason
            .starts_with("2 lines were not read, the first is log:4: expected an event of Spark"),
        "{}",
        log.reason
    );
}

#[test]
fn a_log_that_is_cut_off_counts_as_far_as_it_goes() {
    let text = text();
    let log = parse(&text[..text.len() - 20]);
    assert_eq!(log.status, Status::Success);
    assert!(log.reason.contains("log is cut off at line 14"), "{}", log.reason);
    let frames = [text.as_bytes(), text.as_bytes()]
        .map(|it| zstd::bulk::compress(it, 1).expect("a frame"))
        .concat();
    let log = parse(&frames[..frames.len() - 9]);
    assert_eq!(log.status, Status::Success);
    assert!(log.reason.contains("log is cut off"), "{}", log.reason);
    let lines = lines();
    let unended = parse(lines[..13].join("\n"));
    assert_eq!(unended.reason, "the application has not ended: sums are of what is there");
}

#[test]
fn what_is_no_log_fails_with_a_line() {
    let judge = |text: &[u8]| {
        let log = parse(text);
        (log.status, log.reason)
    };
    assert_eq!(judge(b""), (Status::Unknown, "the log has no events yet".to_owned()));
    let (status, reason) = judge(b"start_s,src,dst\n1,2,3\n");
    assert_eq!(status, Status::Failed);
    assert!(reason.starts_with("log:1: expected an event of Spark, found "), "{reason}");
    let binary: Vec<u8> = (0..=255).cycle().take(100_000).collect();
    assert_eq!(judge(&binary).0, Status::Failed);
    assert_eq!(
        judge(b"{\"Event\":\"SparkListenerLogStart\",\"Spark Version\":\"4.1.0\"}").0,
        Status::Unknown
    );
    let (status, reason) = judge(b"\x28\xb5\x2f\xfd0123456789");
    assert_eq!(status, Status::Failed, "{reason}");
}

#[test]
fn logs_without_anything_on_the_network_are_skipped_with_the_reason() {
    let on_one_host = text().replace("h2", "h1");
    assert!(parse(on_one_host).reason.contains("all executors are on one host"));
    let all = lines();
    let without_reads: Vec<&str> = all
        .iter()
        .enumerate()
        .filter(|(k, _)| ![9, 10].contains(k))
        .map(|(_, l)| l.as_str())
        .collect();
    let log = parse(without_reads.join("\n"));
    assert_eq!((log.status, log.reason.as_str()), (Status::Skipped, "no stage read a shuffle"));
    let manager = r#"{"Event":"SparkListenerEnvironmentUpdate","Spark Properties":{"spark.shuffle.manager":"org.apache.spark.shuffle.celeborn.SparkShuffleManager"}}"#;
    let log = parse(format!("{manager}\n{}", text()));
    assert_eq!(log.status, Status::Skipped);
    assert!(log.reason.contains("celeborn"), "{}", log.reason);
}

#[test]
fn one_broken_log_of_a_folder_does_not_end_the_run() {
    let folder = tempfile::tempdir().expect("a folder");
    let put =
        |name: &str, bytes: &[u8]| fs::write(folder.path().join(name), bytes).expect("a file");
    put("app-1", text().as_bytes());
    put("app-2.zstd", &zstd::bulk::compress(text().as_bytes(), 1).expect("a frame"));
    put("app-3", b"\0\0\0");
    fs::create_dir(folder.path().join("eventlog_v2_app-4")).expect("a folder");
    let lines = lines();
    put("eventlog_v2_app-4/events_1_app-4", lines[..8].join("\n").as_bytes());
    put("eventlog_v2_app-4/events_2_app-4", lines[8..].join("\n").as_bytes());
    let logs = read(folder.path()).expect("logs");
    let statuses: Vec<_> = logs.iter().map(|log| log.status).collect();
    use Status::{Failed, Success};
    assert_eq!(statuses, [Success, Success, Failed, Success]);
    assert_eq!(logs[0].application, logs[3].application);
    assert!(read(&folder.path().join("absent")).is_err());
}

#[test]
fn ten_thousand_logs() {
    let folder = tempfile::tempdir().expect("a folder");
    let text = text();
    for k in 0..10_000 {
        let mut name = String::new();
        let _ = write!(name, "app-{k}");
        fs::write(folder.path().join(name), &text[..text.len() - k % 3000]).expect("a file");
    }
    assert_eq!(read(folder.path()).expect("logs").len(), 10_000);
}

proptest! {
    #[test]
    fn any_bytes_have_a_status(bytes in proptest::collection::vec(any::<u8>(), 0..2000)) {
        parse(bytes);
    }

    #[test]
    fn a_changed_log_has_a_status(place in 0_usize..4000, byte in any::<u8>(), framed in any::<bool>()) {
        let mut bytes = text().into_bytes();
        if framed {
            bytes = zstd::bulk::compress(&bytes, 1).expect("a frame");
        }
        let place = place % bytes.len();
        bytes[place] = byte;
        parse(bytes);
    }
}
