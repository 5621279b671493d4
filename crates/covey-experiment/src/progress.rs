//! Who is told how far simulations have come, and may stop them.

use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering};

use covey_sim::{Observer, Round};

/// How far simulations have come that run at the same time.
pub trait Progress: Sync {
    /// So many more coflows have been simulated, of those of all simulations together.
    fn advance(&self, coflows: usize);

    /// Whether nobody wants the results any more. It is asked at every event.
    fn is_stopped(&self) -> bool {
        false
    }
}

/// Nobody is told.
#[derive(Debug, Clone, Copy)]
pub struct Silent;

impl Progress for Silent {
    fn advance(&self, _: usize) {}
}

/// Tells the progress of one simulation, and stops it when another has failed or nobody wants it.
pub(crate) struct Watch<'a> {
    pub progress: &'a dyn Progress,
    pub failed: &'a AtomicBool,
    /// Coflows told of.
    pub seen: usize,
}

impl Observer for Watch<'_> {
    fn round(&mut self, round: &Round<'_>) -> ControlFlow<()> {
        if round.done > self.seen {
            self.progress.advance(round.done - self.seen);
            self.seen = round.done;
        }
        if self.failed.load(Ordering::Relaxed) || self.progress.is_stopped() {
            return ControlFlow::Break(());
        }
        ControlFlow::Continue(())
    }
}
