//! Networks other than the big switch, on the command line.

use serde_json::Value;

use crate::common::TestFolder;

fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

/// A network whose core never limits gives the results of the big switch.
#[test]
fn a_wide_core_changes_nothing() {
    let folder = TestFolder::new();
    let mean = |policy: &str, fabric: &str| {
        let simulate = ["simulate", "builtin:fb-like:coflows=40", "--policy", policy, "--json"];
        let found = json(&folder.results(&[&simulate[..], &["--fabric", fabric]].concat()));
        assert_eq!(found["fabric"], fabric);
        found["cct_s"]["mean"].as_f64().unwrap()
    };
    for policy in ["sebf", "aalo:delta=0"] {
        let known = mean(policy, "big-switch");
        for fabric in [
            "leaf-spine:leaves=10,spines=1,hosts=15,uplink=100gbps,place=pack",
            "leaf-spine:leaves=10,spines=15,hosts=15,ecmp=spray",
            "fat-tree:k=10,ecmp=spray,place=pack",
        ] {
            let found = mean(policy, fabric);
            assert!((found / known - 1.0).abs() < 1e-9, "{policy} {fabric}: {found}, {known}");
        }
    }
}

/// The bound is below the mean when uplinks are too slow, and above that of the big switch.
#[test]
fn the_bound_counts_inner_links() {
    let folder = TestFolder::new();
    let found = |arguments: &[&str]| {
        let trace = ["builtin:fb-like:coflows=40,ports=100", "--json", "--fabric"];
        json(&folder.results(&[&arguments[..1], &trace[..], &arguments[1..]].concat()))
    };
    let mean = |value: &Value| value["lower_bound_mean_cct_s"].as_f64().unwrap();
    let slow = "fat-tree:k=8,oversub=8";
    let (switch, tree) = (found(&["bound", "big-switch"]), found(&["bound", slow]));
    assert_eq!(tree["fabric"], slow);
    assert!(mean(&tree) > mean(&switch));
    let simulated = found(&["simulate", slow, "--policy", "sebf", "--bound"]);
    assert_eq!(mean(&simulated), mean(&tree));
    assert!(mean(&tree) <= simulated["cct_s"]["mean"].as_f64().unwrap());
}

#[test]
fn the_report_and_trace_info_show_the_busiest_links() {
    let folder = TestFolder::new();
    let fabric = ["--fabric", "leaf-spine:leaves=8,spines=1,hosts=1"];
    let compare = ["compare", "tiny.txt", "--policies", "sebf,fifo", "--report", "page.html"];
    folder.results(&[&compare[..], &fabric[..]].concat());
    let page = folder.read("page.html");
    assert!(page.contains("leaf 0 to spine 0"), "{page}");
    let info = [&["trace", "info", "tiny.txt", "--json"][..], &fabric[..]].concat();
    let found = json(&folder.results(&info));
    assert_eq!(found["fabric"], fabric[1]);
    assert_eq!(found["tiers"][1]["tier"], "leaf up");

    folder.results(&[&info[..], &["--per-link", "links.csv"]].concat());
    let links = folder.read("links.csv");
    let mut rows = links.lines();
    assert_eq!(rows.next(), Some("link,tier,bytes,busy_s"));
    let rows: Vec<Vec<&str>> = rows.map(|row| row.split(',').collect()).collect();
    for tier in found["tiers"].as_array().unwrap() {
        let of_tier = || rows.iter().filter(|row| row[1] == tier["tier"]);
        assert_eq!(tier["links"], of_tier().count());
        let busiest = of_tier().find(|row| row[0] == tier["busiest"]).unwrap();
        assert_eq!(tier["max_busy_s"], busiest[3].parse::<f64>().unwrap());
    }
    let alone = ["trace", "info", "tiny.txt", "--per-link", "links.csv"];
    assert!(folder.refusal(&alone).contains("--fabric"));
}

#[test]
fn wrong_networks_are_refused_in_one_line() {
    let folder = TestFolder::new();
    folder.write("broken.txt", "covey-topology 1\nhosts a b\nswitches x\nlink a -- y 1gbps\n");
    for (fabric, expected) in [
        ("fat-tree:k=5", "--fabric: fat-tree: k: expected an even number from 2 to 254, found 5"),
        (
            "file:broken.txt",
            "broken.txt: line 4: to: expected the name of a host or switch, found \"y\"",
        ),
        ("file:", "--fabric: file: expected the path of a topology file, found nothing"),
    ] {
        for command in [&["simulate"][..], &["compare"], &["bound"], &["trace", "info"]] {
            let arguments = [command, &["tiny.txt", "--fabric", fabric]].concat();
            assert_eq!(folder.refusal(&arguments), expected);
        }
    }
    let emulated = ["simulate", "tiny.txt", "--sim", "coflowsim", "--policy", "fair"];
    let refused = folder.refusal(&[&emulated[..], &["--fabric", "fat-tree:k=4"]].concat());
    assert_eq!(refused, "--fabric: expected big-switch with --sim coflowsim, found 'fat-tree:k=4'");
}

/// Every host sends 1 MiB to the host at distance 8. Remainders choose one core for all four hosts
/// of a pod, so each flow has a quarter of a link; sprayed, each has a whole one.
#[test]
fn choices_without_a_hash_polarise() {
    let folder = TestFolder::new();
    let flow = |src| format!(r#"{{"src":{src},"dst":{},"bytes":1048576}}"#, (src + 8) % 16);
    let flows: Vec<String> = (0..16).map(flow).collect();
    let head = r#"{"covey_trace":1,"ports":16,"coflows":1}"#;
    let coflow = format!(r#"{{"id":"all","arrival_s":0,"flows":[{}]}}"#, flows.join(","));
    folder.write("shift.jsonl", format!("{head}\n{coflow}\n"));
    for (ecmp, expected_s) in [("modulo", 0.033_554_432), ("spray", 0.008_388_608)] {
        let fabric = format!("fat-tree:k=4,place=pack,ecmp={ecmp}");
        let simulate = ["simulate", "shift.jsonl", "--policy", "fair", "--json", "--fabric"];
        let found = json(&folder.results(&[&simulate[..], &[&fabric]].concat()));
        let mean_s = found["cct_s"]["mean"].as_f64().unwrap();
        assert!((mean_s / expected_s - 1.0).abs() < 1e-9, "{ecmp}: {mean_s}");
    }
}

#[test]
fn shares_by_size_divide_the_links_of_switches() {
    let folder = TestFolder::new();
    // Two leaves with two hosts each and one uplink of half a port: both flows cross it, and end
    // together.
    folder.write("two.txt", "4 1\n0 0 2 0 1 2 2:1.0 3:3.0\n");
    let fabric = "leaf-spine:leaves=2,spines=1,hosts=2,uplink=4Mbps,place=pack";
    let arguments = ["simulate", "two.txt", "--policy", "wss", "--json", "--port-rate", "8Mbps"];
    let found = json(&folder.results(&[&arguments[..], &["--fabric", fabric]].concat()));
    // 4 MiB over 4 Mbps.
    let mean_s = found["cct_s"]["mean"].as_f64().unwrap();
    assert!((mean_s / 8.388_608 - 1.0).abs() < 1e-9, "{mean_s}");
}
