//! `covey testbed` on loopback: coordinator, agents and hosts as processes, every byte checked.

use crate::common::TestFolder;

/// Some coflows of a few hundred kB each.
const SMALL: [&str; 9] = [
    "testbed",
    "builtin:fb-like:coflows=12",
    "--hosts",
    "3",
    "--size",
    "1/1000000",
    "--time",
    "1/2000",
    "--loopback",
];

#[test]
fn a_trace_is_replayed_and_every_byte_arrives_as_sent() {
    let folder = TestFolder::new();
    let ran = folder.covey(
        &[&SMALL[..], &["--policies", "tcp,philae,sebf,fvdf", "--ratio", "0.5", "--link", "1gbps"]]
            .concat(),
    );
    assert_eq!(ran.status, Some(0), "{}", ran.err);
    assert!(ran.err.contains("tcp is left out"), "{}", ran.err);
    for policy in ["philae", "sebf", "fvdf"] {
        let line = |line: &&str| line.starts_with(policy) && line.contains(", all right");
        assert!(ran.out.lines().any(|it| line(&it)), "{}", ran.out);
        assert!(ran.out.contains(&format!("{policy} (simulated)")), "{}", ran.out);
    }
    assert!(ran.out.contains("does not show contention"), "{}", ran.out);
}

#[test]
fn kills_of_coordinator_agent_and_host_do_not_affect_other_flows() {
    let folder = TestFolder::new();
    let faults = ["coordinator@200ms+1500ms", "agent:1@400ms+500ms", "host:2@600ms"];
    let faults = faults.into_iter().flat_map(|fault| ["--fault", fault]);
    // The replay takes long enough for the faults.
    let large = SMALL.map(|it| if it == "1/1000000" { "1/10000" } else { it });
    let others = ["--policies", "philae", "--link", "10mbps"].into_iter();
    let ran = folder.covey(&large.into_iter().chain(others).chain(faults).collect::<Vec<_>>());
    assert_eq!(ran.status, Some(0), "{}{}", ran.out, ran.err);
    let line = ran.out.lines().find(|line| line.starts_with("philae")).expect("a row");
    let numbers: Vec<f64> = line.split_whitespace().filter_map(|word| word.parse().ok()).collect();
    let [coflows, ended, failed, ..] = numbers[..] else { panic!("{line}") };
    assert_eq!(ended + failed, coflows, "{line}");
    assert!(ended > 0.0 && failed > 0.0, "{line}");
    assert!(ran.out.contains("failed with a host: "), "{}", ran.out);
}

#[test]
fn traces_that_cannot_be_replayed_are_refused() {
    let folder = TestFolder::new();
    let of = |more: &[&str]| folder.covey(&[&SMALL[..], more].concat());
    for (arguments, what) in [
        (vec!["--policies", "nonsense"], "nonsense"),
        (vec!["--link", "fast"], "--link: 'fast' is not a speed"),
        (vec!["--policies", "philae,philae"], "twice"),
        (vec!["--policies", "philae", "--baseline", "aalo"], "--baseline: expected one of philae"),
        (vec!["--limit", "soon"], "--limit"),
        (vec!["--fault", "disk:1@1s"], "--fault"),
        (vec!["--fault", "agent:3@1s"], "hosts of the testbed"),
        (vec!["--fault", "link:1@1s+1s"], "not on loopback"),
        (vec!["--ratio", "0"], "--ratio: expected from 0.02 to 1, found 0"),
        (vec!["--ecn", "5ms"], "which need root, found loopback"),
        (vec!["--fabric", "leaf-spine:leaves=2,spines=1,hosts=2"], "which need root"),
        (vec!["--background", "95%"], "--background: expected from 0% to 90%"),
        (vec!["--cpu", "much"], "--cpu: expected idle, or a number from 0 to 1, found 'much'"),
        (
            vec!["--policies", "philae", "--ratio", "0.5", "--report", "page.txt"],
            "--ratio changes nothing: no policy compresses",
        ),
        (
            vec!["--policies", "philae", "--cpu", "0.5", "--report", "page.txt"],
            "--cpu changes nothing: no policy compresses",
        ),
        (
            vec!["--policies", "sebf:compress=lzo"],
            "--policies: expected policies that compress with lz4, snappy, zstd, lzf",
        ),
    ] {
        let ran = of(&arguments);
        assert_eq!(ran.status, Some(2), "{arguments:?}: {}", ran.err);
        assert!(ran.err.contains(what), "{arguments:?}: {}", ran.err);
    }
}
