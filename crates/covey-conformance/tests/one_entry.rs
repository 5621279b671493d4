//! A flow that two entries of a plan name gets what both give. No built-in policy makes use of that
//! under strict layers: what its first entry gives to a flow fills a link of the flow.

use std::collections::BTreeMap;
use std::ops::ControlFlow;

use covey_conformance::{Kind, fabric, fabric_with_inner_links, flow, workload};
use covey_core::{Answer, AnyPolicy, Fabric, Group, NonClairvoyant, Plan, Policy, Share, View};
use covey_sim::{Observer, Round};
use covey_trace::{Coflow, Workload};
use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::TestRunner;

/// Counts flows that have a rate from more than one entry.
#[derive(Default)]
struct Twice {
    found: usize,
}

impl Observer for Twice {
    fn round(&mut self, round: &Round<'_>) -> ControlFlow<()> {
        if round.allocator.is_flow_level() {
            return ControlFlow::Continue(());
        }
        for &id in round.state.present() {
            let coflow = round.state.coflow(id);
            let allocation = round.allocator.allocation(id);
            let mut rates: Vec<(u32, f64)> =
                allocation.single_rates().map(|one| (one.position, one.rate)).collect();
            rates.retain(|(_, rate)| *rate > 0.0);
            rates.sort_by_key(|(position, _)| *position);
            self.found += rates.windows(2).filter(|two| two[0].0 == two[1].0).count();
            for &(position, rate) in &rates {
                let all = allocation.rate(coflow, position as usize);
                self.found += usize::from(all > rate * (1.0 + 1e-9));
            }
        }
        ControlFlow::Continue(())
    }
}

fn flows_with_two_rates(policy: &mut AnyPolicy, workload: &Workload, fabric: &Fabric) -> usize {
    let mut twice = Twice::default();
    covey_sim::simulate(workload, fabric, "", policy, &mut twice).unwrap();
    twice.found
}

/// Gives every coflow a quarter of a byte per second for its first flow, and then what is free.
struct QuarterFirst;

impl Policy<NonClairvoyant> for QuarterFirst {
    fn plan(&mut self, view: &View<'_, NonClairvoyant>, plan: &mut Plan<NonClairvoyant>) -> Answer {
        plan.clear();
        for &coflow in view.coflows() {
            let first = covey_core::FlowId { coflow, index: 0 };
            plan.push(Group::Flow(first), Share::rate(0.25));
            plan.push(Group::Coflow(coflow), Share::MAX_MIN);
        }
        Answer::Replaced
    }
}

#[test]
fn two_entries_give_a_flow_the_sum() {
    let coflow = Coflow::new("a".into(), 0.0, vec![flow(0, 1, 4.0)]);
    let workload = Workload::new(2, vec![coflow]);
    let fabric = Fabric::big_switch(2, 1.0).unwrap();
    let mut policy = AnyPolicy::NonClairvoyant(Box::new(QuarterFirst));
    assert_eq!(flows_with_two_rates(&mut policy, &workload, &fabric), 1);
    let mut policy = AnyPolicy::NonClairvoyant(Box::new(QuarterFirst));
    let outcome = covey_sim::simulate(&workload, &fabric, "", &mut policy, &mut ()).unwrap();
    assert_eq!(outcome.coflows[0].cct_s(), 4.0);
}

#[test]
fn no_policy_gives_a_flow_the_rates_of_two_entries() {
    let mut runner = TestRunner::deterministic();
    let mut counts = BTreeMap::new();
    for _ in 0..12 {
        let workload = workload(Kind::Generic).new_tree(&mut runner).unwrap().current();
        let switch = fabric().new_tree(&mut runner).unwrap().current();
        let paths = fabric_with_inner_links().new_tree(&mut runner).unwrap().current();
        for info in covey_sched::policies() {
            for fabric in [&switch, &paths] {
                let mut built = covey_sched::build(info.name).unwrap();
                *counts.entry(info.name).or_insert(0) +=
                    flows_with_two_rates(&mut built.policy, &workload, fabric);
            }
        }
    }
    counts.retain(|_, found| *found > 0);
    assert!(counts.is_empty(), "{counts:?}");
}
