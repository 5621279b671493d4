//! The shape of `builtin:fb-like` against the published numbers of the Facebook trace.

use covey_trace::{MB, Stats, builtin, open};

/// The statistics of five seeds.
fn seeds() -> impl Iterator<Item = Stats> {
    (1..=5).map(|seed| {
        let workload = builtin(&format!("fb-like:seed={seed}")).expect("fb-like");
        Stats::of(&workload)
    })
}

/// Whether `value` is within `percent` of `expected`.
fn near(value: f64, expected: f64, percent: f64) -> bool {
    (value / expected - 1.0).abs() * 100.0 <= percent
}

#[test]
fn has_the_bins_of_aalo_and_philae() {
    for stats in seeds() {
        let aalo = stats.by_length_and_width.each_ref().map(|b| b.coflows);
        assert_eq!(aalo, [309, 90, 59, 68]);
        let philae = stats.by_width_and_size.each_ref().map(|b| b.coflows);
        assert_eq!(philae, [233, 127, 24, 142]);
        assert!((0.985..0.995).contains(&stats.by_length_and_width[3].byte_share));
    }
}

#[test]
fn has_the_totals() {
    for stats in seeds() {
        assert_eq!((stats.ports, stats.coflows), (150, 526));
        assert_eq!(stats.single_flow_coflows, 123);
        assert_eq!(stats.last_arrival_s.as_secs(), 3630.0);
        assert!(near(stats.flows as f64, 706_397.0, 3.0));
        assert!(near(stats.bytes / MB, 35_533_534.0, 8.0));
        assert!(near(stats.same_port_flows as f64, 4911.0, 10.0));
    }
}

#[test]
fn loads_ports_unevenly() {
    for stats in seeds() {
        let busiest = |port: &covey_trace::stats::PortBytes| port.bytes / stats.mean_port_bytes;
        assert!(near(busiest(&stats.busiest_ingress), 1.86, 25.0));
        assert!(near(busiest(&stats.busiest_egress), 1.09, 10.0));
    }
}

#[test]
fn flows_are_whole_megabytes_and_equal_to_one_receiver() {
    let workload = builtin("fb-like").expect("fb-like");
    for coflow in &workload.coflows {
        let mut to = vec![None; 150];
        for flow in &coflow.flows {
            let mb = flow.bytes / MB;
            assert!(mb >= 1.0 && mb.fract() == 0.0);
            assert_eq!(*to[flow.dst as usize].get_or_insert(mb), mb);
        }
    }
}

/// A change here changes every published number on `builtin:fb-like`.
#[test]
fn stays_the_same() {
    let workload = builtin("fb-like:seed=1").expect("fb-like");
    let mut file = Vec::new();
    covey_trace::write(&workload, &mut file).expect("writing to memory");
    // FNV-1a of the file.
    let hash = file.iter().fold(0xcbf2_9ce4_8422_2325, |hash: u64, &byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    assert_eq!(hash, 5_607_090_818_243_971_727);
}

#[test]
fn takes_parameters() {
    let workload = builtin("fb-like:seed=7,coflows=40,ports=20,duration_s=60").expect("fb-like");
    assert_eq!((workload.ports, workload.coflows.len()), (20, 40));
    let stats = Stats::of(&workload);
    assert_eq!(stats.last_arrival_s.as_secs(), 60.0);
    assert!(workload.coflows.iter().all(|c| !c.flows.is_empty()));
    assert_ne!(builtin("fb-like:seed=1").ok(), builtin("fb-like:seed=2").ok());
}

#[test]
fn opens_by_name() {
    assert_eq!(open("builtin:fb-like").ok(), builtin("fb-like:seed=1").ok());
    let error = open("builtin:x").map_err(|e| e.to_string());
    let expected = "builtin: expected one of fb-like, coflowsim-custom, found \"x\"";
    assert_eq!(error, Err(expected.to_owned()));
    let missing = open("no such file").map_err(|e| e.to_string());
    assert!(missing.is_err_and(|e| e.starts_with("no such file: ")));
}

#[test]
fn smallest() {
    for spec in ["fb-like:coflows=1,ports=1", "fb-like:ports=1,duration_s=0"] {
        let workload = builtin(spec).expect(spec);
        assert!(workload.coflows.iter().all(|c| c.flows.iter().all(|f| f.dst == 0)));
        assert!(workload.coflows.iter().all(|c| c.arrival_s.is_finite()));
    }
}

#[test]
fn unknown_names_and_values() {
    for (spec, message) in [
        ("", "builtin: expected one of fb-like, coflowsim-custom, found \"\""),
        ("hour:seed=1", "builtin: expected one of fb-like, coflowsim-custom, found \"hour\""),
        (
            "fblike:seed=1",
            "builtin: expected one of fb-like, coflowsim-custom, found \"fblike\"; did you mean 'fb-like'?",
        ),
        (
            "FB-LIKE:sed=1",
            "builtin:fb-like: expected one of seed, coflows, ports, duration_s, found \"sed\"; did you mean 'seed'?",
        ),
        (
            "fb-like:seed=1,",
            "builtin:fb-like: expected one of seed, coflows, ports, duration_s, found \"\"",
        ),
        (
            "fb-like:seed",
            "builtin:fb-like: seed: expected a number from 0 to 18446744073709551615, found \"\"",
        ),
        (
            "fb-like:coflows=0",
            "builtin:fb-like: coflows: expected a number from 1 to 20000, found \"0\"",
        ),
        (
            "fb-like:duration_s=nan",
            "builtin:fb-like: duration_s: expected a number from 0 to 1000000000, found \"nan\"",
        ),
    ] {
        let error = builtin(spec).expect_err(spec);
        assert_eq!(error.to_string(), message);
    }
}
