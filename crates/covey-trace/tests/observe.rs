//! Flows as a collector sees them, and the ladder.

use std::collections::{BTreeMap, BTreeSet};

use covey_facebook_test::facebook_test;
use covey_identify::{Address, Algorithm, Metric, accuracy, identify};
use covey_trace::observe::{Appearance, Framework, LADDER, Labelled, observe};
use covey_trace::{Workload, builtin};

use crate::facebook::facebook;

fn small() -> Workload {
    builtin("fb-like:seed=3,coflows=60").expect("parameters in range")
}

fn appear(framework: Framework) -> Labelled {
    let frameworks = &[framework];
    observe(&small(), &Appearance { frameworks, applications: 3, noise_s: 0.05, seed: 9 })
}

#[test]
fn a_spark_executor_listens_at_one_port_and_keeps_its_connections() {
    let labelled = appear(Framework::Spark);
    let mut ports = BTreeMap::<Address, BTreeSet<u16>>::new();
    let mut clients = BTreeMap::<(Address, u16, Address), BTreeSet<u16>>::new();
    for flow in &labelled.flows {
        ports.entry(flow.src).or_default().insert(flow.sport);
        clients.entry((flow.src, flow.sport, flow.dst)).or_default().insert(flow.dport);
    }
    assert!(ports.values().all(|ports| ports.len() <= 3), "one for each application");
    assert!(clients.values().all(|ports| ports.len() == 1));
    assert!(labelled.flows.iter().all(|flow| flow.sport >= 32_768 && flow.dport >= 32_768));
}

#[test]
fn hadoop_serves_all_jobs_at_one_port() {
    assert!(appear(Framework::Hadoop).flows.iter().all(|flow| flow.sport == 13_562));
}

#[test]
fn ranks_of_training_jobs_listen_and_send_in_their_range() {
    let labelled = appear(Framework::Collective);
    let range = 50_000..=51_000;
    let mut ports = BTreeMap::<Address, BTreeSet<u16>>::new();
    for flow in &labelled.flows {
        assert!(range.contains(&flow.sport) && range.contains(&flow.dport));
        ports.entry(flow.dst).or_default().insert(flow.dport);
    }
    assert!(ports.values().all(|ports| ports.len() <= 3), "one for each job");
}

#[test]
fn a_seed_gives_the_same_flows_in_order_of_start() {
    for rung in LADDER {
        let labelled = rung.flows(&small(), 4).expect("a rung of the ladder");
        assert_eq!(labelled, rung.flows(&small(), 4).expect("a rung of the ladder"));
        assert_eq!(labelled.flows.len(), small().num_flows());
        assert!(labelled.flows.is_sorted_by(|a, b| a.start_s <= b.start_s));
    }
}

/// Without noise starts alone suffice; the default may not spoil that.
#[facebook_test]
fn the_default_metric_finds_the_coflows_of_the_trace_as_it_is() {
    let labelled = LADDER[0].flows(&facebook(), 1).expect("a rung of the ladder");
    let groups = identify(&labelled.flows, &Metric::default(), Algorithm::DEFAULT);
    let found = accuracy(&groups, &labelled.coflows);
    for found in [found.per_flow, found.per_coflow] {
        assert!(found.precision >= 0.99 && found.recall >= 0.99, "{found:?}");
    }
}

#[test]
fn a_dense_mix_with_noise_is_identified_well() {
    let rung = LADDER.iter().find(|rung| rung.name == "mixed-denser").expect("a rung");
    let workload = builtin("fb-like:seed=2").expect("parameters in range");
    let labelled = rung.flows(&workload, 2).expect("a rung of the ladder");
    let groups = identify(&labelled.flows, &Metric::default(), Algorithm::DEFAULT);
    let found = accuracy(&groups, &labelled.coflows);
    assert!(found.per_flow.f1() >= 0.85 && found.per_coflow.f1() >= 0.85, "{found:?}");
}

/// Collectors often round starts.
#[test]
fn rounded_starts_are_identified_as_well() {
    let rung = LADDER.iter().find(|rung| rung.name == "mixed-denser").expect("a rung");
    let workload = builtin("fb-like:seed=2").expect("parameters in range");
    let mut labelled = rung.flows(&workload, 2).expect("a rung of the ladder");
    for flow in &mut labelled.flows {
        flow.start_s = (1e3 * flow.start_s).round() * 1e-3;
    }
    let groups = identify(&labelled.flows, &Metric::default(), Algorithm::DEFAULT);
    let found = accuracy(&groups, &labelled.coflows);
    assert!(found.per_flow.f1() >= 0.85 && found.per_coflow.f1() >= 0.85, "{found:?}");
}
