//! The suite finds policies that break the rules, and shows a workload.

use covey_conformance::check;
use covey_core::{Answer, AnyPolicy, Group, NonClairvoyant, Plan, Policy, Promises, Share, View};

type Unsized = NonClairvoyant;

/// Serves only the coflow that arrived last.
struct LastOnly;

impl Policy<Unsized> for LastOnly {
    fn plan(&mut self, view: &View<'_, Unsized>, plan: &mut Plan<Unsized>) -> Answer {
        plan.clear();
        if let Some(&last) = view.coflows().last() {
            plan.push(Group::Coflow(last), Share::MAX_MIN);
        }
        Answer::Replaced
    }
}

/// Serves the coflows whose first flow has the lowest port first.
struct ByPort;

impl Policy<Unsized> for ByPort {
    fn plan(&mut self, view: &View<'_, Unsized>, plan: &mut Plan<Unsized>) -> Answer {
        let mut order = view.coflows().to_vec();
        order.sort_by_key(|&coflow| view.loads(coflow).map(|load| load.link).min());
        plan.clear();
        order.into_iter().for_each(|coflow| plan.push(Group::Coflow(coflow), Share::MAX_MIN));
        Answer::Replaced
    }
}

fn violation(promises: Promises, make: impl Fn() -> AnyPolicy) -> String {
    check(&make, promises, 200).expect_err("a violation").to_string()
}

fn last_only(promises: Promises) -> String {
    violation(promises, || AnyPolicy::NonClairvoyant(Box::new(LastOnly)))
}

#[test]
fn broken_promises_are_found() {
    let idle = last_only(Promises { conserves_work: true, ..Promises::default() });
    assert!(idle.contains("promises to conserve work"), "{idle}");
    assert!(idle.contains("{\"covey_trace\":1"), "{idle}");
    let starving = last_only(Promises { starves_nobody: true, ..Promises::default() });
    assert!(starving.contains("promises to starve nobody"), "{starving}");
}

#[test]
fn a_policy_that_looks_at_names_of_ports_is_found() {
    let found = violation(Promises::default(), || AnyPolicy::NonClairvoyant(Box::new(ByPort)));
    assert!(found.contains("with ports called"), "{found}");
}
