//! The progress of simulations, and requests to stop them.

use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering};

use covey_sim::{Observer, Round};

/// Receives how far simulations have come that run at the same time.
pub trait Progress: Sync {
    /// Reports that `coflows` more have ended, over all simulations.
    fn advance(&self, coflows: usize);

    /// Whether the simulations are to stop. Each of them asks at every event.
    fn is_stopped(&self) -> bool {
        false
    }
}

/// Ignores the progress.
#[derive(Debug, Clone, Copy)]
pub struct Silent;

impl Progress for Silent {
    fn advance(&self, _: usize) {}
}

/// Passes on the progress of one simulation, and stops it when another one has failed or when
/// [`Progress::is_stopped`].
pub struct Watch<'a> {
    progress: &'a dyn Progress,
    failed: &'a AtomicBool,
    /// Number of coflows that `progress` was told of.
    reported: usize,
}

impl<'a> Watch<'a> {
    /// Watches one simulation; `failed` says whether another one has failed.
    pub fn new(progress: &'a dyn Progress, failed: &'a AtomicBool) -> Watch<'a> {
        Watch { progress, failed, reported: 0 }
    }

    /// Reports that so many `coflows` of the simulation have ended.
    pub fn report(&mut self, coflows: usize) {
        if coflows > self.reported {
            self.progress.advance(coflows - self.reported);
            self.reported = coflows;
        }
    }
}

impl Observer for Watch<'_> {
    fn round(&mut self, round: &Round<'_>) -> ControlFlow<()> {
        self.report(round.done);
        if self.failed.load(Ordering::Relaxed) || self.progress.is_stopped() {
            return ControlFlow::Break(());
        }
        ControlFlow::Continue(())
    }
}
