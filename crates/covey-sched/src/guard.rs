//! A guard against starvation: overdue coflows go first in a fixed share of the time.
//!
//! Time is cut into windows of `window_s`. In the first `share` of each window, the *slot*, overdue
//! coflows are served before all others, in order of arrival. A coflow is overdue when its age
//! exceeds `grace_s + stretch * x`. Here `x` is a lower bound of the time that the coflow needs
//! when it is alone, which follows from what it has sent. Whether a coflow is overdue is decided
//! when a window begins and holds for its slot. So it does not depend on the times at which other
//! coflows cause a plan.
//!
//! # The bound
//! `x` never exceeds Γ, the time that the whole coflow needs alone. So a coflow of age `grace_s +
//! stretch Γ` is overdue whenever a window begins. From then on, in every slot, a flow of it that
//! is not at full rate crosses a link that is full with flows of the coflow itself or of coflows
//! that came before it. Let `W` be, for the worst of its flows, the sum over the flow's links of
//! the time that the link needs for all bytes of these coflows. After slots of `W` seconds in all
//! the flow has ended. Slots are `share` of the time, and the first begins within `window_s`.
//! Therefore
//!
//! > CCT ≤ grace + stretch Γ + window + W / share.
//!
//! Coflows that come later do not appear in it. For flows that start later than their coflow, the
//! clock runs from the last start, if that is after `grace + stretch Γ`.

use covey_core::Time;

/// The guard's parameters.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Guard {
    /// Share of each window in which overdue coflows go first, from 0 (never) to 1.
    pub share: f64,
    /// Length of a window in seconds.
    pub window_s: f64,
    /// Age in seconds at which even an empty coflow is overdue.
    pub grace_s: f64,
    /// Seconds of age allowed for each second that a coflow needs alone.
    pub stretch: f64,
}

/// The part of a window that a time is in.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Phase {
    /// Whether overdue coflows go first.
    pub in_slot: bool,
    /// Whether a window, and with it a slot, begins at this time.
    pub begins: bool,
    /// When `in_slot` changes next.
    pub until: Time,
}

impl Guard {
    /// The phase at `now`.
    pub fn phase(&self, now: Time) -> Phase {
        let (start, slack) = (self.window(now), now.slack_s());
        let end_of_slot = start + self.share * self.window_s;
        let in_slot = now.as_secs() + slack < end_of_slot;
        let until = if in_slot { end_of_slot } else { start + self.window_s };
        let begins = now.as_secs() <= start + slack;
        Phase { in_slot, begins, until: Time::from_secs(until) }
    }

    /// The first beginning of a slot from `time` on.
    ///
    /// A coflow's deadline moves as it sends. Rechecking exactly at the deadline could repeat for
    /// ever, so it is checked when a window begins.
    pub fn next_slot(&self, time: Time) -> Time {
        if !time.comes() {
            return time;
        }
        let start = self.window(time);
        if start + time.slack_s() < time.as_secs() {
            Time::from_secs(start + self.window_s)
        } else {
            time
        }
    }

    /// The beginning in seconds of the window that `time` is in. A time that is a boundary but for
    /// rounding is one.
    fn window(&self, time: Time) -> f64 {
        ((time.as_secs() + time.slack_s()) / self.window_s).floor() * self.window_s
    }

    /// When a coflow becomes overdue that arrived at `arrival` and needs at least `alone_s` seconds
    /// alone.
    pub fn due(&self, arrival: Time, alone_s: f64) -> Time {
        arrival + (self.grace_s + self.stretch * alone_s)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GUARD: Guard = Guard { share: 0.25, window_s: 2.0, grace_s: 30.0, stretch: 16.0 };

    #[test]
    fn a_window_begins_with_its_slot() {
        let phase = |s: f64| {
            let phase = GUARD.phase(Time::from_secs(s));
            (phase.in_slot, phase.until.as_secs())
        };
        assert_eq!(phase(0.0), (true, 0.5));
        assert_eq!(phase(0.5), (false, 2.0));
        assert_eq!(phase(1.9), (false, 2.0));
        assert_eq!(phase(2.0 - 1e-12), (true, 2.5));
        assert_eq!(phase(7.0), (false, 8.0));
    }

    #[test]
    fn a_window_begins_once() {
        let begins = |s: f64| GUARD.phase(Time::from_secs(s)).begins;
        assert!([0.0, 2.0, 2.0 - 1e-12, 4.0].into_iter().all(begins));
        assert!(![0.1, 0.5, 1.9, 2.1].into_iter().any(begins));
    }

    #[test]
    fn the_slots_are_the_share_of_the_time() {
        let (mut now, mut inside) = (Time::ZERO, 0.0);
        while now.as_secs() < 1000.0 {
            let phase = GUARD.phase(now);
            assert!(phase.until > now);
            inside += if phase.in_slot { phase.until - now } else { 0.0 };
            now = phase.until;
        }
        assert!((inside / now.as_secs() - 0.25).abs() < 1e-9);
    }

    #[test]
    fn the_next_slot_begins_with_a_window() {
        let next = |s: f64| GUARD.next_slot(Time::from_secs(s)).as_secs();
        assert_eq!([4.0, 4.25, 4.75].map(next), [4.0, 6.0, 6.0]);
        assert_eq!(GUARD.next_slot(Time::NEVER), Time::NEVER);
        assert_eq!(GUARD.due(Time::from_secs(1.0), 2.0), Time::from_secs(63.0));
    }
}
