//! A token bucket for rates that are too low for the kernel.
//!
//! The kernel spaces packets by a timer, and applies a new rate only when the timer has expired. If
//! a low rate were raised, the flow would be late by the time of two segments: 45 ms at 64 kB/s. So
//! the kernel gets no rate below [`MIN_KERNEL_RATE`], and the writer of a slower flow gives the
//! socket a slice at a time.
//!
//! The kernel also keeps the old spacing until the next acknowledgement: bytes that a socket gets
//! right after its rate was raised are still spaced by the lower rate. So the first write after a
//! raise is short.

use std::time::{Duration, Instant};

/// Minimum rate that the kernel keeps, in bytes per second: it sends two segments in 3 ms.
pub const MIN_KERNEL_RATE: f64 = 1e6;

/// A slice is what may be sent in this time, in seconds,
const SLICE_S: f64 = 0.05;
/// within these bounds in bytes.
const SLICE_BOUNDS: (f64, f64) = (8.0 * 1024.0, 16.0 * 1024.0);

/// Bytes of the first write after the rate was raised: two segments.
const FIRST_WRITE: usize = 2896;

/// Says how many bytes a flow may give to its socket now, and when it may give more.
#[derive(Debug)]
pub struct TokenBucket {
    /// Bytes per second; `None` where the kernel keeps the rate, or there is no limit.
    rate: Option<f64>,
    /// Bytes that may be given at the time `at`, at most a slice. Negative after more was given.
    tokens: f64,
    at: Instant,
    /// Whether the rate was raised to one that the kernel keeps, and nothing has been written
    /// since.
    is_raised: bool,
}

impl TokenBucket {
    /// A bucket without a limit.
    pub fn new(now: Instant) -> TokenBucket {
        TokenBucket { rate: None, tokens: 0.0, at: now, is_raised: false }
    }

    /// Sets the rate from `now` on. The bucket keeps it if it is low enough. At 0 no tokens come
    /// in.
    pub fn set(&mut self, rate: f64, now: Instant) {
        self.refill(now);
        let was_kept_here = self.rate.is_some();
        self.rate = (rate < MIN_KERNEL_RATE).then_some(rate);
        if self.rate.is_none() {
            self.tokens = 0.0;
        }
        self.is_raised = self.rate.is_none() && (was_kept_here || self.is_raised);
    }

    fn slice(rate: f64) -> f64 {
        (rate * SLICE_S).clamp(SLICE_BOUNDS.0, SLICE_BOUNDS.1)
    }

    fn refill(&mut self, now: Instant) {
        if let Some(rate) = self.rate {
            let more = rate * now.saturating_duration_since(self.at).as_secs_f64();
            self.tokens = (self.tokens + more).min(Self::slice(rate));
        }
        self.at = now;
    }

    /// Returns how many bytes the socket may be given at most now, or when it may be given some.
    pub fn available(&mut self, now: Instant) -> Result<usize, Instant> {
        self.refill(now);
        match self.rate {
            None if self.is_raised => Ok(FIRST_WRITE),
            None => Ok(usize::MAX),
            // Rounding may leave a fraction of a byte.
            Some(rate) if self.tokens > -1.0 => Ok(Self::slice(rate) as usize),
            Some(rate) => {
                let wait_s = (-self.tokens / rate.max(1.0)).min(3600.0);
                Err(now + Duration::from_secs_f64(wait_s))
            }
        }
    }

    /// The socket has been given `bytes`.
    pub fn spend(&mut self, bytes: u64) {
        if self.rate.is_some() {
            self.tokens -= bytes as f64;
        }
        self.is_raised = false;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    /// Bytes that a writer gives to the socket in `time` if it is `late` each time.
    fn sent(bucket: &mut TokenBucket, from: Instant, time: Duration, late: Duration) -> u64 {
        let (mut now, mut sent) = (from, 0);
        while now < from + time {
            match bucket.available(now) {
                Ok(max) => {
                    bucket.spend(max as u64);
                    sent += max as u64;
                }
                Err(until) => now = until + late,
            }
        }
        sent
    }

    #[test]
    fn low_rates_are_kept_even_by_late_writers() {
        for rate in [2e3, 64e3, 300e3, 999e3] {
            for late_ms in [0, 5] {
                let start = Instant::now();
                let mut bucket = TokenBucket::new(start);
                bucket.set(rate, start);
                let late = Duration::from_millis(late_ms);
                let sent = sent(&mut bucket, start, 10 * SECOND, late) as f64;
                let slices = (sent - 10.0 * rate) / TokenBucket::slice(rate);
                assert!((-0.01..=2.01).contains(&slices), "{rate}: {slices} slices too many");
            }
        }
    }

    #[test]
    fn higher_rates_are_left_to_the_kernel() {
        let start = Instant::now();
        let mut bucket = TokenBucket::new(start);
        bucket.set(10e3, start);
        sent(&mut bucket, start, SECOND, Duration::ZERO);
        assert!(bucket.available(start + SECOND).is_err(), "it has sent what it may");
        bucket.set(MIN_KERNEL_RATE, start + SECOND);
        assert_eq!(bucket.available(start + SECOND), Ok(FIRST_WRITE));
        bucket.spend(FIRST_WRITE as u64);
        assert_eq!(bucket.available(start + SECOND), Ok(usize::MAX));
    }

    #[test]
    fn a_flow_that_has_sent_too_much_waits_even_if_it_was_stopped_meanwhile() {
        let start = Instant::now();
        let mut bucket = TokenBucket::new(start);
        bucket.set(10e3, start);
        bucket.spend(100_000);
        bucket.set(0.0, start);
        bucket.set(10e3, start + 5 * SECOND);
        let until = bucket.available(start + 5 * SECOND).expect_err("it owes ten seconds");
        assert_eq!(until.duration_since(start).as_secs(), 15);
    }
}
