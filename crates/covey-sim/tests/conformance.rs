//! What every policy must keep to, on random workloads: policies of all kinds, flows in waves,
//! flows of zero bytes, coflows with parents, and many ties.

mod common;

use std::ops::ControlFlow;

use common::{COMPRESSED, Kind, POLICIES, as_trace, ccts, flow, policy, run, same_time, served};
use covey_core::alloc::Allocator;
use covey_core::state::State;
use covey_core::{Fabric, Time};
use covey_sim::bound::{bounds, isolated_cct_s, on_the_wire};
use covey_sim::{Observer, Outcome, simulate};
use covey_trace::{Availability, Coflow, Flow, Workload};
use proptest::prelude::*;

/// Whether the policy promises to leave no flow waiting whose links are both idle.
fn conserves_work(spec: &str) -> bool {
    policy(spec).promises().conserves_work
}

/// Looks at every moment of a simulation.
struct Watch<'a> {
    workload: &'a Workload,
    conserves_work: bool,
    last: Time,
    /// Rates since then: place of the coflow, number of the flow, bytes per second.
    rates: Vec<(usize, usize, f64)>,
    /// Bytes sent by each flow of each coflow.
    sent: Vec<Vec<f64>>,
}

impl<'a> Watch<'a> {
    fn new(workload: &'a Workload, conserves_work: bool) -> Watch<'a> {
        let sent = workload.coflows.iter().map(|c| vec![0.0; c.flows.len()]).collect();
        Watch { workload, conserves_work, last: Time::ZERO, rates: Vec::new(), sent }
    }

    /// In the end every flow has sent its bytes.
    fn assert_all_sent(&self, outcome: &Outcome) {
        for (place, (coflow, sent)) in self.workload.coflows.iter().zip(&self.sent).enumerate() {
            // Where flows are compressed, what that saved is known of all of them together.
            if let Some(compression) = outcome.compression.get(place) {
                let all = sent.iter().sum::<f64>() + compression.saved_bytes;
                assert!((coflow.size_bytes() - all).abs() < 1e-6, "{}: {all}", coflow.id);
                continue;
            }
            for (flow, sent) in coflow.flows.iter().zip(sent) {
                assert!((flow.bytes - sent).abs() < 1e-6, "{}: {sent} of {flow:?}", coflow.id);
            }
        }
    }
}

impl Observer for Watch<'_> {
    fn moment(&mut self, now: Time, _: usize, state: &State, rates: &Allocator) -> ControlFlow<()> {
        for &(place, index, rate) in &self.rates {
            self.sent[place][index] += rate * (now - self.last);
        }
        self.last = now;

        let flows = served(state, rates);
        self.rates = flows.iter().map(|flow| (flow.place, flow.index, flow.rate)).collect();
        let capacity = state.fabric().capacity();
        let mut used = vec![0.0; capacity.len()];
        for flow in &flows {
            assert!(flow.rate >= 0.0, "a rate of {} at {now}", flow.rate);
            flow.path.iter().for_each(|&l| used[l] += flow.rate);
        }
        let fits = |(used, capacity): (&f64, &f64)| *used <= capacity * (1.0 + 1e-9);
        assert!(used.iter().zip(capacity).all(fits), "too much at {now}: {used:?}");

        let is_full = |&l: &usize| used[l] >= capacity[l] * (1.0 - 1e-6);
        for flow in flows.iter().filter(|_| self.conserves_work) {
            let stopped = flow.path.iter().any(is_full);
            assert!(stopped, "flow {}.{} could send at {now}: {used:?}", flow.place, flow.index);
        }
        ControlFlow::Continue(())
    }
}

/// The two capacities of all ports.
fn split(fabric: &Fabric) -> (&[f64], &[f64]) {
    fabric.capacity().split_at(fabric.ports() as usize)
}

/// The same network with port `p` called `names[p]`.
fn relabelled(workload: &Workload, fabric: &Fabric, names: &[u32]) -> (Workload, Fabric) {
    let mut workload = workload.clone();
    workload.ports = fabric.ports();
    for flow in workload.coflows.iter_mut().flat_map(|coflow| &mut coflow.flows) {
        (flow.src, flow.dst) = (names[flow.src as usize], names[flow.dst as usize]);
    }
    let (egress, ingress) = split(fabric);
    let moved = |capacity: &[f64]| {
        let mut moved = vec![0.0; capacity.len()];
        names.iter().zip(capacity).for_each(|(&name, &capacity)| moved[name as usize] = capacity);
        moved
    };
    let fabric = Fabric::big_switch_with(&moved(egress), &moved(ingress)).unwrap();
    (workload, fabric)
}

/// Runs `check` for every policy, and says which policy and workload it was that failed.
fn for_every_policy(workload: &Workload, fabric: &Fabric, check: impl Fn(&str)) {
    for spec in POLICIES.into_iter().chain(COMPRESSED) {
        let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| check(spec)));
        if let Err(panic) = result {
            let message = panic.downcast_ref::<String>().cloned().unwrap_or_default();
            panic!("{spec} on {:?}\n{}{message}", fabric.capacity(), as_trace(workload));
        }
    }
}

proptest! {
    #![proptest_config(common::cases(200))]

    #[test]
    fn rates_fit_the_links_leave_no_flow_waiting_for_nothing_and_send_all_bytes(
        workload in common::workload(Kind::Ties), fabric in common::fabric(),
    ) {
        for_every_policy(&workload, &fabric, |spec| {
            let mut watch = Watch::new(&workload, conserves_work(spec));
            let outcome = simulate(&workload, &fabric, spec, &mut policy(spec), &mut watch)
                .unwrap_or_else(|error| panic!("{error}"));
            watch.assert_all_sent(&outcome);
        });
    }

    #[test]
    fn the_same_holds_with_links_inside_the_fabric(
        workload in common::workload(Kind::Ties), fabric in common::fabric_with_inner_links(),
    ) {
        for_every_policy(&workload, &fabric, |spec| {
            // They serve all flows as one group, which works on a big switch alone.
            let name = spec.split(':').next().unwrap_or(spec);
            if !["fair", "fifo-flow", "pfp", "wss"].contains(&name) {
                let mut watch = Watch::new(&workload, conserves_work(spec));
                let outcome = simulate(&workload, &fabric, spec, &mut policy(spec), &mut watch)
                    .unwrap_or_else(|error| panic!("{error}"));
                watch.assert_all_sent(&outcome);
            }
        });
    }

    #[test]
    fn the_same_run_again_gives_the_same_to_the_last_bit(
        workload in common::workload(Kind::Ties), fabric in common::fabric(),
    ) {
        for_every_policy(&workload, &fabric, |spec| {
            let (first, second) = (run(&workload, &fabric, spec), run(&workload, &fabric, spec));
            assert_eq!(format!("{first:?}"), format!("{second:?}"));
        });
    }

    #[test]
    fn names_of_ports_do_not_matter(
        workload in common::workload(Kind::Ties),
        fabric in common::fabric(),
        names in Just([0, 1, 2, 3, 4, 5]).prop_shuffle(),
    ) {
        let (other_workload, other_fabric) = relabelled(&workload, &fabric, &names);
        for_every_policy(&workload, &fabric, |spec| {
            let found = ccts(&run(&other_workload, &other_fabric, spec));
            let expected = ccts(&run(&workload, &fabric, spec));
            let same = found.iter().zip(&expected).all(|(a, b)| same_time(*a, *b));
            assert!(same, "ports called {names:?}\nfound    {found:?}\nexpected {expected:?}");
        });
    }

    #[test]
    fn no_coflow_is_faster_than_alone_and_no_schedule_beats_the_bound(
        workload in common::workload(Kind::Ties), fabric in common::fabric(),
    ) {
        let (egress, ingress) = split(&fabric);
        for_every_policy(&workload, &fabric, |spec| {
            let wire = match covey_sched::build(spec).ok().and_then(|built| built.compression) {
                Some(codec) => on_the_wire(&workload, &fabric, &codec, &Availability::default()),
                None => workload.clone(),
            };
            let bound = bounds(&wire, egress, ingress).mean_cct_s;
            let ccts = ccts(&run(&workload, &fabric, spec));
            for (coflow, cct) in wire.coflows.iter().zip(&ccts) {
                let alone = isolated_cct_s(coflow, egress, ingress);
                assert!(*cct >= alone - 1e-8, "{} takes {cct}, alone {alone}", coflow.id);
            }
            let mean = ccts.iter().sum::<f64>() / ccts.len() as f64;
            assert!(mean >= bound - 1e-8, "mean CCT {mean}, bound {bound}");
        });
    }
}

/// What starves a coflow: others that come after it, as much as the link can carry, without end.
fn mice(count: u32) -> Workload {
    let mut coflows = vec![Coflow::new("elephant".to_owned(), 0.0, vec![flow(0, 0, 20.0)])];
    coflows.extend((0..count).map(|mouse| {
        Coflow::new(format!("mouse {mouse}"), f64::from(mouse) + 0.5, vec![flow(0, 0, 1.0)])
    }));
    Workload { ports: 1, coflows }
}

#[test]
fn who_promises_so_starves_nobody() {
    const MICE: u32 = 4000;
    let fabric = Fabric::big_switch(1, 1.0).unwrap();
    let waits = |spec: &str| run(&mice(MICE), &fabric, spec).coflows[0].completion_s;
    for spec in POLICIES.into_iter().filter(|spec| policy(spec).promises().starves_nobody) {
        let completion_s = waits(spec);
        assert!(completion_s < f64::from(MICE), "{spec}: {completion_s}");
    }
    // Such a stream does starve a coflow under those who do not promise it.
    for spec in ["sebf", "aalo:q1=1,K=3,queues=strict,delta=0", "saath:q1=1,d=0"] {
        assert!(waits(spec) > f64::from(MICE), "{spec}");
    }
}

/// A network of two halves, and coflows with flows in both of them but none between them.
fn in_two_halves(first: &Workload, second: &Workload) -> Workload {
    let mut both = first.clone();
    both.ports = 2 * 6;
    for (coflow, other) in both.coflows.iter_mut().zip(&second.coflows) {
        let moved = other.flows.iter().map(|f| Flow { src: f.src + 6, dst: f.dst + 6, ..*f });
        coflow.flows.extend(moved);
    }
    both
}

proptest! {
    #![proptest_config(common::cases(100))]

    #[test]
    fn under_a_local_policy_nothing_that_happens_elsewhere_matters(
        first in common::workload(Kind::Ties),
        second in common::workload(Kind::Ties),
    ) {
        let without_parents = |workload: &Workload| {
            let mut workload = workload.clone();
            workload.coflows.iter_mut().for_each(|coflow| coflow.parents.clear());
            workload
        };
        let (first, second) = (without_parents(&first), without_parents(&second));
        let both = in_two_halves(&first, &second);
        let network = |ports| Fabric::big_switch(ports, 1.0).unwrap();
        for spec in POLICIES.into_iter().filter(|spec| policy(spec).promises().is_local) {
            let alone = run(&first, &network(6), spec).flow_completion_s;
            let beside = run(&both, &network(12), spec).flow_completion_s;
            let mut beside = beside.into_iter();
            let mut alone = alone.into_iter();
            for (coflow, both) in first.coflows.iter().zip(&both.coflows) {
                let expected: Vec<f64> = alone.by_ref().take(coflow.flows.len()).collect();
                let found: Vec<f64> = beside.by_ref().take(both.flows.len()).collect();
                let same = expected.iter().zip(&found).all(|(a, b)| same_time(*a, *b));
                prop_assert!(same, "{}: {:?} {:?}\n{}", spec, expected, found, as_trace(&first));
            }
        }
    }
}
