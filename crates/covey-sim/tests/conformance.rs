//! The rules for every policy, on random workloads: policies of all kinds, flows in waves, flows of
//! zero bytes, coflows with parents, and many ties.

use crate::common::{COMPRESSED, Kind, as_trace, policies, policy};
use covey_conformance::{
    Limits, MICE, Violation, elephant_s, is_local, names_of_ports_do_not_matter,
    nothing_is_too_fast, rates_fit, same_again, starves_nobody,
};
use covey_core::{Fabric, Promises};
use covey_trace::Workload;
use proptest::prelude::*;

/// The promises of a policy in the registry.
fn promises(spec: &str) -> Promises {
    covey_sched::build(spec).unwrap_or_else(|error| panic!("{error}")).promises
}

/// Checks every policy, and names the policy and workload that fail.
fn for_every_policy(
    workload: &Workload,
    fabric: &Fabric,
    check: impl Fn(&str) -> Result<(), Violation>,
) {
    for spec in policies().chain(COMPRESSED) {
        if let Err(violation) = check(spec) {
            panic!("{spec} on {:?}\n{}{violation}", fabric.capacity(), as_trace(workload));
        }
    }
}

#[test]
fn every_policy_of_the_list_is_tested_here() {
    let tested: Vec<&str> = policies().chain(COMPRESSED).collect();
    for info in covey_sched::policies() {
        let name = |spec: &&str| spec.split(':').next() == Some(info.name);
        assert!(
            tested.iter().any(name),
            "{} is neither in policies() nor in COMPRESSED",
            info.name
        );
    }
}

proptest! {
    #![proptest_config(crate::common::cases(100))]

    #[test]
    fn rates_fit_the_links_conserve_work_and_send_all_bytes(
        workload in crate::common::workload(Kind::Ties), fabric in crate::common::fabric(),
    ) {
        for_every_policy(&workload, &fabric, |spec| {
            rates_fit(&workload, &fabric, promises(spec), &|| policy(spec)).map(|_| ())
        });
    }

    #[test]
    fn the_same_holds_with_links_inside_the_fabric(
        workload in crate::common::workload(Kind::Ties), fabric in crate::common::fabric_with_inner_links(),
    ) {
        for_every_policy(&workload, &fabric, |spec| {
            rates_fit(&workload, &fabric, promises(spec), &|| policy(spec)).map(|_| ())
        });
    }

    #[test]
    fn repeated_runs_are_equal_to_the_last_bit(
        workload in crate::common::workload(Kind::Ties), fabric in crate::common::fabric(),
    ) {
        for_every_policy(&workload, &fabric, |spec| {
            same_again(&workload, &fabric, &|| policy(spec))
        });
    }

    #[test]
    fn names_of_ports_do_not_matter_to_any_policy(
        workload in crate::common::workload(Kind::Ties),
        fabric in crate::common::fabric(),
        names in Just([0, 1, 2, 3, 4, 5]).prop_shuffle(),
    ) {
        for_every_policy(&workload, &fabric, |spec| {
            names_of_ports_do_not_matter(&workload, &fabric, &names, &|| policy(spec))
        });
    }

    #[test]
    fn no_coflow_is_faster_than_alone_and_no_schedule_beats_the_bound(
        workload in crate::common::workload(Kind::Ties), fabric in crate::common::fabric(),
    ) {
        let without = Limits::of(&workload, &fabric, None);
        for_every_policy(&workload, &fabric, |spec| {
            let compression = covey_sched::build(spec).ok().and_then(|built| built.compression);
            let with = compression.map(|codec| Limits::of(&workload, &fabric, Some(codec)));
            let limits = with.as_ref().unwrap_or(&without);
            nothing_is_too_fast(&workload, &fabric, limits, &|| policy(spec))
        });
    }
}

#[test]
fn policies_that_promise_no_starvation_keep_the_promise() {
    for spec in policies() {
        assert_eq!(starves_nobody(promises(spec), &|| policy(spec)), Ok(()), "{spec}");
    }
    // Such a stream does starve a coflow under policies without this promise.
    for spec in ["sebf", "aalo:q1=1B,K=3,queues=strict,delta=0", "saath:q1=1B,d=0"] {
        let completion_s = elephant_s(&|| policy(spec)).unwrap();
        assert!(completion_s > f64::from(MICE), "{spec}");
    }
}

proptest! {
    #![proptest_config(crate::common::cases(50))]

    #[test]
    fn under_a_local_policy_other_ports_do_not_matter(
        first in crate::common::workload(Kind::Ties),
        second in crate::common::workload(Kind::Ties),
    ) {
        for spec in policies() {
            if let Err(violation) = is_local(&first, &second, promises(spec), &|| policy(spec)) {
                panic!("{spec}: {violation}\n{}", as_trace(&first));
            }
        }
    }
}
