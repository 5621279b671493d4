//! A bar on standard error, if that is a terminal and the work takes over a second.

use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use covey_core::Time;
use covey_core::alloc::Allocator;
use covey_core::state::State;
use covey_sim::Observer;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// How long the work may take before there is a bar.
const PATIENCE: Duration = Duration::from_secs(1);

/// How far simulations that run at the same time have come, and whether one has failed.
pub struct Progress {
    bar: ProgressBar,
    started: Instant,
    shown: AtomicBool,
    failed: AtomicBool,
}

impl Progress {
    /// Progress of simulating `coflows` coflows, those of all simulations together.
    pub fn new(coflows: usize) -> Self {
        let bar = ProgressBar::with_draw_target(Some(coflows as u64), ProgressDrawTarget::hidden());
        let template = "{wide_bar} {pos}/{len} coflows, {eta} left";
        bar.set_style(
            ProgressStyle::with_template(template).unwrap_or(ProgressStyle::default_bar()),
        );
        Self { bar, started: Instant::now(), shown: false.into(), failed: false.into() }
    }

    /// An observer for one of the simulations.
    pub fn watch(&self) -> Watch<'_> {
        Watch { progress: self, seen: 0 }
    }

    /// The work is in vain: all simulations shall stop.
    pub fn fail(&self) {
        self.failed.store(true, Ordering::Relaxed);
    }

    /// So many more coflows have been simulated.
    pub fn advance(&self, coflows: usize) {
        self.bar.inc(coflows as u64);
        if self.started.elapsed() > PATIENCE && !self.shown.swap(true, Ordering::Relaxed) {
            // Not a terminal: indicatif draws nothing.
            self.bar.set_draw_target(ProgressDrawTarget::stderr());
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

/// Tells the progress of one simulation.
pub struct Watch<'a> {
    progress: &'a Progress,
    /// Coflows told of.
    seen: usize,
}

impl Observer for Watch<'_> {
    fn moment(&mut self, _: Time, done: usize, _: &State, _: &Allocator) -> ControlFlow<()> {
        if done > self.seen {
            self.progress.advance(done - self.seen);
            self.seen = done;
        }
        if self.progress.failed.load(Ordering::Relaxed) {
            return ControlFlow::Break(());
        }
        ControlFlow::Continue(())
    }
}
