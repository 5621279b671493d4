//! The share of each processor that is there for compressing.

use covey_core::Time;
use covey_trace::{Availability, Change};

/// Changes of shares over time.
#[derive(Debug, Default)]
pub(super) struct Shares {
    availability: Availability,
    /// How many changes have come.
    done: usize,
}

impl Shares {
    /// Sets the changes of all runs from now on.
    pub(super) fn set(&mut self, availability: Availability) {
        self.availability = availability;
    }

    /// No change has come.
    pub(super) fn clear(&mut self) {
        self.done = 0;
    }

    /// When the next change comes.
    pub(super) fn next(&self) -> Time {
        let change = self.availability.changes().get(self.done);
        change.map_or(Time::NEVER, |change| Time::from_secs(change.time_s))
    }

    /// The next change, if it has come by `now`.
    pub(super) fn pop(&mut self, now: Time) -> Option<Change> {
        if !self.next().due(now) {
            return None;
        }
        self.done += 1;
        self.availability.changes().get(self.done - 1).copied()
    }
}
