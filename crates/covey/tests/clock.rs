//! Traces on a clock that starts in 1970: results are those from 0, and outputs have the trace's
//! own times.

use serde_json::Value;

use crate::common::TestFolder;

/// Seconds from 1970 to the first arrival.
const FIRST_S: u64 = 1_700_000_000;

/// The same coflows, the first of which arrives so many seconds after the zero of the clock.
fn coflows(first_s: u64) -> String {
    let coflow = |id: &str, after: &str, dst: u32, bytes: u32| {
        format!(
            "{{\"id\":\"{id}\",\"arrival_s\":{first_s}.{after},\"flows\":[{{\"src\":0,\"dst\":{dst},\"bytes\":{bytes}}}]}}\n"
        )
    };
    let [a, b] = [coflow("a", "000000001", 1, 125_000), coflow("b", "000002501", 2, 12_500)];
    format!("{{\"covey_trace\":1,\"ports\":3}}\n{a}{b}")
}

fn folder() -> TestFolder {
    let folder = TestFolder::new();
    folder.write("unix.jsonl", coflows(FIRST_S));
    folder.write("zero.jsonl", coflows(0));
    folder
}

/// A column of a CSV file.
fn column(csv: &str, name: &str) -> Vec<String> {
    let mut rows = csv.lines().map(|line| line.split(',').collect::<Vec<_>>());
    let header = rows.next().expect("a header");
    let at = header.iter().position(|found| *found == name).expect("the column");
    rows.map(|row| row[at].to_owned()).collect()
}

#[test]
fn results_do_not_depend_on_the_clock_and_outputs_are_on_it() {
    let folder = folder();
    for policy in ["sebf", "aalo:delta=0", "philae", "fair"] {
        let run = |trace: &str| {
            let options = ["--policy", policy, "--port-rate", "100gbps", "--json", "--bound"];
            let tables = ["--per-coflow", "coflows.csv", "--per-flow", "flows.csv"];
            let json = folder.results(&[&["simulate", trace][..], &options, &tables].concat());
            let mut json: Value = serde_json::from_str(&json).expect("JSON");
            ["trace", "wall_s"].iter().for_each(|key| _ = json[*key].take());
            (json, folder.read("coflows.csv"), folder.read("flows.csv"))
        };
        let [unix, zero] = ["unix.jsonl", "zero.jsonl"].map(run);
        assert_eq!(unix.0, zero.0, "{policy}");
        assert_eq!(column(&unix.1, "cct_s"), column(&zero.1, "cct_s"), "{policy}");
        assert_eq!(column(&unix.2, "fct_s"), column(&zero.2, "fct_s"), "{policy}");
        let arrivals = column(&unix.1, "arrival_s");
        assert_eq!(arrivals, ["1700000000.000000001", "1700000000.000002501"], "{policy}");
        for (unix, zero) in [(&unix.1, &zero.1), (&unix.2, &zero.2)] {
            let ends = [unix, zero].map(|csv| column(csv, "completion_s"));
            for (late, early) in ends[0].iter().zip(&ends[1]) {
                let fraction = late.strip_prefix("1700000000.").expect("on the trace's clock");
                let fraction: f64 = format!("0.{fraction}").parse().expect("a number");
                let early: f64 = early.parse().expect("a number");
                assert!((fraction - early).abs() < 1e-12, "{policy}: {late} and {early}");
            }
        }
    }
}

#[test]
fn comparisons_are_the_same_on_any_clock() {
    let folder = folder();
    let compare = |trace: &str| {
        let options = ["--policies", "fair,sebf,aalo", "--port-rate", "100gbps", "--json"];
        let tables = ["--per-coflow", "tables"];
        let json = folder.results(&[&["compare", trace][..], &options, &tables].concat());
        let json: Value = serde_json::from_str(&json).expect("JSON");
        let means = json["results"].as_array().expect("results").iter();
        (means.map(|it| it["cct_s"].clone()).collect::<Vec<_>>(), json["speedups"].clone())
    };
    assert_eq!(compare("unix.jsonl"), compare("zero.jsonl"));
}

#[test]
fn conversions_keep_the_clock_to_the_last_digit() {
    let folder = folder();
    for (arguments, arrivals) in [
        (&["convert"][..], ["1700000000.000000001", "1700000000.000002501"]),
        (&["burst", "--group", "2"], ["1700000000.000000001"; 2]),
        (&["scale", "--time", "2"], ["1700000000.000000001", "1700000000.000005001"]),
        (&["filter", "--min-width", "1"], ["1700000000.000000001", "1700000000.000002501"]),
    ] {
        let (command, options) = arguments.split_first().expect("a command");
        let output = if *command == "convert" { &["-"][..] } else { &["-o", "-"] };
        let words = [&["trace", command, "unix.jsonl"], options, output].concat();
        let ran = folder.covey(&words);
        assert_eq!(ran.status, Some(0), "{words:?}: {}", ran.err);
        let found = ran.out.lines().skip(1).map(|line| {
            let rest = line.split_once("\"arrival_s\":").expect("an arrival").1;
            rest.split([',', '}']).next().expect("a number")
        });
        assert_eq!(found.collect::<Vec<_>>(), arrivals, "{words:?}");
    }
}

#[test]
fn milliseconds_since_1970_are_read_exactly() {
    let folder = TestFolder::new();
    folder.write("unix.txt", "3 2\n1 1700000000000 1 0 1 1:10\n2 1700000000500 2 0 2 1 1:4\n");
    let ccts = |trace: &str| {
        folder.results(&["simulate", trace, "--policy", "sebf", "--per-coflow", "coflows.csv"]);
        let csv = folder.read("coflows.csv");
        (column(&csv, "cct_s"), column(&csv, "arrival_s"))
    };
    let ((found, arrivals), (expected, _)) = (ccts("unix.txt"), ccts("tiny.txt"));
    assert_eq!(found, expected);
    assert_eq!(arrivals, ["1700000000", "1700000000.5"]);
}
