//! `covey compare --against`: published values beside ours.

use crate::common::TestFolder;

const HEAD: &str = "policy,metric,value,tolerance\n";
const ARGUMENTS: [&str; 6] =
    ["compare", "tiny.txt", "--policies", "fair,sebf", "--against", "published.csv"];

/// Ours, from the numbers of `--json`.
fn ours(folder: &TestFolder) -> serde_json::Value {
    let found = folder.results(&["compare", "tiny.txt", "--policies", "fair,sebf", "--json"]);
    serde_json::from_str(&found).unwrap()
}

#[test]
fn values_that_hold_are_shown_everywhere() {
    let folder = TestFolder::new();
    let json = ours(&folder);
    let mean = json["results"][1]["cct_s"]["mean"].as_f64().unwrap();
    let speedup = json["speedups"][1]["mean_of_means"].as_f64().unwrap();
    let rows = format!(
        "{HEAD}sebf,cct_s.mean,{},5%\nsebf,speedup.mean_of_means,{},0\n",
        1.04 * mean,
        speedup
    );
    folder.write("published.csv", rows);
    let mut arguments = ARGUMENTS.to_vec();
    arguments.extend(["--report", "page.html"]);
    let text = folder.results(&arguments);
    assert!(text.contains("Published values that hold: 2 of 2; that differ: 0."), "{text}");
    let line = text.lines().find(|line| line.contains("cct_s.mean")).expect("a line");
    assert!(line.starts_with("sebf") && line.contains("holds") && line.contains("-3.8"), "{line}");
    let page = folder.read("page.html");
    assert!(page.contains("Published values") && page.contains("speedup.mean_of_means"));
    let mut arguments = ARGUMENTS.to_vec();
    arguments.push("--json");
    let found: serde_json::Value = serde_json::from_str(&folder.results(&arguments)).unwrap();
    assert_eq!(found["against"][0]["ours"].as_f64(), Some(mean));
    assert_eq!(found["against"][1]["verdict"], "holds");
    assert_eq!(ours(&folder).get("against"), None, "nothing was published");
}

#[test]
fn a_value_that_differs_is_status_1_after_the_table() {
    let folder = TestFolder::new();
    folder.write("published.csv", format!("{HEAD}fair,cct_s.mean,1e6,50%\n"));
    let ran = folder.covey(&ARGUMENTS);
    assert_eq!((ran.status, ran.err.as_str()), (Some(1), "covey: 1 published value differs\n"));
    assert!(ran.out.contains("differs") && ran.out.contains("that hold: 0 of 1"), "{}", ran.out);
}

#[test]
fn mistakes_are_named() {
    let folder = TestFolder::new();
    assert!(folder.refusal(&ARGUMENTS).contains("published.csv: No such file"));
    for (rows, found) in [
        ("far,cct_s.mean,1,5%\n", "published.csv: line 2: policy: expected one of fair, sebf"),
        ("fair,cct_s.maen,1,5%\n", "published.csv: line 2: metric: expected one of "),
        ("fair,cct_s.mean,one,5%\n", "published.csv: line 2: value: expected a number"),
    ] {
        folder.write("published.csv", format!("{HEAD}{rows}"));
        let refused = folder.refusal(&ARGUMENTS);
        assert!(refused.contains(found), "{refused}");
    }
    let mut arguments = ARGUMENTS.to_vec();
    arguments.extend(["--seeds", "3"]);
    folder.refusal(&arguments);
}
