//! Multi-level queues with exponentially growing limits (Aalo §4; Philae §4.3).

use covey_core::Criterion;

use crate::settings::Settings;
use crate::spec::{Param, SpecError};

/// A key whose relative distance to a limit is below this is equal to it, because sums of bytes are
/// rounded.
const ROUNDING: f64 = 1e-9;

/// `K` queues; queue `k` (from 0) holds keys up to `q1 * E^k`, the last one all others.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Queues {
    /// Number of queues.
    pub count: u32,
    /// Limit of the first queue, in bytes (or whatever the key is).
    pub first_limit: f64,
    /// Ratio of adjacent limits.
    pub factor: f64,
}

/// The parameter `K` of [`Queues`].
pub(crate) const K: Param = Param { name: "K", default: "10", help: "number of queues, 1 to 64" };

/// The parameter `E`, where queues have weights or time slots, too.
pub(crate) const E: Param = Param {
    name: "E",
    default: "10",
    help: "ratio of adjacent queue limits, and of the weights or time slots of queues",
};

/// The parameter `E`, where queues have neither.
pub(crate) const E_OF_LIMITS: Param =
    Param { name: "E", default: "10", help: "ratio of adjacent queue limits" };

/// The parameter `q1`.
pub(crate) const Q1: Param =
    Param { name: "q1", default: "10MiB", help: "limit of the first queue" };

/// A queue, from 0, as people read it: the first queue is 1.
pub(crate) fn criterion(queue: u32) -> Criterion {
    Criterion::number("queue", queue + 1)
}

impl Queues {
    /// From the parameters `K`, `E` and `q1`.
    pub(crate) fn from_settings(settings: &Settings) -> Result<Queues, SpecError> {
        Ok(Queues {
            count: settings.integer("K", 1, 64)?,
            first_limit: settings.size("q1")?,
            factor: settings.number("E", 1.01, 1e6)?,
        })
    }

    /// Upper limit of a queue; infinite for the last.
    pub fn limit(&self, queue: u32) -> f64 {
        if queue + 1 >= self.count {
            f64::INFINITY
        } else {
            self.first_limit * libm::pow(self.factor, f64::from(queue))
        }
    }

    /// Width of a queue. The last one has the width that it would have if another followed.
    pub fn span(&self, queue: u32) -> f64 {
        let limit = |queue: u32| self.first_limit * libm::pow(self.factor, f64::from(queue));
        if queue == 0 { limit(0) } else { limit(queue) - limit(queue - 1) }
    }

    /// The largest key of a queue: its limit, plus the tolerance.
    pub fn greatest(&self, queue: u32) -> f64 {
        self.limit(queue) * (1.0 + ROUNDING)
    }

    /// The queue of a key. A key that equals a limit, within the tolerance, stays in the upper
    /// queue.
    pub fn queue_of(&self, key: f64) -> u32 {
        let is_within = |queue: &u32| key <= self.greatest(*queue);
        (0..self.count).find(is_within).unwrap_or(self.count - 1)
    }

    /// The queue of a coflow whose key has risen to `key`, if reaching a limit demotes.
    pub fn left_at(&self, key: f64) -> u32 {
        let is_below = |queue: &u32| key < self.limit(*queue) * (1.0 - ROUNDING);
        (0..self.count).find(is_below).unwrap_or(self.count - 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_grow_by_the_factor() {
        let queues = Queues { count: 3, first_limit: 10.0, factor: 10.0 };
        assert_eq!(
            [0.0, 10.0, 10.5, 100.0, 101.0, 1e9].map(|key| queues.queue_of(key)),
            [0, 0, 1, 1, 2, 2]
        );
        assert_eq!(
            [0.0, 9.5, 10.0, 100.0, 101.0, 1e9].map(|key| queues.left_at(key)),
            [0, 0, 1, 2, 2, 2]
        );
        assert_eq!(queues.limit(2), f64::INFINITY);
        assert_eq!([0, 1, 2].map(|queue| queues.span(queue)), [10.0, 90.0, 900.0]);
        assert_eq!(Queues { count: 1, ..queues }.queue_of(1e12), 0);
    }
}
