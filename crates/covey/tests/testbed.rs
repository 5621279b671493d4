//! `covey testbed` on loopback: coordinator, agents and hosts as processes, every byte checked.

mod common;

use common::Place;

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
fn a_trace_is_replayed_and_every_byte_comes_as_it_was_sent() {
    let place = Place::new();
    let ran = place.covey(
        &[&SMALL[..], &["--policies", "tcp,philae,sebf,fvdf", "--ratio", "0.5", "--link", "1gbps"]]
            .concat(),
    );
    assert_eq!(ran.status, Some(0), "{}", ran.err);
    assert!(ran.err.contains("tcp is left out"), "{}", ran.err);
    for policy in ["philae", "sebf", "fvdf"] {
        let line = |line: &&str| line.starts_with(policy) && line.ends_with(", all right");
        assert!(ran.out.lines().any(|it| line(&it)), "{}", ran.out);
        assert!(ran.out.contains(&format!("{policy} (simulated)")), "{}", ran.out);
    }
    assert!(ran.out.contains("does not show contention"), "{}", ran.out);
}

#[test]
fn what_cannot_be_replayed_is_said() {
    let place = Place::new();
    let of = |more: &[&str]| place.covey(&[&SMALL[..], more].concat());
    for (arguments, what) in [
        (vec!["--policies", "nonsense"], "nonsense"),
        (vec!["--link", "fast"], "--link: expected a rate like 100mbps, found 'fast'"),
        (vec!["--policies", "philae,philae"], "twice"),
        (vec!["--policies", "philae", "--baseline", "aalo"], "--baseline: expected one of philae"),
        (vec!["--limit", "soon"], "--limit"),
        (vec!["--ratio", "0"], "--ratio: expected from 0.02 to 1, found 0"),
        (vec!["--cpu", "much"], "--cpu: expected idle, or a number from 0 to 1, found 'much'"),
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
