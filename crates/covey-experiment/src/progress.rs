//! The progress of simulations, and requests to stop them.

use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering};

use covey_sim::{Observer, Round};

/// Receives the progress of simulations that run at the same time.
pub trait Progress: Sync {
    /// Reports that `coflows` more coflows have ended, over all simulations.
    fn advance(&self, coflows: usize);

    /// Whether the simulations must stop. Each asks once per scheduling round.
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

/// Forwards the progress of one simulation. Stops the simulation if another one has failed, or if
/// [`Progress::is_stopped`].
pub struct Watch<'a> {
    progress: &'a dyn Progress,
    failed: &'a AtomicBool,
    /// Number of coflows already reported to `progress`.
    reported: usize,
}

impl<'a> Watch<'a> {
    /// An observer of one simulation. `failed` is set when another simulation has failed.
    pub fn new(progress: &'a dyn Progress, failed: &'a AtomicBool) -> Watch<'a> {
        Watch { progress, failed, reported: 0 }
    }

    /// Reports that `coflows` coflows of this simulation have ended in all.
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
