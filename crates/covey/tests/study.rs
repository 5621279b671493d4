//! `covey study` and `covey report`: a comparison as a file says, and its results shown again.

use std::fs;

use serde_json::Value;

use crate::common::TestFolder;

const STUDY: &str = "\
# Does <size> matter?
traces = [\"tiny.txt\", \"builtin:fb-like:coflows=20,ports=10\"]
policies = [\"sebf\", \"aalo:queues=strict,delta=0\", \"fair\"]
baseline = \"fair\"
port-rate = \"100mbps\"
fabric = \"leaf-spine:leaves=2,spines=2,hosts=5\"
barrier = true
report = \"page.html\"
figures = \"figures\"
per-coflow = \"coflows\"
results = \"kept.json\"
";

/// A folder with the study `study/experiment.toml`, which is not where the command runs.
fn folder(study: &str) -> TestFolder {
    let folder = TestFolder::new();
    fs::create_dir(folder.path("study")).unwrap();
    fs::rename(folder.path("tiny.txt"), folder.path("study/tiny.txt")).unwrap();
    folder.write("study/experiment.toml", study);
    folder
}

fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|e| panic!("{e}: {text}"))
}

/// The same without what differs from run to run.
fn without_wall(comparison: &Value) -> Value {
    let mut comparison = comparison.clone();
    for result in comparison["results"].as_array_mut().unwrap() {
        result["wall_s"] = Value::Null;
    }
    comparison
}

#[test]
fn a_study_is_a_comparison_for_each_trace() {
    let folder = folder(STUDY);
    let found = json(&folder.results(&["study", "study/experiment.toml", "--json"]));
    assert_eq!((&found["covey_results"], &found["study"]), (&1.into(), &STUDY.into()));
    assert_eq!(found["command"], "covey study study/experiment.toml --json");
    let traces = ["study/tiny.txt", "builtin:fb-like:coflows=20,ports=10"];
    for (k, trace) in traces.into_iter().enumerate() {
        let list = "sebf,aalo:queues=strict,delta=0,fair";
        let fabric = "leaf-spine:leaves=2,spines=2,hosts=5";
        let compare = ["compare", trace, "--policies", list, "--fabric", fabric];
        let alone = [&compare[..], &["--port-rate", "100mbps", "--json"]].concat();
        let mut alone = without_wall(&json(&folder.results(&alone)));
        let own = without_wall(&found["comparisons"][k]);
        for result in alone["results"].as_array_mut().unwrap() {
            // The study names it from its own folder.
            result["trace"] = own["results"][0]["trace"].clone();
        }
        assert_eq!(own, alone, "{trace}");
    }
    let page = folder.read("study/page.html");
    assert!(page.contains("<details><summary>The study</summary>"), "{page}");
    assert!(page.contains("# Does &lt;size&gt; matter?\ntraces = "), "{page}");
    assert_eq!(page.matches("<article").count(), 2);
    for file in [
        "coflows/tiny.txt/aalo_queues=strict_delta=0.csv",
        "coflows/builtin_fb-like_coflows=20_ports=10/fair.csv",
        "figures/tiny.txt/cct.svg",
        "figures/builtin_fb-like_coflows=20_ports=10/table.md",
        "kept.json",
    ] {
        assert!(folder.path("study").join(file).is_file(), "{file}");
    }
}

#[test]
fn a_report_shows_the_same_again() {
    let folder = folder(STUDY);
    let told = folder.results(&["study", "study/experiment.toml"]);
    assert!(told.contains("Trace tiny.txt: 2 coflows"), "{told}");
    assert!(told.contains("\n\npolicy "), "{told}");
    let outputs = ["--report", "again.html", "--figures", "again"];
    let report = ["report", "study/kept.json"];
    assert_eq!(folder.results(&[&report[..], &outputs].concat()), told);
    assert_eq!(folder.read("again.html"), folder.read("study/page.html"));
    for file in ["cct.svg", "tail.csv", "bins.csv", "speedup.svg", "table.tex"] {
        let [own, again] =
            ["study/figures", "again"].map(|at| folder.read(&format!("{at}/tiny.txt/{file}")));
        assert_eq!(own, again, "{file}");
    }
    let again = json(&folder.results(&["report", "study/kept.json", "--json"]));
    let mut kept = json(&folder.read("study/kept.json"));
    for comparison in kept["comparisons"].as_array_mut().unwrap() {
        assert!(comparison["coflows"]["cct_s"][2][1].is_number(), "{comparison}");
        comparison.as_object_mut().unwrap().remove("coflows");
    }
    assert_eq!(again, kept);
}

#[test]
fn a_comparison_keeps_its_results() {
    let folder = TestFolder::new();
    folder.write("published.csv", "policy,metric,value,tolerance\nfair,cct_s.mean,1e6,50%\n");
    folder.write("jobs.jsonl", "{\"covey_trace\":1,\"ports\":2}\n{\"id\":\"a\",\"arrival_s\":0,\"job\":\"q\",\"tenant\":\"x\",\"deadline_s\":1,\"weight\":2,\"flows\":[{\"src\":0,\"dst\":1,\"bytes\":1e6}]}\n");
    let outputs = ["--results", "kept.json", "--report", "page.html"];
    for more in [
        &["tiny.txt", "--policies", "covey,fair,sebf:compress=lz4"][..],
        &["tiny.txt", "--policies", "fair,sebf", "--jct-shares", "1"],
        &["tiny.txt", "--policies", "fair,sebf", "--against", "published.csv"],
        &["jobs.jsonl", "--policies", "fair,sebf"],
        &["builtin:fb-like:coflows=9", "--policies", "fair,sebf,fifo", "--seeds", "3"],
    ] {
        let told = folder.covey(&[&["compare"], more, &outputs].concat()).out;
        assert!(told.contains("fair"), "{more:?}");
        let again = folder.results(&["report", "kept.json", "--report", "again.html"]);
        assert_eq!(again, told, "{more:?}");
        assert_eq!(folder.read("page.html"), folder.read("again.html"), "{more:?}");
    }
    folder.results(&["report", "kept.json", "--figures", "out"]);
    let seeds = folder.read("out/seeds.csv");
    let of = |policy: &str| seeds.lines().filter(|line| line.starts_with(policy)).count();
    assert_eq!(["fair,", "sebf,", "fifo,"].map(of), [0, 3, 3], "{seeds}");
    assert!(folder.read("out/table.tex").contains("of a seed"));
}

#[test]
fn a_study_may_have_seeds_and_names_its_results() {
    let study = "traces = \"builtin:fb-like:coflows=9\"\npolicies = \"fair,sebf\"\nseeds = 3\n";
    let folder = folder(study);
    let told = folder.results(&["study", "study/experiment.toml"]);
    assert!(told.contains("over the seeds 1 to 3"), "{told}");
    assert_eq!(folder.results(&["report", "study/experiment.results.json"]), told);
    let found = json(&folder.read("study/experiment.results.json"));
    assert_eq!(found["over_seeds"][0]["runs"][2]["seed"], 3);
    let mut changed = found;
    changed["over_seeds"][0]["runs"][1]["speedups"].as_array_mut().expect("a list").reverse();
    folder.write("changed.json", changed.to_string());
    let refused = folder.refusal(&["report", "changed.json"]);
    assert!(refused.contains("seed 2: expected the policies of the first seed"), "{refused}");
    folder.write("study/experiment.toml", format!("{study}anonymise = true\n"));
    let ran = folder.covey(&["study", "study/experiment.toml"]);
    assert!(ran.err.contains("the study is not in its results"), "{}", ran.err);
    assert_eq!(json(&folder.read("study/experiment.results.json"))["study"], Value::Null);
}

#[test]
fn mistakes_in_a_study_are_named() {
    let folder = folder("");
    for (study, expected) in [
        ("", "expected traces = [\"trace.txt\"], found no traces"),
        (
            "trace = \"tiny.txt\"\n",
            "line 1: covey compare has no option 'trace'; did you mean 'traces'?",
        ),
        (
            "traces = [\"tiny.txt\"]\npolicis = [\"fair\"]\n",
            "line 2: covey compare has no option 'policis'; did you mean 'policies'?",
        ),
        ("traces = [\"tiny.txt\"]\npolicies = 3.5e\n", "line 2: "),
        ("traces = [1]\njson = true\n", "line 2: 'json' can stand on the command line only"),
        ("traces = {}\n", "line 1: traces: expected a list such as"),
        ("traces = [\"a\", \"a\"]\n", "line 1: traces: expected each trace once, found 'a' twice"),
        ("traces = [\"none.txt\"]\n", "none.txt: "),
        ("traces = [\"tiny.txt\"]\nport-rate = \"fast\"\n", "line 2: port-rate: "),
        ("traces = [\"tiny.txt\"]\nbaseline = \"sbf\"\n", "line 2: baseline: expected one of "),
        ("traces = [\"tiny.txt\"]\npolicies = [\"fiar\"]\n", "did you mean 'fair'?"),
        ("traces = [\"tiny.txt\"]\nbarrier = \"no\"\n", "line 2: barrier: "),
        ("traces = [\"tiny.txt\"]\nreport = \"page.png\"\n", "line 2: report: "),
        ("traces = [\"tiny.txt\"]\nseeds = 3\n", "line 2: seeds: "),
        ("traces = [\"tiny.txt\"]\nresults = \"kept.txt\"\n", "line 2: results: "),
    ] {
        folder.write("study/experiment.toml", study);
        let refused = folder.refusal(&["study", "study/experiment.toml"]);
        assert!(refused.starts_with("study/experiment.toml: "), "{study}: {refused}");
        assert!(refused.contains(expected), "{study}: {refused}");
    }
    let refused = folder.refusal(&["study", "none.toml"]);
    assert!(refused.starts_with("none.toml: No such file"), "{refused}");
}

#[test]
fn files_that_are_no_results_are_refused() {
    let folder = TestFolder::new();
    folder.results(&["compare", "tiny.txt", "--policies", "fair,sebf", "--results", "kept.json"]);
    let kept = folder.read("kept.json");
    let without = |name: &str| kept.replacen(&format!("\"{name}\":"), "\"other\":", 1);
    for (text, expected) in [
        (kept[..kept.len() / 2].to_owned(), "cut off at line 1, column "),
        (String::new(), "cut off at line 1, column 0"),
        (
            kept.replace("\"covey_results\":1", "\"covey_results\":2"),
            "expected results of version 1, found covey_results 2",
        ),
        (without("covey_results"), "found no covey_results"),
        (
            "3 2\n1 0 1 0 1 1:10\n".to_owned(),
            "expected results that covey study or covey compare --results wrote",
        ),
        ("[1]".to_owned(), "expected results that covey study or covey compare --results wrote"),
        (without("comparisons"), "expected comparisons or over_seeds, found neither"),
        (kept.replacen("{\"id\":", "{\"ids\":", 1), "missing field `id`"),
        (without("baseline_label"), "missing field `baseline_label`"),
        (
            kept.replacen("\"arrival_s\":[0.0,", "\"arrival_s\":[", 1),
            "coflows.arrival_s: expected a value for each",
        ),
    ] {
        folder.write("broken.json", text);
        let refused = folder.refusal(&["report", "broken.json", "--report", "page.html"]);
        assert!(refused.starts_with("broken.json: "), "{refused}");
        assert!(refused.contains(expected), "{expected}: {refused}");
    }
    assert!(!folder.path("page.html").exists());
    assert!(folder.refusal(&["report", "none.json"]).starts_with("none.json: No such file"));
}
