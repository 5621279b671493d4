//! What every policy must keep to, checked on random workloads: for the policies in the registry, and
//! for those that others write, in Rust or in Python.
//!
//! [`check`] is all of it for one policy; the rules one by one are functions of their own.
//!
//! ```
//! let sebf = || covey_sched::build("sebf").unwrap();
//! covey_conformance::check(&|| sebf().policy, sebf().promises, 5)?;
//! # Ok::<(), covey_conformance::Violation>(())
//! ```

mod checks;
mod watch;
mod workloads;

pub use checks::{
    Limits, MICE, Make, ccts, compresses, elephant_s, is_local, names_of_ports_do_not_matter,
    nothing_is_too_fast, others_do_not_matter, rates_fit, same_again, same_time, starves_nobody,
};
pub use watch::{Served, served};
pub use workloads::{Kind, as_trace, fabric, fabric_with_inner_links, flow, workload};

use covey_core::{Fabric, Promises};
use covey_trace::Workload;
use proptest::prelude::{Just, Strategy};
use proptest::strategy::ValueTree;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};

/// A rule that a policy does not keep to, and how that shows.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Violation(pub String);

/// How often a workload that shows a violation is made smaller at most.
const SMALLER: usize = 1000;

/// Checks a policy by every rule, on so many random workloads, the same ones each time. A workload
/// that shows a violation is made as small as possible and told with it.
///
/// # Errors
/// The first violation.
pub fn check(make: Make<'_>, promises: Promises, cases: u32) -> Result<(), Violation> {
    starves_nobody(promises, make)?;
    let names = Just([0, 1, 2, 3, 4, 5]).prop_shuffle();
    let inputs = (workload(Kind::Ties), workload(Kind::Ties), fabric(), names);
    let random = TestRng::deterministic_rng(RngAlgorithm::ChaCha);
    let mut runner = TestRunner::new_with_rng(Config::default(), random);
    for _ in 0..cases {
        let tree = inputs.new_tree(&mut runner).map_err(|reason| Violation(reason.to_string()))?;
        check_one(tree, |(workload, other, fabric, names)| {
            rates_fit(workload, fabric, promises, make)?;
            same_again(workload, fabric, make)?;
            names_of_ports_do_not_matter(workload, fabric, names, make)?;
            // With what codec, only the plans of the policy say.
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

/// Checks one input, and looks for the smallest that shows a violation.
fn check_one(
    mut tree: impl ValueTree<Value = Input>,
    check: impl Fn(&Input) -> Result<(), Violation>,
) -> Result<(), Violation> {
    let mut input = tree.current();
    let Err(mut violation) = check(&input) else { return Ok(()) };
    let mut is_violated = true;
    for _ in 0..SMALLER {
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
