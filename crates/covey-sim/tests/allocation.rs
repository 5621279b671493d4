//! After a first run, a simulator and a policy allocate no new memory.
//!
//! A second run of the same workload on the same [`Simulator`] and the same policy object may
//! allocate only two things. One is its [`Outcome`](covey_trace::results::Outcome), three vectors
//! that it gives away. The other is its plan, whose three lists begin empty and double from 4 as
//! they grow. So the number of allocations depends on the maximum number of coflows present at
//! once, and not on the length of the run. A plan's sorted lists are in blocks, and how full these
//! are depends on what came and went before: a longer run of `stream` may need one or two more.

mod common;
mod counting;

use std::hint::black_box;

use common::{COMPRESSED, flow, policies, policy};
use counting::allocations;
use covey_core::Fabric;
use covey_sim::Simulator;
use covey_trace::{Coflow, Workload};

/// Seconds after which sixty shuffles have ended under every policy.
const OVER_S: f64 = 2000.0;

/// Blocks that a longer run of `stream` may need, which waits for bytes at thousands of links.
const BLOCKS: usize = 2;

/// `times` times sixty shuffles of up to 7 x 5 flows on 12 ports. Many of them are present at once.
fn busy(times: u32) -> Workload {
    let coflow = |number: u32| {
        let c = number % 60;
        let pairs = (0..=c % 7).flat_map(|s| (0..=c % 5).map(move |r| (s, r)));
        let flows = pairs.map(|(s, r)| {
            let bytes = f64::from(1 + (c * 7 + s * 3 + r * 11) % 13);
            flow((c * 5 + s) % 12, (c * 7 + r) % 12, bytes)
        });
        let arrival_s = f64::from(c) + f64::from(number / 60) * OVER_S;
        Coflow::new(number.to_string(), arrival_s, flows.collect())
    };
    Workload::new(12, (0..60 * times).map(coflow).collect())
}

/// Allocations of a second run.
fn in_second_run(workload: &Workload, spec: &str) -> usize {
    let mut simulator = Simulator::new(Fabric::big_switch(workload.ports, 1.0).unwrap());
    let mut policy = policy(spec);
    let mut run = || {
        let outcome = simulator.run(workload, spec, &mut policy, &mut ()).unwrap();
        assert!(outcome.coflows[59].completion_s < OVER_S);
    };
    run();
    allocations(run)
}

#[test]
fn the_counter_counts() {
    assert_eq!(allocations(|| drop(black_box(Box::new(1)))), 1);
    let mut grows = Vec::with_capacity(1);
    assert_eq!(allocations(|| grows.extend([1, 2, 3])), 1);
}

#[test]
fn a_second_run_allocates_its_outcome_and_its_plan() {
    // Sixty coflows, each named twice at most, with few pilots each: lists of 4, 8, 16, ... 256
    // entries. Three lists have entries, three wake-ups.
    let (outcome, plan) = (3, 6 * 7);
    let specs = policies().chain(COMPRESSED);
    // A policy's random numbers go on from run to run, so the second run differs from the first.
    // A policy that puts flows into groups of its own writes lists of flows.
    let has_lists = |spec: &str| policy(spec).wants().regroups;
    for spec in specs.filter(|spec| !spec.contains("random") && !has_lists(spec)) {
        let [once, thrice] = [1, 3].map(|times| in_second_run(&busy(times), spec));
        assert!(once <= outcome + plan, "{spec}: {once} allocations");
        let blocks = if spec.starts_with("stream") { BLOCKS } else { 0 };
        let expected = once..=once + blocks;
        assert!(expected.contains(&thrice), "{spec}: {once} allocations, in a longer run {thrice}");
    }
}
