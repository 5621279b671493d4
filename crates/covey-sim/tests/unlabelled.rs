//! Policies that see flows without coflows, and those that put flows into groups of their own.

use std::collections::BTreeMap;

use covey_core::{
    Answer, AnyPolicy, CoflowId, Destination, Fabric, FlowId, Group, Lineage, Member, OwnGroup,
    Plan, Policy, Regrouping, Share, SplitMix, Unlabelled, View, Wants,
};
use covey_trace::{Coflow, Flow, Restart, Workload};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::Index;

use crate::common::{Kind, cases, ccts, fabric, facebook, flow, run, workload};
use covey_facebook_test::facebook_test;

/// Flows to one receiver are a group. The group with most unfinished flows goes first.
#[derive(Default)]
struct ByReceiver {
    groups: BTreeMap<String, Destination>,
    begun: Vec<String>,
    next: u32,
}

impl Policy<Unlabelled> for ByReceiver {
    fn wants(&self) -> Wants {
        Wants { regroups: true, ..Wants::default() }
    }

    fn coflow_ended(&mut self, group: CoflowId, _: &View<'_, Unlabelled>) {
        self.groups.retain(|_, known| *known != Destination::Coflow(group));
    }

    fn regroup(&mut self, view: &View<'_, Unlabelled>, regrouping: &mut Regrouping) {
        for (number, seen) in view.newcomers() {
            let receiver = seen.dst.to_string();
            let group = *self.groups.entry(receiver.clone()).or_insert_with(|| {
                self.next += 1;
                let lineage = Lineage { external: self.next.into(), internal: 0 };
                let group = OwnGroup { number: self.next, arrival: view.now(), lineage };
                regrouping.begin(group)
            });
            self.begun.push(receiver);
            regrouping.put(Member::Newcomer(number), group);
        }
    }

    fn regrouped(&mut self, flows: &[FlowId], _: &View<'_, Unlabelled>) {
        for (flow, receiver) in flows.iter().zip(self.begun.drain(..)) {
            self.groups.insert(receiver, Destination::Coflow(flow.coflow));
        }
    }

    fn plan(&mut self, view: &View<'_, Unlabelled>, plan: &mut Plan<Unlabelled>) -> Answer {
        let mut groups = view.coflows().to_vec();
        groups.sort_by_key(|&group| std::cmp::Reverse(view.unfinished(group)));
        plan.clear();
        groups.iter().for_each(|&group| plan.push(Group::Coflow(group), Share::MAX_MIN));
        Answer::Replaced
    }
}

#[test]
fn a_policy_of_ones_own_groups_flows_by_receiver() {
    // Two flows to port 2 and one to port 3, of which one shares a sender; none says to which
    // coflow it belongs.
    let mixed = Coflow::new("mixed".to_owned(), 0.0, vec![flow(0, 2, 1.0), flow(0, 3, 1.0)]);
    let other = Coflow::new("other".to_owned(), 0.0, vec![flow(1, 2, 1.0)]);
    let workload = Workload::new(4, vec![mixed, other]);
    let mut policy = AnyPolicy::Unlabelled(Box::new(ByReceiver::default()));
    let fabric = Fabric::big_switch(4, 1.0).expect("a fabric");
    let outcome = covey_sim::simulate(&workload, &fabric, "own", &mut policy, &mut ());
    let outcome = outcome.unwrap_or_else(|error| panic!("{error}"));
    // Port 2 is shared until 2; sender 0 has half of its link left for port 3, and nothing is left
    // there at 2.
    assert_eq!(outcome.flow_completion_s, [2.0, 2.0, 2.0]);
    assert_eq!(ccts(&outcome), [2.0, 2.0]);
}

#[test]
fn a_flow_that_is_never_put_anywhere_is_reported() {
    struct Nowhere;
    impl Policy<Unlabelled> for Nowhere {
        fn wants(&self) -> Wants {
            Wants { regroups: true, ..Wants::default() }
        }

        fn plan(&mut self, _: &View<'_, Unlabelled>, _: &mut Plan<Unlabelled>) -> Answer {
            Answer::Unchanged
        }
    }
    let coflow = Coflow::new("left".to_owned(), 0.0, vec![flow(0, 1, 1.0)]);
    let workload = Workload::new(2, vec![coflow]);
    let fabric = Fabric::big_switch(2, 1.0).expect("a fabric");
    let mut policy = AnyPolicy::Unlabelled(Box::new(Nowhere));
    let result = covey_sim::simulate(&workload, &fabric, "nowhere", &mut policy, &mut ());
    let error = result.expect_err("nothing is sent").to_string();
    assert!(error.contains("'left' has work left and is never served again"), "{error}");
}

/// Flow queues with limits that random workloads reach.
const INNER: &str = "coda:labels=true,q1=2B,E=2,K=4,flow_q1=0.5B,delta=0";

proptest! {
    #![proptest_config(cases(200))]

    /// With labels and without an order inside, CODA is Aalo with strict queues.
    #[test]
    fn with_labels_and_without_inner_order_coda_is_aalo(workload in workload(Kind::Generic), fabric in fabric()) {
        for delta in ["0", "300ms"] {
            let queues = format!("q1=2B,E=2,K=4,delta={delta}");
            let aalo = run(&workload, &fabric, &format!("aalo:queues=strict,{queues}"));
            let coda = run(&workload, &fabric, &format!("coda:labels=true,inner=false,{queues}"));
            prop_assert_eq!(aalo.flow_completion_s, coda.flow_completion_s);
        }
    }

    /// Whatever is found, each flow sends all its bytes, at most as fast as its links allow, and is
    /// sent anew where it has to begin again; the ports are never idle for ever.
    #[test]
    fn all_flows_end_whatever_is_found(
        mut workload in workload(Kind::Ties),
        fabric in fabric(),
        spec in prop_oneof![
            Just(INNER),
            Just("coda:q1=2B,E=2,K=4,flow_q1=0.5B,delta=0"),
            Just("coda:q1=2B,E=2,K=4,flow_q1=0.5B,d=3,delta=200ms"),
            Just("coda:q1=1B,E=3,K=3,flow_q1=1B,eps=0.3,tau=0,d=2,queues=weighted,delta=0"),
            Just("coda:q1=1B,E=3,K=3,late=false,inner=false"),
            Just("coda:confidence=1,q1=2B,E=2,K=4,flow_q1=0.5B,d=3,delta=200ms"),
        ],
        restarts in vec((any::<Index>(), any::<Index>(), 0.0..9.0), 1..6),
    ) {
        for (coflow, flow, at_s) in restarts {
            let number = coflow.index(workload.coflows.len());
            let coflow = &mut workload.coflows[number];
            let flow = flow.index(coflow.flows.len()) as u32;
            coflow.restarts.push(Restart { flow, at_s });
        }
        let outcome = run(&workload, &fabric, spec);
        let capacity = fabric.capacity().iter().copied().fold(0.0, f64::max);
        let flows = workload.coflows.iter().flat_map(|coflow| &coflow.flows);
        let times = outcome.flow_completion_s.iter().zip(&outcome.flow_start_s);
        for (flow, (end, start)) in flows.zip(times) {
            prop_assert!(end.is_finite());
            prop_assert!(end - start >= flow.bytes / capacity - 1e-6, "{flow:?}: {start} to {end}");
        }
        for (coflow, out) in workload.coflows.iter().zip(&outcome.coflows) {
            prop_assert!(out.completion_s.is_finite(), "{}", coflow.id);
        }
    }
}

#[test]
fn a_small_flow_in_a_large_coflow_overtakes_with_inner_order() {
    // Figure 6(b): a small coflow is found together with a large one, from the same sender. Labels
    // make it certain.
    let flows = vec![flow(0, 1, 100.0), flow(0, 2, 1.0)];
    let workload = Workload::new(3, vec![Coflow::new("c".to_owned(), 0.0, flows)]);
    let fabric = Fabric::big_switch(3, 1.0).expect("a fabric");
    let end = |inner: &str, late_s: f64| {
        let mut workload = workload.clone();
        workload.coflows[0].flows[1].start_s = late_s;
        let spec = format!("coda:labels=true,q1=10B,flow_q1=10B,delta=0,inner={inner}");
        run(&workload, &fabric, &spec).flow_completion_s[1]
    };
    // At 50 s the large flow has sent more than the limit: it waits for the small one.
    assert_eq!(end("false", 50.0), 52.0);
    assert_eq!(end("true", 50.0), 51.0);
    // Before the limit, both have the same right.
    assert_eq!(end("true", 2.0), 4.0);
}

#[facebook_test]
fn coflows_of_the_facebook_trace_are_found_and_served_as_aalo_serves_them() {
    let workload = facebook(526);
    let fabric = Fabric::big_switch(150, 125e6).expect("a fabric");
    let mean = |spec: &str| {
        let all = ccts(&run(&workload, &fabric, spec));
        all.iter().sum::<f64>() / all.len() as f64
    };
    let [aalo, fair, coda] = ["aalo", "fair", "coda"].map(mean);
    assert!(coda <= 1.1 * aalo, "{coda} {aalo}");
    assert!(fair >= 1.4 * coda, "{coda} {fair}");
}

/// Sixty shuffles of four senders and four receivers. They begin once in 0.2 s, and the flows of
/// each over `spread_s`. One in four is forty times as large.
fn shuffles(spread_s: f64) -> Workload {
    let mut random = SplitMix::new(5);
    let mut unit = move || random.next_u64() as f64 / 2_f64.powi(64);
    let mut arrival_s = 0.0;
    let mut coflow = |k: u32| {
        arrival_s += 0.2 * (0.5 + unit());
        let bytes = if k.is_multiple_of(4) { 4e6 } else { 1e5 };
        let pairs = (0..4).flat_map(|src| (4..8).map(move |dst| (src, dst)));
        let flows = pairs.map(|(src, dst)| Flow { src, dst, bytes, start_s: spread_s * unit() });
        Coflow::new(k.to_string(), arrival_s, flows.collect())
    };
    Workload::new(8, (0..60).map(&mut coflow).collect())
}

/// The mean CCT under a policy, with links of 100 Mbit/s.
fn mean_of_shuffles(spread_s: f64, spec: &str) -> f64 {
    let fabric = Fabric::big_switch(8, 12.5e6).expect("a fabric");
    let all = ccts(&run(&shuffles(spread_s), &fabric, spec));
    all.iter().sum::<f64>() / all.len() as f64
}

#[test]
fn coflows_that_cannot_be_told_apart_are_never_worse_off_than_without_a_policy() {
    // A busy machine opens the flows of a coflow while the next one begins.
    let mean = |spec: &str| mean_of_shuffles(0.3, spec);
    let fair = mean("fair");
    for late in ["0", "8ms", "50ms"] {
        let coda = mean(&format!("coda:delta={late}"));
        assert!(coda <= 1.1 * fair, "{late}: {coda} {fair}");
    }
}

#[test]
fn coflows_that_can_be_told_apart_are_scheduled() {
    let mean = |spec: &str| mean_of_shuffles(0.002, spec);
    let [fair, sure, coda] = ["fair", "coda:confidence=0", "coda"].map(mean);
    // With the first few gaps it is not sure.
    assert!(coda <= 1.02 * sure, "{coda} {sure}");
    assert!(fair >= 1.4 * coda, "{fair} {coda}");
}

/// Ids are used again; what belonged to one coflow must not be seen as another's.
#[test]
fn groups_begin_and_end_many_times() {
    let coflow = |k: u32| {
        let flows = vec![flow(k % 3, 3, 2.0), flow(k % 3, 4, 0.5), flow((k + 1) % 3, 3, 1.0)];
        Coflow::new(k.to_string(), f64::from(k) * 1.7, flows)
    };
    let workload = Workload::new(5, (0..300).map(coflow).collect());
    let fabric = Fabric::big_switch(5, 1.0).expect("a fabric");
    let labelled = run(&workload, &fabric, INNER);
    assert!(labelled.coflows.iter().all(|coflow| coflow.completion_s.is_finite()));
    let found = run(&workload, &fabric, "coda:q1=2B,E=2,K=4,flow_q1=0.5B,delta=0");
    assert!(found.coflows.iter().all(|coflow| coflow.completion_s.is_finite()));
}
