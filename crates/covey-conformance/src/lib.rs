//! What every policy must keep to, checked on random workloads: for the policies in the registry, and
//! for those that others write, in Rust or in Python.
//!
//! [`check`] is all of it for one policy; the rules one by one are functions of their own.
//!
//! ```
//! let sebf = || covey_sched::build("sebf").unwrap().policy;
//! covey_conformance::check(&sebf, 5)?;
//! # Ok::<(), covey_conformance::Violation>(())
//! ```

mod checks;
mod watch;
mod workloads;

pub use checks::{
    MICE, Make, ccts, elephant_s, is_local, names_of_ports_do_not_matter, nothing_is_too_fast,
    rates_fit, same_again, same_time, starves_nobody,
};
pub use watch::{Served, served};
pub use workloads::{Kind, as_trace, fabric, fabric_with_inner_links, flow, workload};

use proptest::prelude::*;
use proptest::test_runner::{Config, RngAlgorithm, TestCaseError, TestError, TestRng, TestRunner};

/// A rule that a policy does not keep to, and how that shows.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Violation(pub String);

/// Checks a policy by every rule, on so many random workloads, the same ones each time. A workload
/// that shows a violation is made as small as possible and told with it.
///
/// # Errors
/// The first violation.
pub fn check(make: Make<'_>, cases: u32) -> Result<(), Violation> {
    starves_nobody(make)?;
    let config = Config { cases, failure_persistence: None, ..Config::default() };
    let random = TestRng::deterministic_rng(RngAlgorithm::ChaCha);
    let mut runner = TestRunner::new_with_rng(config, random);
    let names = Just([0, 1, 2, 3, 4, 5]).prop_shuffle();
    let inputs = (workload(Kind::Ties), workload(Kind::Ties), fabric(), names);
    let result = runner.run(&inputs, |(workload, other, fabric, names)| {
        let all = || {
            rates_fit(&workload, &fabric, make)?;
            same_again(&workload, &fabric, make)?;
            names_of_ports_do_not_matter(&workload, &fabric, &names, make)?;
            nothing_is_too_fast(&workload, &fabric, None, make)?;
            is_local(&workload, &other, make)
        };
        all().map_err(|violation: Violation| TestCaseError::fail(violation.0))
    });
    result.map_err(|error| match error {
        TestError::Fail(reason, (workload, _, fabric, _)) => {
            let (ports, trace) = (fabric.capacity(), as_trace(&workload));
            Violation(format!("{reason}\nlinks of {ports:?} bytes/s, and the trace\n{trace}"))
        }
        TestError::Abort(reason) => Violation(reason.to_string()),
    })
}
