//! What README.md says of the policies is what the program does.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use covey_facebook_test::facebook_test;
use serde_json::Value;

use crate::common::TestFolder;

fn top() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// README.md as one line, in which a sentence is not broken.
fn readme() -> String {
    let text = fs::read_to_string(top().join("README.md")).unwrap();
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn assert_says(sentence: &str) {
    assert!(readme().contains(sentence), "README.md should say: {sentence}");
}

/// The names of all policies.
fn policies(folder: &TestFolder) -> Vec<String> {
    let all: Value = serde_json::from_str(&folder.results(&["policies", "--json"])).unwrap();
    let names = all.as_array().unwrap().iter().map(|policy| policy["name"].as_str().unwrap());
    names.map(str::to_owned).collect()
}

#[test]
fn the_number_of_policies() {
    let count = policies(&TestFolder::new()).len();
    assert_says(&format!("and {count} policies that run in both"));
    let compare = fs::read_to_string(top().join("docs/compare.md")).unwrap();
    assert!(compare.contains(&format!("| policies | {count} (")), "docs/compare.md: {count}");
}

/// Coflows that meet at few ports. With `jobs`, those of one job are a chain of stages.
fn trace(jobs: bool) -> String {
    let mut text = "{\"covey_trace\":1,\"ports\":4}\n".to_owned();
    for job in 0..6_i32 {
        for stage in 0..4_i32 {
            let (id, before) = (format!("{job}.{stage}"), format!("{job}.{}", stage.max(1) - 1));
            let parents = if jobs && stage > 0 {
                format!(",\"parents\":[\"{before}\"]")
            } else {
                String::new()
            };
            let arrival_s = 0.3 * f64::from(stage) + 0.01 * f64::from(job);
            let (src, dst) = ((job + stage) % 4, (job + 2 * stage + 1) % 4);
            let bytes =
                1_000_000 * (1 + (7 * job + 11 * stage) % 23) * if stage == 0 { 20 } else { 1 };
            let flow = format!("{{\"src\":{src},\"dst\":{dst},\"bytes\":{bytes}}}");
            writeln!(
                text,
                "{{\"id\":\"{id}\",\"arrival_s\":{arrival_s},\"flows\":[{flow}]{parents}}}"
            )
            .unwrap();
        }
    }
    text
}

/// A policy looks at DAGs if parents change completion times although no coflow waits for them.
#[test]
fn the_policies_that_look_at_whole_dags() {
    let folder = TestFolder::new();
    folder.write("jobs.jsonl", trace(true));
    folder.write("alone.jsonl", trace(false));
    let mut all = policies(&folder);
    all.push("coda:labels=true".to_owned());
    let list = all.join(",");
    let ccts = |file: &str, more: &[&str]| -> Vec<Value> {
        let arguments = [&["compare", file, "--policies", &list, "--json"], more].concat();
        let compared: Value = serde_json::from_str(&folder.results(&arguments)).unwrap();
        let results = compared["results"].as_array().unwrap().iter();
        results.map(|run| run["cct_s"].clone()).collect()
    };
    let of_jobs = ccts("jobs.jsonl", &["--barrier", "false"]);
    let differ = of_jobs.into_iter().zip(ccts("alone.jsonl", &[])).map(|(a, b)| a != b);
    let found =
        all.iter().zip(differ).filter_map(|(name, differs)| differs.then_some(name.as_str()));
    assert_eq!(found.collect::<Vec<_>>(), ["aalo", "stream", "coda:labels=true"]);
    assert_says("Only `aalo`, `stream` and `coda:labels=true` look at whole DAGs");
}

#[facebook_test]
fn the_means_on_the_facebook_trace() {
    let folder = TestFolder::new();
    let trace = top().join("../shared/data/FB2010-1Hr-150-0.txt");
    let mean = |policy: &str| {
        let arguments = ["simulate", trace.to_str().unwrap(), "--policy", policy, "--json"];
        let run: Value = serde_json::from_str(&folder.results(&arguments)).unwrap();
        run["cct_s"]["mean"].as_f64().unwrap()
    };
    let sized = "sebf:share=matching-by-load";
    assert_says(&format!(
        "`covey`, which does not see sizes, has a mean CCT of {:.1} s. `{sized}`, which knows all sizes, has {:.1} s",
        mean("covey"),
        mean(sized)
    ));
}
