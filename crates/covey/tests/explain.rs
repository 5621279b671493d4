//! `covey explain`.

use serde_json::Value;

use crate::common::TestFolder;

const QUEUE: &str = r#"{"covey_trace":1,"ports":2,"hosts":["store","worker"]}
{"id":"backup","arrival_s":0,"flows":[{"src":0,"dst":1,"bytes":1250e6}]}
{"id":"report-7","arrival_s":1,"flows":[{"src":0,"dst":1,"bytes":375e6}]}
{"id":"child","arrival_s":0,"flows":[{"src":1,"dst":0,"bytes":125e6}],"parents":["report-7"]}
"#;

fn folder() -> TestFolder {
    let folder = TestFolder::new();
    folder.write("queue.jsonl", QUEUE);
    folder
}

fn json(folder: &TestFolder, more: &[&str]) -> Value {
    let out = folder.results(&[&["explain", "queue.jsonl", "--json"][..], more].concat());
    serde_json::from_str(&out).unwrap()
}

#[test]
fn one_explanation_is_an_object_with_the_reason() {
    let explained = json(&folder(), &["--policy", "sebf", "--coflow", "backup"]);
    assert_eq!((&explained["coflow"], &explained["policy"]), (&"backup".into(), &"sebf".into()));
    let parts = explained["parts"].as_array().unwrap();
    let seconds = |part: &Value| part["s"].as_f64().unwrap();
    let sum: f64 = parts.iter().map(seconds).sum();
    assert!((sum - explained["cct_s"].as_f64().unwrap()).abs() < 1e-9);
    assert_eq!(parts[0]["kind"], "sending");
    let waiting = &parts[1];
    assert_eq!((&waiting["kind"], &waiting["coflow"]), (&"waiting".into(), &"report-7".into()));
    let port = waiting["port"].as_str().unwrap();
    assert!(port.ends_with(" up"), "{port}");
    let reason = &waiting["reason"];
    assert_eq!((&reason["by"], &reason["unit"]), (&"bottleneck".into(), &"s".into()));
    assert!(reason["value"].as_f64() < reason["own"].as_f64());
}

#[test]
fn several_are_a_list_by_coflow_and_policy() {
    let all = json(&folder(), &["--policy", "sebf", "--slowest", "2", "--compare", "fair"]);
    let of = |one: &Value| {
        format!("{} {}", one["coflow"].as_str().unwrap(), one["policy"].as_str().unwrap())
    };
    let names: Vec<String> = all.as_array().unwrap().iter().map(of).collect();
    assert_eq!(names, ["backup sebf", "backup fair", "report-7 sebf", "report-7 fair"]);
}

#[test]
fn waiting_for_parents_is_told_and_does_not_count() {
    let child = json(&folder(), &["--policy", "sebf", "--coflow", "child"]);
    assert_eq!((&child["parent"], &child["parents_s"]), (&"report-7".into(), &4.0.into()));
    assert_eq!(child["cct_s"], 1.0);
    let text =
        folder().results(&["explain", "queue.jsonl", "--policy", "sebf", "--coflow", "child"]);
    assert!(text.contains("Before, it waited 4.000 s for its parent report-7."), "{text}");
}

#[test]
fn the_picture_has_a_bar_for_each_explanation() {
    let folder = folder();
    folder.results(&["explain", "queue.jsonl", "--slowest", "2", "--picture", "why.svg"]);
    let picture = folder.read("why.svg");
    assert!(picture.starts_with("<?xml") && picture.contains("backup, covey: "), "{picture}");
}

#[test]
fn what_cannot_be_explained_is_refused() {
    let folder = folder();
    let refused = |more: &[&str]| folder.refusal(&[&["explain", "queue.jsonl"][..], more].concat());
    assert_eq!(
        refused(&["--coflow", "report-8"]),
        "--coflow: expected the id of one of the 3 coflows, found 'report-8'; did you mean 'report-7'?"
    );
    assert_eq!(refused(&["--slowest", "0"]), "--slowest: expected at least 1, found 0");
    assert!(
        refused(&["--policy", "fair", "--sim", "coflowsim"]).starts_with("--sim: expected exact")
    );
    assert!(refused(&["--compare", "fair,sebf"]).starts_with("--compare: expected one policy"));
    assert!(
        refused(&["--picture", "why.png"])
            .starts_with("--picture: expected a name that ends in .svg")
    );
    folder.write(
        "fails.jsonl",
        "{\"covey_trace\":1,\"ports\":2}\n\
         {\"id\":\"a\",\"arrival_s\":0,\"flows\":[{\"src\":0,\"dst\":1,\"bytes\":1}]}\n\
         {\"event\":\"fail\",\"at_s\":0.5,\"host\":0}\n",
    );
    assert_eq!(
        folder.refusal(&["explain", "fails.jsonl"]),
        "TRACE: expected a trace without events and attempts, whose flows keep their paths, found some"
    );
}

#[test]
fn what_the_ports_carry_at_a_time_is_told() {
    let folder = folder();
    let at = |time: &'static str| ["explain", "queue.jsonl", "--policy", "sebf", "--at", time];
    let text = folder.results(&at("2s"));
    let expected = "At 2.000 s under sebf, from 1.000 s to 4.000 s: 2 coflows present, 1 sending; \
                    2 of 4 links of ports full.\n";
    assert!(text.starts_with(expected), "{text}");
    assert!(text.contains("store up         100  report-7 (100 %)\n"), "{text}");
    let found = json(&folder, &["--policy", "fair", "--at", "2s"]);
    let store = &found["ports"][0];
    assert_eq!((&store["port"], &store["used"]), (&"store up".into(), &1.0.into()));
    let by = |k: usize| (&store["coflows"][k]["coflow"], &store["coflows"][k]["used"]);
    assert_eq!(by(0), (&"backup".into(), &0.5.into()));
    assert_eq!(by(1), (&"report-7".into(), &0.5.into()));
    // Nothing is left in the end, and then nobody sends.
    let text = folder.results(&at("100s"));
    assert!(text.contains(" s on: 0 coflows present, 0 sending; 0 of 4 links"), "{text}");
    for wrong in ["-1s", "2", "soon"] {
        assert!(folder.refusal(&at(wrong)).contains("--at"), "{wrong}");
    }
    let both = ["explain", "queue.jsonl", "--at", "2s", "--coflow", "backup"];
    assert!(folder.refusal(&both).contains("cannot be used with"));
}
