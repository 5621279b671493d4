//! The result of each transformation, measured on the seeded hour and on the Facebook trace.

use std::collections::BTreeMap;

use crate::facebook::facebook;
use covey_core::TenantWeights;
use covey_facebook_test::facebook_test;
use covey_trace::stats::{SizeClass, SizeTable};
use covey_trace::transform::{
    Changes, Filter, Mantri, Scale, Shape, Tenants, TenantsBy, Waves, WavesOf, burst, dag, filter,
    mantri, mapper_cv, scale, skew, split_receivers, tenants, waves,
};
use covey_trace::{Coflow, Compressible, Flow, MB, Restart, TraceError, Workload, builtin};

fn hour() -> Workload {
    builtin("fb-like").unwrap()
}

fn says(result: Result<Workload, TraceError>) -> String {
    result.map_or_else(|error| error.to_string(), |_| "no error".to_owned())
}

/// Linear between ranks.
fn percentile(mut values: Vec<f64>, p: f64) -> f64 {
    values.sort_by(f64::total_cmp);
    let rank = p / 100.0 * (values.len() - 1) as f64;
    let (low, high) = (values[rank as usize], values[(rank.ceil()) as usize]);
    low + (high - low) * rank.fract()
}

fn close(a: f64, b: f64) -> bool {
    (a - b).abs() <= 1e-9 * a.abs().max(b.abs())
}

#[facebook_test]
fn wide_only_has_269_coflows() {
    let trace = facebook();
    let wide = filter(&trace, Filter { min_width: Some(8), min_skew: None }).unwrap();
    assert_eq!(wide.coflows.len(), 269);
    assert!(wide.coflows.iter().all(|c| c.width() > 7));
    // Philae (§8.1) counts 142, 100, 65, 51 and 43. With k included there would be 526, 128, 95, 60
    // and 49. No way of rounding was found that gives the additional coflow at 3 and 4.
    let counts = [1.0, 2.0, 3.0, 4.0, 5.0].map(|k| {
        filter(&trace, Filter { min_skew: Some(k), min_width: None }).unwrap().coflows.len()
    });
    assert_eq!(counts, [142, 100, 64, 50, 43]);
}

#[test]
fn a_filter_forgets_parents_that_are_left_out() {
    let flow = Flow { src: 0, dst: 1, bytes: 1.0, start_s: 0.0 };
    let coflow = |id: &str, width, parents: &[u32]| Coflow {
        parents: parents.to_vec(),
        ..Coflow::new(id.to_owned(), 0.0, vec![flow; width])
    };
    let coflows = vec![coflow("a", 1, &[]), coflow("b", 2, &[0]), coflow("c", 2, &[0, 1])];
    let workload = Workload::new(2, coflows);
    let wide = filter(&workload, Filter { min_width: Some(2), min_skew: None }).unwrap();
    let parents: Vec<_> = wide.coflows.iter().map(|c| (c.id.as_str(), &c.parents[..])).collect();
    assert_eq!(parents, [("b", &[][..]), ("c", &[0][..])]);
    assert_eq!(
        says(filter(&workload, Filter { min_width: Some(3), min_skew: None })),
        "filter: expected a coflow that passes, found none: the largest width is 2, the largest \
         skew 1"
    );
}

/// Variation as published, and the bytes of each reducer.
fn check_mantri(trace: &Workload) {
    let published = Mantri { cv_p50: 0.34, cv_p90: 3.1, seed: 1 };
    let made = mantri(trace, published).unwrap();
    let cvs: Vec<f64> = made.coflows.iter().filter_map(mapper_cv).collect();
    let (p50, p90) = (percentile(cvs.clone(), 50.0), percentile(cvs, 90.0));
    assert!((p50 / 0.34 - 1.0).abs() < 0.02 && (p90 / 3.1 - 1.0).abs() < 0.02, "{p50} {p90}");
    for (before, after) in trace.coflows.iter().zip(&made.coflows) {
        let received = |coflow: &Coflow| {
            let mut sums = BTreeMap::new();
            coflow.flows.iter().for_each(|f| *sums.entry(f.dst).or_insert(0.0) += f.bytes);
            sums
        };
        let (before_s, after_s) = (received(before), received(after));
        assert!(before_s.iter().zip(&after_s).all(|(a, b)| a.0 == b.0 && close(*a.1, *b.1)));
        assert!(after.flows.iter().all(|f| f.bytes >= 1.0 - 1e-9), "{}", after.id);
    }
    assert_eq!(made, mantri(trace, published).unwrap());
    assert_ne!(made, mantri(trace, Mantri { seed: 2, ..published }).unwrap());
}

#[test]
fn mantri_has_the_published_variation_and_keeps_what_reducers_receive() {
    check_mantri(&hour());
}

#[facebook_test]
fn mantri_has_the_published_variation_and_keeps_what_reducers_receive_on_facebook() {
    check_mantri(&facebook());
}

#[test]
fn mantri_says_when_there_are_too_few_mappers() {
    let flow = |src| Flow { src, dst: 3, bytes: MB, start_s: 0.0 };
    let pair = Coflow::new("1".to_owned(), 0.0, vec![flow(0), flow(1)]);
    let workload = Workload::new(4, vec![pair]);
    assert_eq!(
        says(mantri(&workload, Mantri { cv_p50: 0.34, cv_p90: 3.1, seed: 1 })),
        "mantri: expected enough coflows, with enough mappers, for coefficients of variation of 0.34 and \
         3.1 (n mappers allow up to √(n - 1)), found 0.340 and 0.340 at most, over 1 coflow with several mappers"
    );
    assert!(says(mantri(&workload, Mantri { cv_p50: 0.0, cv_p90: 3.1, seed: 1 })).contains("0 <"));
}

/// Sizes of coflows as before, and lognormal factors of flows.
fn check_skew(trace: &Workload) {
    let made = skew(trace, 1.0, 7).unwrap();
    let mut logs = Vec::new();
    for (before, after) in trace.coflows.iter().zip(&made.coflows) {
        assert!(close(before.size_bytes(), after.size_bytes()));
        // In a wide coflow factors are lognormal with a median of e^-1/2 of their mean.
        if before.width() > 1000 {
            let factors = before.flows.iter().zip(&after.flows);
            logs.extend(factors.map(|(b, a)| (a.bytes / b.bytes).ln()));
        }
    }
    let mean = logs.iter().sum::<f64>() / logs.len() as f64;
    let variance = logs.iter().map(|l| (l - mean).powi(2)).sum::<f64>() / logs.len() as f64;
    assert!((variance.sqrt() - 1.0).abs() < 0.03, "{}", variance.sqrt());
    assert_eq!(made, skew(trace, 1.0, 7).unwrap());
    assert_ne!(made, skew(trace, 1.0, 8).unwrap());
    let same = skew(trace, 0.0, 7).unwrap();
    let flows = |w: &Workload| -> Vec<f64> {
        w.coflows.iter().flat_map(|c| &c.flows).map(|f| f.bytes).collect()
    };
    assert!(flows(&same).iter().zip(flows(trace)).all(|(a, b)| close(*a, b)));
}

#[test]
fn skew_keeps_the_size_of_each_coflow_and_spreads_flows_lognormally() {
    check_skew(&hour());
    assert_eq!(says(skew(&hour(), -1.0, 1)), "sigma: expected a number from 0 to 10, found -1");
}

#[facebook_test]
fn skew_keeps_the_size_of_each_coflow_and_spreads_flows_lognormally_on_facebook() {
    check_skew(&facebook());
}

/// Shares of coflows by their number of waves, as published.
fn check_waves(trace: &Workload) {
    let published: [(u32, &[usize]); 4] =
        [(1, &[100]), (2, &[90, 10]), (3, &[81, 9, 10]), (4, &[81, 9, 4, 6])];
    for (max, percent) in published {
        let how = Waves { max, rate: 125e6, of: WavesOf::Coflows, seed: 3 };
        let made = waves(trace, how).unwrap();
        let mut counts = vec![0; percent.len()];
        for (before, after) in trace.coflows.iter().zip(&made.coflows) {
            let mut starts: Vec<f64> = after.flows.iter().map(|f| f.start_s).collect();
            starts.sort_by(f64::total_cmp);
            starts.dedup();
            counts[starts.len() - 1] += 1;
            assert!(close(before.size_bytes(), after.size_bytes()));
        }
        for (count, percent) in counts.iter().zip(percent) {
            let share = 100.0 * *count as f64 / trace.coflows.len() as f64;
            assert!((share - *percent as f64).abs() < 0.3, "{max}: {counts:?}");
        }
        assert_eq!(made, waves(trace, how).unwrap());
    }
}

#[test]
fn waves_have_the_published_shares() {
    check_waves(&hour());
    let how = Waves { max: 5, rate: 125e6, of: WavesOf::Coflows, seed: 3 };
    assert_eq!(says(waves(&hour(), how)), "max: expected 1, 2, 3 or 4 waves, found 5");
    let flow = Flow { src: 0, dst: 1, bytes: 1.0, start_s: 0.0 };
    let single = |id: usize| Coflow::new(id.to_string(), 0.0, vec![flow]);
    let singles = Workload::new(2, (0..50).map(single).collect());
    assert_eq!(
        says(waves(&singles, Waves { max: 2, ..how })),
        "waves: expected 5 of 50 coflows with at least 2 senders for 2 waves, found 0"
    );
}

#[facebook_test]
fn waves_have_the_published_shares_on_facebook() {
    check_waves(&facebook());
}

#[test]
fn a_wave_begins_when_the_previous_one_could_be_over() {
    let flow = |src, bytes| Flow { src, dst: 3, bytes, start_s: 0.0 };
    let coflow = |id: usize| {
        Coflow::new(id.to_string(), 0.0, vec![flow(0, 1.0), flow(1, 3.0), flow(2, 5.0)])
    };
    let workload = Workload::new(4, (0..10).map(coflow).collect());
    let made =
        waves(&workload, Waves { max: 2, rate: 2.0, of: WavesOf::Coflows, seed: 1 }).unwrap();
    let starts = |c: &Coflow| c.flows.iter().map(|f| f.start_s).collect::<Vec<_>>();
    let twice: Vec<_> = made.coflows.iter().map(starts).filter(|s| s != &[0.0; 3]).collect();
    // Two mappers send 4 bytes to one reducer in the first wave.
    assert_eq!(twice, [[0.0, 0.0, 2.0]]);
}

#[test]
fn scale_multiplies_times_and_sizes_and_folds_ports() {
    let trace = hour();
    let made = scale(&trace, Scale { time: 0.5, size: 3.0, ports: Some(50) }).unwrap();
    assert_eq!(made.ports, 50);
    assert!(close(made.bytes(), 3.0 * trace.bytes()));
    for (before, after) in trace.coflows.iter().zip(&made.coflows) {
        assert_eq!(after.arrival_s, 0.5 * before.arrival_s);
        let mut pairs = before.flows.iter().zip(&after.flows);
        assert!(pairs.all(|(b, a)| (a.src, a.dst) == (b.src % 50, b.dst % 50)));
    }
    let by = |time, size, ports| says(scale(&trace, Scale { time, size, ports }));
    assert_eq!(
        by(1.0, 1.0, Some(151)),
        "ports: expected 1 to 150, the ports of the trace (replicate makes copies for more), \
         found 151"
    );
    assert_eq!(by(0.0, 1.0, None), "time: expected a factor above 0, found 0");
    assert_eq!(by(1.0, f64::NAN, None), "size: expected a factor above 0, found NaN");
    assert!(by(1.0, 1e12, None).starts_with("size: expected flows up to 1e18 bytes, found"));
    assert!(by(1e12, 1.0, None).starts_with("time: expected times up to 1e12 s, found"));
}

#[test]
fn a_burst_arrives_with_its_first_coflow() {
    let trace = hour();
    let made = burst(&trace, 20).unwrap();
    let mut groups = BTreeMap::new();
    for coflow in &made.coflows {
        *groups.entry(coflow.arrival_s.to_bits()).or_insert(0) += 1;
    }
    assert!(groups.values().rev().skip(1).all(|n| n % 20 == 0), "{groups:?}");
    let later = trace.coflows.iter().zip(&made.coflows).all(|(b, a)| a.arrival_s <= b.arrival_s);
    assert!(later);
    let all = burst(&trace, 1000).unwrap();
    assert!(all.coflows.iter().all(|c| c.arrival_s == 0.0));
    assert_eq!(says(burst(&trace, 0)), "group: expected at least 1 coflow, found 0");
}

#[test]
fn a_dag_is_six_copies_with_parents() {
    let flow = Flow { src: 0, dst: 1, bytes: 5.0, start_s: 0.0 };
    let first = Coflow::new("7".to_owned(), 2.0, vec![flow]);
    let second = Coflow { parents: vec![0], ..Coflow::new("8".to_owned(), 3.0, vec![flow]) };
    let workload = Workload::new(2, vec![first, second]);
    let made = dag(&workload, Shape::Query42).unwrap();
    let parents: Vec<_> = made.coflows.iter().map(|c| c.parents.clone()).collect();
    let of = |parents: &[&[u32]]| parents.iter().map(|p| p.to_vec()).collect::<Vec<_>>();
    assert_eq!(parents[..6], of(&[&[], &[], &[0, 1], &[], &[2, 3], &[4]]));
    assert_eq!(parents[6..], of(&[&[5], &[5], &[6, 7], &[5], &[8, 9], &[10]]));
    assert!(made.coflows.iter().all(|c| c.flows == [flow]));
    assert_eq!(made.coflows[8].id, "8.3");
    assert_eq!(made.coflows[8].job.as_deref(), Some("8"));
    let made = dag(&workload, "tao".parse().unwrap()).unwrap();
    let chain: Vec<_> = made.coflows[..6].iter().map(|c| c.parents.clone()).collect();
    assert_eq!(chain, of(&[&[], &[0], &[1], &[2], &[3], &[4]]));
    let unknown = "q1".parse::<Shape>().map_err(|e| e.to_string());
    assert_eq!(unknown, Err("shape: expected q42 or tao, found \"q1\"".to_owned()));
}

/// Shares of each coflow's flows in its waves, as published.
#[test]
fn flows_of_each_coflow_are_dealt_to_waves() {
    let trace = hour();
    let percent = [81.0, 9.0, 4.0, 6.0];
    let how = Waves { max: 4, rate: 125e6, of: WavesOf::Flows, seed: 3 };
    let made = waves(&trace, how).unwrap();
    for (before, after) in trace.coflows.iter().zip(&made.coflows) {
        let mut counts = BTreeMap::new();
        for (b, a) in before.flows.iter().zip(&after.flows) {
            assert_eq!(*a, Flow { start_s: a.start_s, ..*b });
            *counts.entry(a.start_s.to_bits()).or_insert(0) += 1;
        }
        if before.width() >= 100 {
            assert_eq!(counts.len(), 4, "{}", before.id);
            for (count, percent) in counts.values().zip(percent) {
                let expected = percent * before.width() as f64 / 100.0;
                assert!((f64::from(*count) - expected).abs() <= 1.0, "{counts:?}");
            }
        }
        assert!(before.width() > 1 || counts.keys().eq([&0]), "{counts:?}");
    }
    assert_eq!(made, waves(&trace, how).unwrap());
    assert_ne!(made, waves(&trace, Waves { seed: 4, ..how }).unwrap());
    let unknown = "bytes".parse::<WavesOf>().map_err(|e| e.to_string());
    assert_eq!(unknown, Err("of: expected flows or coflows, found \"bytes\"".to_owned()));
}

#[test]
fn a_wave_of_flows_begins_when_the_previous_one_could_be_over() {
    // Ten flows to one port: nine in the first wave.
    let flow = |src| Flow { src, dst: 10, bytes: 2.0, start_s: 1.0 };
    let coflow = Coflow::new("7".to_owned(), 0.0, (0..10).map(flow).collect());
    let workload = Workload::new(11, vec![coflow]);
    let how = Waves { max: 2, rate: 4.0, of: WavesOf::Flows, seed: 1 };
    let made = waves(&workload, how).unwrap();
    let mut starts: Vec<f64> = made.coflows[0].flows.iter().map(|f| f.start_s).collect();
    starts.sort_by(f64::total_cmp);
    assert_eq!((&starts[..9], starts[9]), (&[1.0; 9][..], 5.5));
}

#[test]
fn each_receiver_becomes_a_coflow_of_the_same_job() {
    let flow = |src, dst, start_s| Flow { src, dst, bytes: 1.0, start_s };
    let flows = vec![flow(0, 2, 0.0), flow(0, 1, 3.0), flow(1, 2, 4.0)];
    let first = Coflow {
        weight: 2.0,
        deadline_s: Some(9.0),
        restarts: vec![Restart { flow: 1, at_s: 5.0 }, Restart { flow: 2, at_s: 6.0 }],
        compressible: Compressible { ratio: Some(0.3), flows: vec![(2, 1.0)], off: false },
        ..Coflow::new("7".to_owned(), 1.0, flows)
    };
    let second = Coflow {
        job: Some("j".to_owned()),
        tenant: Some("etl".to_owned()),
        parents: vec![0],
        ..Coflow::new("8".to_owned(), 2.0, vec![flow(0, 0, 0.0), flow(0, 1, 0.0)])
    };
    let workload = Workload::new(3, vec![first, second]);
    let made = split_receivers(&workload).unwrap().coflows;
    let ids: Vec<&str> = made.iter().map(|c| c.id.as_str()).collect();
    assert_eq!(ids, ["7.r0", "7.r1", "8.r0", "8.r1"]);
    assert_eq!(made[0].flows, [flow(0, 2, 0.0), flow(1, 2, 4.0)]);
    assert_eq!(made[0].restarts, [Restart { flow: 1, at_s: 6.0 }]);
    assert_eq!(made[1].restarts, [Restart { flow: 0, at_s: 5.0 }]);
    assert_eq!([0, 1].map(|flow| made[0].compressible.ratio_of(flow)), [Some(0.3), Some(1.0)]);
    assert_eq!(made[1].compressible.ratio_of(0), Some(0.3));
    assert_eq!(made[1].flows, [flow(0, 1, 3.0)]);
    let of = |c: &Coflow| (c.arrival_s, c.weight, c.deadline_s);
    assert!(made[..2].iter().all(|c| of(c) == (1.0, 2.0, Some(9.0))));
    let jobs: Vec<_> = made.iter().filter_map(|c| c.job.as_deref()).collect();
    assert_eq!(jobs, ["7", "7", "j", "j"]);
    let tenants: Vec<_> = made.iter().map(|c| c.tenant.as_deref()).collect();
    assert_eq!(tenants, [None, None, Some("etl"), Some("etl")]);
    assert!(made[..2].iter().all(|c| c.parents.is_empty()));
    assert!(made[2..].iter().all(|c| c.parents == [0, 1]));
}

#[test]
fn names_of_receivers_stay_different() {
    let flow = Flow { src: 0, dst: 1, bytes: 1.0, start_s: 0.0 };
    let coflow = |id: &str| Coflow::new(id.to_owned(), 0.0, vec![flow]);
    let twice = Workload::new(2, vec![coflow("a"), coflow("a")]);
    assert_eq!(
        says(split_receivers(&twice)),
        "split-receivers: expected names that stay different, found two a.r0"
    );
    let long = Workload::new(2, vec![coflow(&"x".repeat(1023))]);
    let expected = "split-receivers: expected names up to 1024 bytes, found 1026";
    assert_eq!(says(split_receivers(&long)), expected);
}

#[facebook_test]
fn a_hundred_and_ninety_two_coflows_have_several_receivers() {
    let trace = facebook();
    let made = split_receivers(&trace).unwrap();
    let mut parts = BTreeMap::new();
    for coflow in &made.coflows {
        assert!(coflow.flows.iter().all(|f| f.dst == coflow.flows[0].dst));
        *parts.entry(coflow.job.clone().unwrap()).or_insert(0) += 1;
    }
    assert_eq!((parts.len(), parts.values().filter(|n| **n > 1).count()), (526, 192));
    assert_eq!((made.num_flows(), made.bytes()), (trace.num_flows(), trace.bytes()));
}

/// Tenants a and b, of whom a has three quarters.
fn three_to_one(by: TenantsBy, seed: u64) -> Tenants {
    let shares = TenantWeights::parse("a=3,b=1").expect("shares");
    Tenants { shares, by, seed }
}

/// How many of these belong to tenant a.
fn of_a<'a>(coflows: impl IntoIterator<Item = &'a Coflow>) -> usize {
    coflows.into_iter().filter(|coflow| coflow.tenant.as_deref() == Some("a")).count()
}

#[test]
fn coflows_are_dealt_to_tenants_by_shares_and_nothing_else_changes() {
    let hour = hour();
    let made = tenants(&hour, &three_to_one(TenantsBy::Coflow, 1)).unwrap();
    let of_b = made.coflows.len() - of_a(&made.coflows);
    assert!(made.coflows.iter().all(|coflow| coflow.tenant.is_some()));
    // 526 draws of 1 in 4: within four standard deviations.
    assert!((92..=171).contains(&of_b), "{of_b}");
    let again = tenants(&made, &three_to_one(TenantsBy::Coflow, 1)).unwrap();
    assert_eq!(again, made, "the same seed, and tenants before do not count");
    assert_ne!(tenants(&hour, &three_to_one(TenantsBy::Coflow, 2)).unwrap(), made);
    let mut without = made.clone();
    without.coflows.iter_mut().for_each(|coflow| coflow.tenant = None);
    assert_eq!(without, hour);
    let says_changes = Changes::between(&hour, &made).to_string();
    let expected = format!(", {} coflows of a, {of_b} coflows of b", made.coflows.len() - of_b);
    assert!(says_changes.ends_with(&expected), "{says_changes}");
}

#[test]
fn a_job_is_of_one_tenant() {
    let hour = hour();
    let jobs = dag(&hour, Shape::Query42).unwrap();
    let made = tenants(&jobs, &three_to_one(TenantsBy::Job, 1)).unwrap();
    let mut of_job: BTreeMap<&str, &str> = BTreeMap::new();
    for coflow in &made.coflows {
        let tenant = coflow.tenant.as_deref().unwrap();
        assert_eq!(*of_job.entry(coflow.job.as_deref().unwrap()).or_insert(tenant), tenant);
    }
    let of_b = of_job.values().filter(|tenant| **tenant == "b").count();
    assert!(of_job.len() == 526 && (92..=171).contains(&of_b), "{of_b}");
    // By coflow, jobs are of several.
    let mixed = tenants(&jobs, &three_to_one(TenantsBy::Coflow, 1)).unwrap();
    let split = |job: &[Coflow]| ![0, job.len()].contains(&of_a(job));
    assert!(mixed.coflows.chunks(6).filter(|job| split(job)).count() > 250);
    // A coflow without a job is a job.
    let by = |by| tenants(&hour, &three_to_one(by, 1)).unwrap();
    assert_eq!(by(TenantsBy::Job), by(TenantsBy::Coflow));
}

#[test]
fn a_coflow_is_split_among_tenants_by_flows() {
    let hour = hour();
    let made = tenants(&hour, &three_to_one(TenantsBy::Split, 1)).unwrap();
    assert_eq!(made.num_flows(), hour.num_flows());
    assert!(close(made.bytes(), hour.bytes()));
    let flows_of_b: usize = (made.coflows.iter())
        .filter(|coflow| coflow.tenant.as_deref() == Some("b"))
        .map(Coflow::width)
        .sum();
    let part = flows_of_b as f64 / made.num_flows() as f64;
    assert!((part - 0.25).abs() < 0.01, "{part}");
    let mut wide = 0;
    for coflow in &hour.coflows {
        let parts = made.coflows.iter().filter(|part| part.job.as_ref() == Some(&coflow.id));
        let parts: Vec<&Coflow> = parts.collect();
        assert_eq!(parts.iter().map(|part| part.width()).sum::<usize>(), coflow.width());
        for part in &parts {
            let tenant = part.tenant.as_deref().unwrap();
            assert_eq!(part.id, format!("{}.{tenant}", coflow.id));
            assert_eq!(part.arrival_s, coflow.arrival_s);
        }
        wide += usize::from(parts.len() == 2);
    }
    assert!(wide > 200, "{wide}");
}

#[test]
fn tenants_that_cannot_be_dealt_are_refused() {
    let none = Tenants::default();
    assert_eq!(says(tenants(&hour(), &none)), "shares: expected at least one tenant, found none");
    let by = "users".parse::<TenantsBy>().map_err(|error| error.to_string());
    assert_eq!(by, Err("by: expected job, coflow or split, found \"users\"".to_owned()));
}

/// Stream's text has 85 % of coflows below 1 GB and 8 % above 10 GB, in the trace that it had: here
/// 80 and 10.
#[facebook_test]
fn classes_of_stream_on_facebook() {
    let trace = facebook();
    let count = |table| {
        SizeClass::ALL.map(|class| {
            let is_in = |c: &&Coflow| SizeClass::of(c.size_bytes(), table) == class;
            trace.coflows.iter().filter(is_in).count()
        })
    };
    assert_eq!(count(SizeTable::ManyToOne), [360, 60, 51, 34, 21]);
    assert_eq!(count(SizeTable::ManyToMany), [420, 51, 34, 10, 11]);
}

#[test]
fn coflowsim_makes_eight_coflows() {
    let custom = builtin("coflowsim-custom").unwrap();
    assert_eq!((custom.ports, custom.coflows.len()), (100, 8));
    let widths: Vec<_> = custom.coflows.iter().map(Coflow::width).collect();
    let mb: Vec<_> = custom.coflows.iter().map(|c| c.size_bytes() / MB).collect();
    assert_eq!(widths, [12, 5, 12, 2, 12, 3, 840, 1508]);
    assert_eq!(mb, [51.0, 21.0, 84.0, 8.0, 3816.0, 2488.0, 439_600.0, 808_375.0]);
    assert!(custom.coflows.iter().all(|c| c.arrival_s == 0.0));
    assert_eq!(custom, builtin("coflowsim-custom:seed=13,jobs=10,ports=100").unwrap());
    assert_ne!(custom, builtin("coflowsim-custom:seed=14").unwrap());
    assert_eq!(builtin("coflowsim-custom:jobs=100").unwrap().coflows.len(), 100);
    let error = builtin("coflowsim-custom:ports=99").map_err(|e| e.to_string());
    let expected =
        "builtin:coflowsim-custom: ports: expected a number from 100 to 1000, found \"99\"";
    assert_eq!(error, Err(expected.to_owned()));
}

#[test]
fn changes_are_summarised_in_a_line() {
    let trace = hour();
    let wide = filter(&trace, Filter { min_width: Some(8), min_skew: None }).unwrap();
    let text = Changes::between(&trace, &wide).to_string();
    let out = trace.coflows.len() - wide.coflows.len();
    let start = format!("{} coflows, {} flows, ", wide.coflows.len(), wide.num_flows());
    assert!(text.starts_with(&start), "{text}");
    assert!(text.ends_with(&format!(" on 150 ports; {out} coflows left out")), "{text}");
    let made = waves(&trace, Waves { max: 4, rate: 125e6, of: WavesOf::Coflows, seed: 1 }).unwrap();
    let text = Changes::between(&trace, &made).to_string();
    assert!(text.ends_with("; 47 coflows with 2 waves, 21 with 3, 32 with 4 or more"), "{text}");
    let jobs = dag(&trace, Shape::Tao).unwrap();
    let text = Changes::between(&trace, &jobs).to_string();
    assert!(text.ends_with("on 150 ports, 526 jobs"), "{text}");
}
