//! The available share of each processor.

use covey_core::Time;
use covey_trace::{Availability, Change};

/// Changes of shares over time.
#[derive(Debug, Default)]
pub(super) struct Shares {
    availability: Availability,
    /// The number of changes so far.
    done: usize,
}

impl Shares {
    /// Sets the changes of all runs from now on.
    pub(super) fn set(&mut self, availability: Availability) {
        self.availability = availability;
    }

    /// Goes back to before the first change.
    pub(super) fn clear(&mut self) {
        self.done = 0;
    }

    /// The time of the next change.
    pub(super) fn next(&self) -> Time {
        let change = self.availability.changes().get(self.done);
        change.map_or(Time::NEVER, |change| Time::from_secs(change.time_s))
    }

    /// Takes the next change, if it is due at `now`.
    pub(super) fn pop(&mut self, now: Time) -> Option<Change> {
        if !self.next().due(now) {
            return None;
        }
        self.done += 1;
        self.availability.changes().get(self.done - 1).copied()
    }
}
