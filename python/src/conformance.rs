//! What every policy must keep to, for policies in Python.

use std::sync::Arc;

use covey_conformance::Violation;
use covey_core::{Answer, AnyPolicy, NonClairvoyant, Plan, Policy, View};
use pyo3::prelude::*;

use crate::errors::ConformanceError;
use crate::policy::{Halt, policy};
use crate::run::{Watch, in_thread};

/// Serves nobody: it stands in for a policy that could not be made.
struct Nobody;

impl Policy<NonClairvoyant> for Nobody {
    fn plan(&mut self, _: &View<'_, NonClairvoyant>, _: &mut Plan<NonClairvoyant>) -> Answer {
        Answer::Unchanged
    }
}

/// Checks the policies that `make` makes on so many random workloads. Exceptions of a policy are
/// raised as they are; a violation is a `ConformanceError`.
#[pyfunction]
pub fn check(py: Python<'_>, make: Py<PyAny>, cases: u32) -> PyResult<()> {
    let halt = Arc::new(Halt::default());
    let watch = Watch::new(Arc::clone(&halt), None);
    let checked: Result<(), Violation> = in_thread(py, &watch, 0, None, {
        let halt = Arc::clone(&halt);
        move || {
            let made = || {
                let made =
                    Python::try_attach(|py| policy(&make.bind(py).call0()?, Arc::clone(&halt)));
                match made {
                    Some(Ok(policy)) => policy,
                    Some(Err(exception)) => {
                        halt.fail(exception);
                        AnyPolicy::Unsized(Box::new(Nobody))
                    }
                    None => AnyPolicy::Unsized(Box::new(Nobody)),
                }
            };
            covey_conformance::check(&made, cases)
        }
    })?;
    match halt.take() {
        Some(exception) => Err(exception),
        None => checked.map_err(|violation| ConformanceError::new_err(violation.to_string())),
    }
}
