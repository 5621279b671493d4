//! Bytes sent by coflows and flows where nobody counts them: what is left of each flow is looked up
//! when somebody asks.

use covey_alloc::Allocator;
use covey_core::state::State;
use covey_core::{CoflowId, Time};

use super::integrator::FlowAt;

/// A sum that misses a number of bytes by less than this share has reached it: the rest is
/// rounding. Policies compare bytes with a larger tolerance. Without this one, a flow that ends or
/// stops where a threshold is may leave the sum just below it for good.
pub(super) const ROUNDING: f64 = 1e-10;

/// Bytes sent up to now, and bytes per second from now on.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Pace {
    pub sent: f64,
    pub rate: f64,
}

impl Pace {
    /// Whether `bytes` have been sent, but for rounding. Infinitely many never have.
    pub fn has_sent(self, bytes: f64) -> bool {
        self.sent >= bytes * (1.0 - ROUNDING)
    }

    /// The time at which `bytes` will have been sent if the rate stays.
    pub fn when(self, bytes: f64, now: Time) -> Time {
        if self.has_sent(bytes) {
            now
        } else if self.rate > 0.0 {
            now + (bytes - self.sent) / self.rate
        } else {
            Time::NEVER
        }
    }
}

/// When bytes will have been sent.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Due {
    /// The time if rates stay. It need not be exact if it is not earlier than the horizon of the
    /// question.
    pub time: Time,
    /// A time before which they cannot have been sent.
    pub earliest: Time,
}

impl Due {
    /// Never.
    pub const NEVER: Due = Due { time: Time::NEVER, earliest: Time::NEVER };

    /// At `time` if rates stay; other rates may send them at any time from `now` on.
    pub fn at(time: Time, now: Time) -> Due {
        Due { time, earliest: now }
    }
}

/// All flows at the rates of an allocator. `left` gives bytes left of an active flow.
pub(super) struct Readings<'a, L> {
    pub state: &'a State,
    pub allocator: &'a Allocator,
    pub now: Time,
    pub left: L,
}

impl<L: Fn(FlowAt) -> f64> Readings<'_, L> {
    /// What a coflow sends.
    pub fn of_coflow(&self, id: CoflowId) -> Pace {
        if !self.state.is_present(id) {
            return Pace::default();
        }
        let coflow = self.state.coflow(id);
        let written = Pace { sent: coflow.sent(), rate: 0.0 };
        coflow.demand().active().fold(written, |all, position| {
            let flow = self.of_flow(FlowAt::new(id, position));
            let sent = all.sent + flow.sent - coflow.sent_at(position);
            Pace { sent, rate: all.rate + flow.rate }
        })
    }

    /// The time at which the first flow of a coflow will have sent `bytes` if rates stay.
    pub fn when_flow_sent(&self, id: CoflowId, bytes: f64) -> Time {
        let present = Some(id).filter(|id| self.state.is_present(*id));
        let width = present.map_or(0, |id| self.state.coflow(id).demand().width());
        let times = (0..width).map(|p| self.of_flow(FlowAt::new(id, p)).when(bytes, self.now));
        times.fold(Time::NEVER, Time::min)
    }

    /// What a flow sends.
    pub fn of_flow(&self, flow: FlowAt) -> Pace {
        let (coflow, position) = (self.state.coflow(flow.coflow), flow.place());
        if !coflow.demand().is_active(position) {
            return Pace { sent: coflow.sent_at(position), rate: 0.0 };
        }
        let sent = coflow.progress().size[position] - (self.left)(flow);
        Pace { sent, rate: self.allocator.rates().rate(self.state, flow.coflow, position) }
    }
}
