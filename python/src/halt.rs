//! When a simulation is to stop, and how Python code that computes for it is made to end.
//!
//! A policy in Python runs in a thread of the simulator, where no signal arrives.
//! [`Halt::interrupt`] therefore raises `KeyboardInterrupt` in that thread, and [`Halt::begin`]
//! lets no further call begin.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use pyo3::intern;
use pyo3::prelude::*;

/// Whether simulations are to stop, and the exception of a policy that is the reason.
#[derive(Debug, Default)]
pub struct Halt {
    stop: AtomicBool,
    exception: Mutex<Option<PyErr>>,
    /// Python's numbers of the threads that compute a policy's answer now.
    computing: Mutex<Vec<u64>>,
    /// It stops this one too.
    outer: Option<Arc<Halt>>,
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Halt {
    /// A halt that stops with another, but not the reverse.
    pub fn within(outer: Arc<Halt>) -> Arc<Halt> {
        Arc::new(Halt { outer: Some(outer), ..Halt::default() })
    }

    /// Ends the simulations: nobody wants their results.
    pub fn stop(&self) {
        self.stop.store(true, Ordering::SeqCst);
    }

    /// Whether this one or an outer one is stopped.
    pub fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::SeqCst)
            || self.outer.as_ref().is_some_and(|outer| outer.is_stopped())
    }

    /// Ends the simulations because a policy has raised an exception. The first one counts.
    pub fn fail(&self, exception: PyErr) {
        locked(&self.exception).get_or_insert(exception);
        self.stop();
    }

    /// Whether a policy has raised an exception.
    pub fn has_failed(&self) -> bool {
        locked(&self.exception).is_some()
    }

    /// The first exception that a policy has raised, once.
    pub fn take(&self) -> Option<PyErr> {
        locked(&self.exception).take()
    }

    /// A thread begins to compute a policy's answer. Returns false if it must not.
    pub fn begin(&self, thread: u64) -> bool {
        if self.outer.as_ref().is_some_and(|outer| !outer.begin(thread)) {
            return false;
        }
        let mut computing = locked(&self.computing);
        // `interrupt` finds every thread that saw no stop here.
        let may = !self.is_stopped();
        if may {
            computing.push(thread);
        } else if let Some(outer) = &self.outer {
            outer.end(thread);
        }
        may
    }

    /// A thread has computed it.
    pub fn end(&self, thread: u64) {
        locked(&self.computing).retain(|&other| other != thread);
        if let Some(outer) = &self.outer {
            outer.end(thread);
        }
    }

    /// Stops, and raises `KeyboardInterrupt` wherever a policy computes. Returns whether any does;
    /// it may need another interrupt, for code can catch the exception.
    pub fn interrupt(&self, py: Python<'_>) -> PyResult<bool> {
        self.stop();
        // Not locked while Python runs: the threads need the lock to end.
        let computing = locked(&self.computing).clone();
        let interrupt = py.import(intern!(py, "covey._interrupt"))?;
        for &thread in &computing {
            interrupt.call_method1(intern!(py, "interrupt"), (thread,))?;
        }
        Ok(!computing.is_empty())
    }
}
