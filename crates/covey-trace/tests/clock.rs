//! What is read does not depend on where the clock of a trace starts.

use covey_trace::transform::{Filter, Scale, burst, every, filter, replicate, scale};
use covey_trace::{Coflow, Flow, Moment, Stats, Workload, read, write};
use proptest::prelude::*;

fn parsed(text: &str) -> Workload {
    read(text.as_bytes(), "t").expect("a trace")
}

fn written(workload: &Workload) -> String {
    let mut text = Vec::new();
    write(workload, &mut text).expect("written to memory");
    String::from_utf8(text).expect("text")
}

fn arrivals(workload: &Workload) -> Vec<f64> {
    workload.coflows.iter().map(|coflow| coflow.arrival_s).collect()
}

/// JSON lines of coflows that arrive at these times.
fn json(times: &[&str]) -> String {
    let lines = times.iter().enumerate().map(|(id, time)| {
        format!(
            "{{\"id\":\"{id}\",\"arrival_s\":{time},\"flows\":[{{\"src\":0,\"dst\":1,\"bytes\":8}}]}}\n"
        )
    });
    format!("{{\"covey_trace\":1,\"ports\":2,\"coflows\":{}}}\n", times.len())
        + &lines.collect::<String>()
}

#[test]
fn arrivals_count_from_the_first_on_the_unix_clock() {
    let times =
        ["1700000000.123456789", "1700000000", "1700000000.000002", "1.70000000000000001e9"];
    let workload = parsed(&json(&times));
    assert_eq!(arrivals(&workload), [0.123456789, 0.0, 2e-6, 1e-8]);
    assert_eq!(workload.origin, Moment::parse("1700000000").unwrap());
    let first = workload.on_clock(workload.coflows[0].arrival_s);
    assert_eq!(first.to_string(), times[0]);
    assert_eq!(serde_json::to_string(&first).unwrap(), times[0]);
}

#[test]
fn milliseconds_on_the_unix_clock() {
    let benchmark = "2 2\n1 1700000000000.5 1 0 1 1:3.0\n2 1700000000001 1 0 1 1:3.0\n";
    assert_eq!(arrivals(&parsed(benchmark)), [0.0, 0.0005]);
    let sincronia = "2 2\n1 1700000000123 1 1 1 0 1 3\n2 1700000000000 1 1 1 0 1 3\n";
    let workload = parsed(sincronia);
    assert_eq!(arrivals(&workload), [0.123, 0.0]);
    assert_eq!(workload.origin.to_string(), "1700000000");
    assert!(written(&workload).contains("\"arrival_s\":1700000000.123,"));
}

#[test]
fn what_was_read_is_written_to_the_last_digit() {
    for time in ["1700000000.123456789", "0.000002", "5", "999999999999.999999999"] {
        assert_eq!(written(&parsed(&json(&[time]))), json(&[time]));
    }
    let week = json(&["1700000000.123456789", "1700604800.987654321", "1700000000.000000001"]);
    assert_eq!(written(&parsed(&week)), week);
}

#[test]
fn times_that_are_no_arrivals_are_refused() {
    let error = |time: &str| read(json(&[time]).as_bytes(), "t").expect_err(time).to_string();
    for time in ["-1", "-1e-9", "1000000000000.1", "1e300"] {
        let message = error(time);
        assert!(message.starts_with("t: line 2: arrival_s: expected "), "{message}");
    }
    assert_eq!(error("-1"), "t: line 2: arrival_s: expected seconds from 0 to 1e12, found -1");
    assert!(error("\"soon\"").contains("arrival_s: expected a number, found string \"soon\""));
    assert!(error("null").contains("arrival_s: expected a number, found null"));
}

/// Three coflows, of one, two and two flows.
fn three(seconds: u64) -> Workload {
    let flow = |dst| Flow { src: 0, dst, bytes: 8.0, start_s: 0.0 };
    let coflow = |(id, flows): (u64, Vec<Flow>)| {
        Coflow::new(id.to_string(), (seconds + 3 * id) as f64, flows)
    };
    let flows = [vec![flow(0)], vec![flow(0), flow(1)], vec![flow(1), flow(2)]];
    Workload::new(3, (0..).zip(flows).map(coflow).collect())
}

#[test]
fn transformations_keep_the_clock() {
    let workload = three(1_700_000_000).from_first_arrival();
    assert_eq!(arrivals(&workload), [0.0, 3.0, 6.0]);
    let on_clock = |workload: &Workload| -> Vec<String> {
        let times = workload.coflows.iter().map(|c| workload.on_clock(c.arrival_s).to_string());
        times.collect()
    };
    let half = Scale { time: 0.5, size: 1.0, ports: Some(2) };
    let half = scale(&workload, half).unwrap();
    assert_eq!(on_clock(&half), ["1700000000", "1700000001.5", "1700000003"]);
    let wide = filter(&workload, Filter { min_width: Some(2), min_skew: None }).unwrap();
    assert_eq!(on_clock(&wide), ["1700000003", "1700000006"]);
    assert_eq!(arrivals(&wide), [0.0, 3.0]);
    assert_eq!(on_clock(&burst(&workload, 3).unwrap()), ["1700000000"; 3]);
    assert_eq!(on_clock(&every(&workload, 2).unwrap()), ["1700000000", "1700000006"]);
    assert_eq!(replicate(&workload, 2).unwrap().origin, workload.origin);
    let stats = Stats::of(&workload);
    assert_eq!(stats.last_arrival_s.to_string(), "1700000006");
}

proptest! {
    #[test]
    fn a_shift_of_the_clock_changes_nothing_but_the_origin(
        ns in prop::collection::vec(0..1_000_000_000_000_000_u64, 1..8),
        shift_s in 0..10_000_000_000_u64,
    ) {
        let at = |shift_s: u64| -> Vec<String> {
            let time = |ns: &u64| format!("{}.{:09}", shift_s + ns / 1_000_000_000, ns % 1_000_000_000);
            ns.iter().map(time).collect()
        };
        let trace = |times: &[String]| {
            parsed(&json(&times.iter().map(String::as_str).collect::<Vec<_>>()))
        };
        let (here, there) = (trace(&at(0)), trace(&at(shift_s)));
        prop_assert_eq!(&here.coflows, &there.coflows);
        prop_assert_eq!(&parsed(&written(&there)), &there);
        prop_assert_eq!(there.clone().from_first_arrival(), there);
        let least = *ns.iter().min().unwrap();
        let expected: Vec<f64> = ns.iter().map(|ns| (ns - least) as f64 / 1e9).collect();
        prop_assert_eq!(arrivals(&here), expected);
    }
}
