//! Progress as lines on standard error, `progress 120/3682`, for a page that draws it.

use std::sync::atomic::{AtomicU64, Ordering};

use covey_experiment::Progress;

/// How many lines there are, at most.
const LINES: u64 = 100;

/// The progress of simulations that run at the same time.
pub struct Bar {
    length: u64,
    done: AtomicU64,
}

impl Bar {
    /// Progress through `coflows` coflows, over all simulations.
    pub fn coflows(coflows: usize, _: &str) -> Self {
        Self::new(coflows as u64)
    }

    /// Progress of simulations of `policies` policies, each on `coflows` coflows.
    pub fn policies(policies: usize, coflows: usize) -> Self {
        Self::new((policies * coflows) as u64)
    }

    /// Progress through a file of this length.
    pub fn bytes(length: u64) -> Self {
        Self::new(length)
    }

    /// Adds bytes that were read.
    pub fn advance_bytes(&self, bytes: usize) {
        self.advance(bytes);
    }

    fn new(length: u64) -> Self {
        Self { length, done: 0.into() }
    }
}

impl Progress for Bar {
    fn advance(&self, coflows: usize) {
        let before = self.done.fetch_add(coflows as u64, Ordering::Relaxed);
        let done = before + coflows as u64;
        let line = |done: u64| done * LINES / self.length.max(1);
        if line(done) > line(before) {
            eprintln!("progress {done}/{}", self.length);
        }
    }
}
