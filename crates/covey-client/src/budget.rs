//! Rates too low to be left to the kernel.
//!
//! The kernel spaces packets by a timer, and looks at a new rate only when that has run out: a flow whose rate is
//! low would be late by two segments' time when it is raised, 45 ms at 64 kB/s. So the kernel is told no rate below
//! [`LEAST`], and the writer of a slower flow gives the socket a slice at a time.
//!
//! Nor does the kernel send faster before the next acknowledgement: what a socket is given at once after its rate
//! was raised is still spaced by the lower one. So the first that it is given is little.

use std::time::{Duration, Instant};

/// The least rate that the kernel is to keep, in bytes per second: two segments take it 3 ms.
pub const LEAST: f64 = 1e6;

/// A slice is what may be sent in this time,
const SLICE_S: f64 = 0.05;
/// but within these bounds, in bytes.
const BOUNDS: (f64, f64) = (8.0 * 1024.0, 16.0 * 1024.0);

/// What a flow gives first when its rate is raised, in bytes: two segments.
const FIRST: usize = 2896;

/// What a flow may give to its socket now, and when it may give more.
#[derive(Debug)]
pub struct Budget {
    /// Bytes per second; nothing where the kernel, or nobody, keeps the rate.
    rate: Option<f64>,
    /// What may be given at `at`: at most a slice. Less than nothing, where more was.
    bytes: f64,
    at: Instant,
    /// Whether the rate has just been raised to the kernel's.
    is_raised: bool,
}

impl Budget {
    /// Without a limit.
    pub fn new(now: Instant) -> Budget {
        Budget { rate: None, bytes: 0.0, at: now, is_raised: false }
    }

    /// Another rate holds from now on: it is kept here if it is low enough. At 0 nothing comes in.
    pub fn set(&mut self, rate: f64, now: Instant) {
        self.settle(now);
        let was_kept_here = self.rate.is_some();
        self.rate = (rate < LEAST).then_some(rate);
        if self.rate.is_none() {
            self.bytes = 0.0;
        }
        self.is_raised = self.rate.is_none() && (was_kept_here || self.is_raised);
    }

    fn slice(rate: f64) -> f64 {
        (rate * SLICE_S).clamp(BOUNDS.0, BOUNDS.1)
    }

    fn settle(&mut self, now: Instant) {
        if let Some(rate) = self.rate {
            let more = rate * now.saturating_duration_since(self.at).as_secs_f64();
            self.bytes = (self.bytes + more).min(Self::slice(rate));
        }
        self.at = now;
    }

    /// The most bytes that may be given to the socket now, or when some may.
    pub fn most(&mut self, now: Instant) -> Result<usize, Instant> {
        self.settle(now);
        match self.rate {
            None if self.is_raised => Ok(FIRST),
            None => Ok(usize::MAX),
            // Rounding may leave the part of a byte.
            Some(rate) if self.bytes > -1.0 => Ok(Self::slice(rate) as usize),
            Some(rate) => {
                let wait_s = (-self.bytes / rate.max(1.0)).min(3600.0);
                Err(now + Duration::from_secs_f64(wait_s))
            }
        }
    }

    /// So many bytes have been given to it.
    pub fn spend(&mut self, bytes: u64) {
        if self.rate.is_some() {
            self.bytes -= bytes as f64;
        }
        self.is_raised = false;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    /// Gives the socket what it may, for so long; the writer comes `late` each time.
    fn sent(budget: &mut Budget, from: Instant, time: Duration, late: Duration) -> u64 {
        let (mut now, mut sent) = (from, 0);
        while now < from + time {
            match budget.most(now) {
                Ok(most) => {
                    budget.spend(most as u64);
                    sent += most as u64;
                }
                Err(until) => now = until + late,
            }
        }
        sent
    }

    #[test]
    fn low_rates_are_kept_by_writers_that_are_late_too() {
        for rate in [2e3, 64e3, 300e3, 999e3] {
            for late_ms in [0, 5] {
                let start = Instant::now();
                let mut budget = Budget::new(start);
                budget.set(rate, start);
                let late = Duration::from_millis(late_ms);
                let sent = sent(&mut budget, start, 10 * SECOND, late) as f64;
                let slices = (sent - 10.0 * rate) / Budget::slice(rate);
                assert!((-0.01..=2.01).contains(&slices), "{rate}: {slices} slices too many");
            }
        }
    }

    #[test]
    fn higher_rates_are_the_kernels() {
        let start = Instant::now();
        let mut budget = Budget::new(start);
        budget.set(10e3, start);
        sent(&mut budget, start, SECOND, Duration::ZERO);
        assert!(budget.most(start + SECOND).is_err(), "it has sent what it may");
        budget.set(LEAST, start + SECOND);
        assert_eq!(budget.most(start + SECOND), Ok(FIRST));
        budget.spend(FIRST as u64);
        assert_eq!(budget.most(start + SECOND), Ok(usize::MAX));
    }

    #[test]
    fn who_has_sent_too_much_is_not_forgiven_for_waiting() {
        let start = Instant::now();
        let mut budget = Budget::new(start);
        budget.set(10e3, start);
        budget.spend(100_000);
        budget.set(0.0, start);
        budget.set(10e3, start + 5 * SECOND);
        let until = budget.most(start + 5 * SECOND).expect_err("it owes ten seconds");
        assert_eq!(until.duration_since(start).as_secs(), 15);
    }
}
