//! All rules for one policy, on many random workloads.

use covey_core::{Fabric, Promises};
use covey_trace::Workload;
use proptest::prelude::{Just, Strategy};
use proptest::strategy::ValueTree;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};

use crate::checks::{
    Limits, Make, compresses, is_local, names_of_ports_do_not_matter, nothing_is_too_fast,
    rates_fit, same_again, starves_nobody, the_clock_does_not_matter,
};
use crate::violation::Violation;
use crate::workloads::{Kind, as_trace, fabric, workload, workload_with_events};

/// Maximum number of attempts to shrink a workload that shows a violation.
const MAX_SMALLER: usize = 1000;

/// Seconds from 1970 to a day in 2023.
const UNIX_S: u32 = 1_700_000_000;

/// Checks a policy with these `promises` by every rule. Each case has one random workload, the same
/// in each run. A violation contains the smallest workload found that shows it.
///
/// # Errors
/// The first violation.
pub fn check(make: Make<'_>, promises: Promises, cases: u32) -> Result<(), Violation> {
    starves_nobody(promises, make)?;
    let names = Just([0, 1, 2, 3, 4, 5]).prop_shuffle();
    let inputs = (workload(Kind::Ties), workload(Kind::Ties), fabric(), names.clone());
    let random = TestRng::deterministic_rng(RngAlgorithm::ChaCha);
    let mut runner = TestRunner::new_with_rng(Config::default(), random);
    let changing =
        (workload_with_events(Kind::Ties), workload(Kind::Ties), fabric(), names.clone());
    for _ in 0..cases {
        let tree =
            changing.new_tree(&mut runner).map_err(|reason| Violation(reason.to_string()))?;
        check_one(tree, |(workload, _, fabric, _)| {
            rates_fit(workload, fabric, promises, make)?;
            same_again(workload, fabric, make)
        })?;
        let tree = inputs.new_tree(&mut runner).map_err(|reason| Violation(reason.to_string()))?;
        check_one(tree, |(workload, other, fabric, names)| {
            rates_fit(workload, fabric, promises, make)?;
            same_again(workload, fabric, make)?;
            the_clock_does_not_matter(workload, fabric, UNIX_S, make)?;
            names_of_ports_do_not_matter(workload, fabric, names, make)?;
            // The codec is known only to the policy.
            if !compresses(workload, fabric, make)? {
                let limits = Limits::of(workload, fabric, None);
                nothing_is_too_fast(workload, fabric, &limits, make)?;
            }
            is_local(workload, other, promises, make)
        })?;
    }
    Ok(())
}

/// Two workloads, a network for the first, and other names of its ports.
type Input = (Workload, Workload, Fabric, [u32; 6]);

/// Checks one input. If it shows a violation, searches for the smallest input that does.
fn check_one(
    mut tree: impl ValueTree<Value = Input>,
    check: impl Fn(&Input) -> Result<(), Violation>,
) -> Result<(), Violation> {
    let mut input = tree.current();
    let Err(mut violation) = check(&input) else { return Ok(()) };
    let mut is_violated = true;
    for _ in 0..MAX_SMALLER {
        if !(if is_violated { tree.simplify() } else { tree.complicate() }) {
            break;
        }
        let smaller = tree.current();
        let result = check(&smaller);
        is_violated = result.is_err();
        if let Err(found) = result {
            (input, violation) = (smaller, found);
        }
    }
    let (workload, _, fabric, _) = &input;
    let (links, trace) = (fabric.capacity(), as_trace(workload));
    Err(Violation(format!("{violation}\nlinks of {links:?} bytes/s, and the trace\n{trace}")))
}
