//! A bound on the bytes of the flow that has sent most.
//!
//! Rates are constant until the next round, so a scan of all flows finds the first flow to have
//! sent a number of bytes. But coflows are wide and rounds are many. So the bound is kept: the
//! maximum number of bytes that a flow can have sent if the flow that had sent most was always
//! among the fastest. Flows are scanned only when that bound could matter. Under equal rates the
//! bound is exact.

use covey_core::Time;

use super::super::readings::Pace;

/// The first flow that will have sent a number of bytes.
#[derive(Debug, Clone, Copy)]
pub(super) struct First {
    /// When it will have sent them, if rates stay.
    pub time: Time,
    /// The maximum number of bytes that a flow has sent so far.
    pub most: f64,
}

/// The bound on the flow that has sent most.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Longest {
    /// The bytes of the last question; nothing is kept before the first.
    asked: Option<f64>,
    /// The time at which they will have been sent, if it was computed at the present rates.
    found: Option<Time>,
    /// No unfinished flow had sent more than this many bytes at the time `as_of`.
    most: f64,
    as_of: Time,
    /// The maximum rate of a flow, in bytes per second.
    fastest: f64,
}

impl Longest {
    /// The time at which the first flow will have sent `bytes`, if known, or a bound that is not
    /// earlier than the `horizon`.
    pub(super) fn answer(&self, bytes: f64, horizon: Time) -> Option<Time> {
        if self.asked != Some(bytes) {
            return None;
        }
        let fastest = Pace { sent: self.most, rate: self.fastest };
        let bound = || fastest.when(bytes, self.as_of);
        self.found.or_else(|| Some(bound()).filter(|bound| *bound > horizon))
    }

    /// Keeps an answer. `fastest` is asked for with the first question only.
    pub(super) fn found(
        self,
        bytes: f64,
        first: First,
        as_of: Time,
        fastest: impl FnOnce() -> f64,
    ) -> Longest {
        let fastest = if self.asked.is_none() { fastest() } else { self.fastest };
        Longest { asked: Some(bytes), found: Some(first.time), most: first.most, as_of, fastest }
    }

    /// Rates change at `now`; no flow is faster than `fastest` from then on.
    pub(super) fn carry(self, now: Time, fastest: impl FnOnce() -> f64) -> Longest {
        if self.asked.is_none() {
            return self;
        }
        let most = self.most + self.fastest * (now - self.as_of).max(0.0);
        Longest { found: None, most, as_of: now, fastest: fastest(), ..self }
    }
}
