//! Tenants who share the network, under every policy.

use covey_core::{Fabric, SplitMix, TenantId, for_each_tenant};
use covey_sim::Simulator;
use covey_trace::results::Outcome;
use covey_trace::{Coflow, Flow, Workload};
use proptest::prelude::*;
use proptest::test_runner::RngSeed;

use crate::common::{COMPRESSED, Kind, cases, fabric, flow, policies, policy, run, workload};

/// Simulates under an instance of a policy for each tenant.
fn divided(
    workload: &Workload,
    fabric: &Fabric,
    spec: &'static str,
    weights: &[f64],
    tenants: &[u32],
) -> Outcome {
    let make = move || policy(spec);
    let made = for_each_tenant(weights.to_vec(), make);
    let mut policy = made.unwrap_or_else(|_| panic!("{spec} sees coflows"));
    let tenants = tenants.iter().copied().map(TenantId).collect();
    let mut simulator = Simulator::new(fabric.clone()).with_tenants(tenants);
    let outcome = simulator.run(workload, spec, &mut policy, &mut ());
    outcome.unwrap_or_else(|error| panic!("{error}"))
}

fn ccts(outcome: &Outcome) -> Vec<f64> {
    outcome.coflows.iter().map(|coflow| coflow.cct_s()).collect()
}

/// All policies that can serve tenants.
fn labelled() -> impl Iterator<Item = &'static str> {
    let is_able = |spec: &&str| *spec != "fifo-flow" && !policy(spec).wants().regroups;
    policies().chain(COMPRESSED).filter(is_able)
}

fn coflow(id: &str, arrival_s: f64, flows: &[(u32, u32, f64)]) -> Coflow {
    let flows = flows.iter().map(|&(src, dst, bytes)| flow(src, dst, bytes)).collect();
    Coflow::new(id.to_owned(), arrival_s, flows)
}

#[test]
fn a_tenant_has_its_part_of_a_link_until_the_other_leaves() {
    // Both tenants send out of port 0: 3/4 and 1/4 byte/s, until the first has sent 3 bytes.
    let a = coflow("a", 0.0, &[(0, 1, 3.0)]);
    let b = [coflow("b", 0.0, &[(0, 2, 2.0)]), coflow("c", 1.0, &[(0, 3, 1.0)])];
    let [b, c] = b;
    let workload = Workload::new(4, vec![a, b, c]);
    let fabric = Fabric::big_switch(4, 1.0).unwrap();
    let outcome = divided(&workload, &fabric, "fifo", &[3.0, 1.0], &[0, 1, 1]);
    assert_eq!(ccts(&outcome), [4.0, 5.0, 5.0]);
    let outcome = divided(&workload, &fabric, "fair", &[3.0, 1.0], &[0, 1, 1]);
    // b has 1/4 until 1, then b and c have 1/8 each until 4, then 1/2: c has 5/8 left, b 11/8.
    assert_eq!(ccts(&outcome), [4.0, 6.0, 4.25]);
}

#[test]
fn a_policy_that_does_not_see_coflows_cannot_tell_tenants() {
    for spec in ["coda", "coda:labels=true"] {
        assert!(for_each_tenant(vec![1.0], || policy(spec)).is_err());
    }
}

#[test]
fn starts_of_flows_are_not_known() {
    let workload = Workload::new(2, vec![coflow("a", 0.0, &[(0, 1, 3.0)])]);
    let mut policy =
        for_each_tenant(vec![1.0], || policy("fifo-flow")).unwrap_or_else(|_| panic!());
    let fabric = Fabric::big_switch(2, 1.0).unwrap();
    let error = Simulator::new(fabric).run(&workload, "fifo-flow", &mut policy, &mut ());
    let error = error.unwrap_err().to_string();
    assert!(error.contains("fifo serves coflows in order"), "{error}");
}

/// Parts of a coflow, a coflow each: every flow is cut into as many.
fn split(coflow: &Coflow, parts: usize) -> impl Iterator<Item = Coflow> {
    let part = |f: &Flow| Flow { bytes: f.bytes / parts as f64, ..*f };
    let flows: Vec<Flow> = coflow.flows.iter().map(part).collect();
    let (id, arrival_s) = (coflow.id.clone(), coflow.arrival_s);
    (0..parts).map(move |k| Coflow::new(format!("{id}.{k}"), arrival_s, flows.clone()))
}

/// Another tenant splits each coflow into fifty. It sends from ports of its own, so that it can
/// always use what it is offered of the ports at which both receive.
#[test]
fn who_splits_coflows_takes_nothing_from_others() {
    let honest = [
        coflow("a", 0.0, &[(0, 4, 3.0), (1, 5, 1.0)]),
        coflow("b", 0.5, &[(0, 5, 2.0)]),
        coflow("c", 0.75, &[(1, 4, 4.0), (1, 5, 0.5), (0, 4, 1.0)]),
    ];
    let hostile = coflow("x", 0.25, &[(2, 4, 60.0), (3, 5, 60.0)]);
    let fabric = Fabric::big_switch(6, 1.0).unwrap();
    let mut once = honest.to_vec();
    once.push(hostile.clone());
    let mut often = honest.to_vec();
    often.extend(split(&hostile, 50));
    // Others leave a part idle that depends on how flows are grouped. The processors that compress
    // are not divided.
    let conserves = |spec: &&str| {
        let built = covey_sched::build(spec).unwrap();
        built.promises.conserves_work && built.compression.is_none()
    };
    for spec in labelled().filter(conserves) {
        let of = |coflows: &[Coflow]| {
            let tenants: Vec<u32> = (0..coflows.len()).map(|k| u32::from(k > 2)).collect();
            let workload = Workload::new(6, coflows.to_vec());
            let outcome = divided(&workload, &fabric, spec, &[1.0, 2.0], &tenants);
            ccts(&outcome)[..3].to_vec()
        };
        let (once, often) = (of(&once), of(&often));
        for (once, often) in once.iter().zip(&often) {
            assert!((once - often).abs() <= 1e-6 * once, "{spec}: {once} {often}");
        }
    }
}

/// The mean completion time of a tenant's coflows is at most a tenth above what it would be with
/// its part of each link alone, though the other tenant has forty times as many coflows at all
/// links.
#[test]
fn a_tenant_beside_a_hostile_one_is_as_fast_as_with_its_part_alone() {
    let mut random = SplitMix::new(7);
    let mut below = |n: u32| (random.next_u64() % u64::from(n)) as u32;
    let honest: Vec<Coflow> = (0..12)
        .map(|k| {
            let flows: Vec<(u32, u32, f64)> = (0..1 + below(8))
                .map(|_| (below(6), below(6), 0.5 + f64::from(below(64)) / 8.0))
                .collect();
            coflow(&format!("a{k}"), f64::from(k) * 1.5, &flows)
        })
        .collect();
    let all_links: Vec<(u32, u32, f64)> = (0..6).map(|port| (port, (port + 1) % 6, 8.0)).collect();
    let hostile = coflow("x", 0.0, &all_links);
    let mut coflows = honest.clone();
    coflows.extend((0..480).map(|k| Coflow { id: format!("x{k}"), ..hostile.clone() }));
    let tenants: Vec<u32> = (0..coflows.len()).map(|k| u32::from(k >= honest.len())).collect();
    let (alone, both) = (Workload::new(6, honest), Workload::new(6, coflows));
    let half = Fabric::big_switch(6, 0.5).unwrap();
    let whole = Fabric::big_switch(6, 1.0).unwrap();
    let mean = |ccts: &[f64]| ccts.iter().sum::<f64>() / ccts.len() as f64;
    for spec in ["covey", "sebf", "aalo", "philae", "fair", "saath", "fifo"] {
        let alone = mean(&ccts(&run(&alone, &half, spec)));
        let outcome = divided(&both, &whole, spec, &[1.0, 1.0], &tenants);
        let beside = mean(&ccts(&outcome)[..12]);
        assert!(beside <= 1.1 * alone, "{spec}: {beside} s instead of {alone} s");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { rng_seed: RngSeed::Fixed(1), ..cases(15) })]

    /// A tenant who is alone has the whole network, and its policy decides as without tenants.
    #[test]
    fn one_tenant_alone_has_everything(
        workload in workload(Kind::Generic),
        fabric in fabric(),
        weight in 0.1..9.0,
    ) {
        let tenants = vec![0; workload.coflows.len()];
        // Flows that are compressed while they are sent keep their rates between rounds, instead of
        // their proportions. Which flow of a coflow the backfill of saath serves depends on earlier
        // rounds.
        let differs = |spec: &&str| {
            spec.contains("overlap=true") || spec.contains("work_conservation=all")
        };
        for spec in labelled().filter(|spec| !differs(spec)) {
            let alone = run(&workload, &fabric, spec);
            let divided = divided(&workload, &fabric, spec, &[weight], &tenants);
            for (a, b) in ccts(&alone).iter().zip(ccts(&divided)) {
                prop_assert!((a - b).abs() <= 1e-6 * a.max(1.0), "{spec}: {a} {b}");
            }
        }
    }
}
