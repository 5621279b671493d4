//! A bar on standard error, if that is a terminal and the work takes over a second.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use covey_experiment::Progress;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// How long the work may take before there is a bar.
const PATIENCE: Duration = Duration::from_secs(1);

/// How far simulations that run at the same time have come.
pub struct Bar {
    bar: ProgressBar,
    started: Instant,
    shown: AtomicBool,
}

impl Bar {
    /// Progress of simulating `coflows` coflows, those of all simulations together.
    pub fn new(coflows: usize) -> Self {
        let bar = ProgressBar::with_draw_target(Some(coflows as u64), ProgressDrawTarget::hidden());
        let template = "{wide_bar} {pos}/{len} coflows, {eta} left";
        bar.set_style(
            ProgressStyle::with_template(template).unwrap_or(ProgressStyle::default_bar()),
        );
        Self { bar, started: Instant::now(), shown: false.into() }
    }
}

impl Progress for Bar {
    fn advance(&self, coflows: usize) {
        self.bar.inc(coflows as u64);
        if self.started.elapsed() > PATIENCE && !self.shown.swap(true, Ordering::Relaxed) {
            // Not a terminal: indicatif draws nothing.
            self.bar.set_draw_target(ProgressDrawTarget::stderr());
        }
    }
}

impl Drop for Bar {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}
