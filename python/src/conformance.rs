//! What every policy must keep to, for policies in Python.

use std::sync::{Arc, Mutex, PoisonError};

use covey_conformance::{MICE, Violation};
use covey_core::{Answer, AnyPolicy, NonClairvoyant, Plan, Policy, View};
use pyo3::prelude::*;

use crate::errors::ConformanceError;
use crate::halt::Halt;
use crate::policy::{policy, promises};
use crate::run::{Watch, in_thread};

/// Serves nobody: it stands in for a policy that could not be made.
struct Nobody;

impl Policy<NonClairvoyant> for Nobody {
    fn plan(&mut self, _: &View<'_, NonClairvoyant>, _: &mut Plan<NonClairvoyant>) -> Answer {
        Answer::Unchanged
    }
}

/// Makes the policies of a check.
struct Maker {
    make: Py<PyAny>,
    /// Of the whole check.
    halt: Arc<Halt>,
    /// Of the last policy that was made.
    last: Mutex<Arc<Halt>>,
    /// The exception of the last policy that raised one.
    raised: Mutex<Option<PyErr>>,
}

impl Maker {
    /// A policy that stops alone when it raises an exception.
    fn make(&self) -> AnyPolicy {
        self.keep_exception();
        let halt = Halt::within(Arc::clone(&self.halt));
        *self.last.lock().unwrap_or_else(PoisonError::into_inner) = Arc::clone(&halt);
        let made = (!halt.is_stopped())
            .then(|| Python::try_attach(|py| policy(&self.make.bind(py).call0()?, halt)));
        match made.flatten() {
            Some(Ok(policy)) => return policy,
            Some(Err(exception)) => self.halt.fail(exception),
            None => {}
        }
        AnyPolicy::NonClairvoyant(Box::new(Nobody))
    }

    fn keep_exception(&self) {
        if let Some(exception) = self.last.lock().unwrap_or_else(PoisonError::into_inner).take() {
            *self.raised.lock().unwrap_or_else(PoisonError::into_inner) = Some(exception);
        }
    }

    /// The exception for a violation: with that of the policy as its cause, if it raised one.
    fn raise(&self, py: Python<'_>, violation: &Violation) -> PyErr {
        self.keep_exception();
        let cause = self.raised.lock().unwrap_or_else(PoisonError::into_inner).take();
        let Some(cause) = cause else {
            return ConformanceError::new_err(violation.to_string());
        };
        // Behind the first line is the workload, unless it is the one that is too large to be
        // shown.
        let workload = match violation.0.split_once('\n') {
            Some((_, workload)) => workload.to_owned(),
            None => format!("while a large coflow is followed by {MICE} small ones on one link"),
        };
        let error = ConformanceError::new_err(format!("the policy raised {cause}\n{workload}"));
        error.set_cause(py, Some(cause));
        error
    }
}

/// Checks the policies that `make` makes on so many random workloads. A violation, as which an
/// exception of a policy counts, is a `ConformanceError`.
#[pyfunction]
pub fn check(py: Python<'_>, make: Py<PyAny>, cases: u32) -> PyResult<()> {
    let promises = promises(&make.bind(py).call0()?)?;
    let watch = Watch::default();
    let maker = Arc::new(Maker {
        make,
        halt: Arc::clone(&watch.halt),
        last: Mutex::default(),
        raised: Mutex::default(),
    });
    let checked = in_thread(py, &watch, 0, None, {
        let maker = Arc::clone(&maker);
        move || covey_conformance::check(&|| maker.make(), promises, cases)
    })?;
    match watch.halt.take() {
        Some(exception) => Err(exception),
        None => checked.map_err(|violation| maker.raise(py, &violation)),
    }
}
