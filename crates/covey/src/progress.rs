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
    pub fn coflows(coflows: usize) -> Self {
        Self::new(coflows as u64, "{wide_bar} {pos}/{len} coflows, {eta} left")
    }

    /// Progress of work that goes on in real time for so many seconds.
    pub fn seconds(seconds: f64) -> Self {
        Self::new((1e3 * seconds) as u64, "{wide_bar} {percent} %, {eta} left")
    }

    /// So many seconds more have gone by.
    pub fn advance_s(&self, seconds: f64) {
        self.advance((1e3 * seconds) as usize);
    }

    fn new(length: u64, template: &str) -> Self {
        let bar = ProgressBar::with_draw_target(Some(length), ProgressDrawTarget::hidden());
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
