//! How many requests there may be.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Instant;

use crate::connections::lock;

/// The most requests a second; a second's worth may come at once.
#[derive(Debug)]
pub(super) struct Rate(Mutex<Budget>);

#[derive(Debug)]
struct Budget {
    per_s: u32,
    at: Instant,
    /// Requests that may come at once.
    left: f64,
}

impl Rate {
    pub fn new(per_s: u32) -> Rate {
        Rate(Mutex::new(Budget { per_s, at: Instant::now(), left: per_s.into() }))
    }

    /// The most requests a second.
    pub fn per_s(&self) -> u32 {
        lock(&self.0).per_s
    }

    /// Allows `per_s` requests a second from now on.
    pub fn set(&self, per_s: u32) {
        lock(&self.0).per_s = per_s;
    }

    /// Whether there may be one more.
    pub fn take(&self) -> bool {
        let mut budget = lock(&self.0);
        let now = Instant::now();
        let per_s = f64::from(budget.per_s);
        let gained = now.duration_since(budget.at).as_secs_f64() * per_s;
        budget.left = (budget.left + gained).min(per_s);
        budget.at = now;
        if budget.left < 1.0 {
            return false;
        }
        budget.left -= 1.0;
        true
    }
}

/// The requests of tokens that have a limit of their own.
#[derive(Debug, Default)]
pub(super) struct Rates(Mutex<BTreeMap<Arc<str>, Rate>>);

impl Rates {
    /// Whether there may be one more of a token that may have so many a second.
    pub fn take(&self, token: &Arc<str>, per_s: u32) -> bool {
        let mut rates = lock(&self.0);
        let rate = rates.entry(token.clone()).or_insert_with(|| Rate::new(per_s));
        rate.set(per_s);
        rate.take()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_above_the_rate_are_refused() {
        let rate = Rate::new(3);
        let taken = (0..100).filter(|_| rate.take()).count();
        assert!((3..50).contains(&taken), "{taken}");
    }
}
