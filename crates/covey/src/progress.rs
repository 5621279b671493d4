//! A progress bar on standard error, if that is a terminal and the work takes over a second.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use covey_experiment::Progress;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// The duration of work after which the bar appears.
const PATIENCE: Duration = Duration::from_secs(1);

/// The progress of simulations that run at the same time.
pub struct Bar {
    bar: ProgressBar,
    started: Instant,
    shown: AtomicBool,
}

impl Bar {
    /// Progress through `coflows` coflows, over all simulations; `what` describes them.
    pub fn coflows(coflows: usize, what: &str) -> Self {
        Self::new(coflows as u64, &format!("{{wide_bar}} {{pos}}/{{len}} {what}, {{eta}} left"))
    }

    /// Progress of simulations of `policies` policies, each on `coflows` coflows.
    pub fn policies(policies: usize, coflows: usize) -> Self {
        Self::coflows(policies * coflows, &counted(policies, coflows))
    }

    /// Progress of work that takes `seconds` seconds of real time.
    pub fn seconds(seconds: f64) -> Self {
        Self::new((1e3 * seconds) as u64, "{wide_bar} {percent} %, {eta} left")
    }

    /// Progress through a file of this length.
    pub fn bytes(length: u64) -> Self {
        Self::new(length, "{wide_bar} {bytes}/{total_bytes} read, {eta} left")
    }

    /// Adds bytes that were read.
    pub fn advance_bytes(&self, bytes: usize) {
        self.advance(bytes);
    }

    /// Adds seconds that have passed.
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

/// The unit of the bar if each policy goes through all coflows.
fn counted(policies: usize, coflows: usize) -> String {
    match policies {
        1 => "coflows".to_owned(),
        _ => format!("coflows ({policies} policies × {coflows})"),
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn coflows_count_once_for_each_policy() {
        let bar = Bar::policies(7, 526);
        assert_eq!(bar.bar.length(), Some(3682));
        assert_eq!(counted(7, 526), "coflows (7 policies × 526)");
        assert_eq!(counted(1, 526), "coflows");
    }
}
