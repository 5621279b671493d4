//! The bytes that each coflow has sent through each of its links, for policies that set limits for
//! these ([`Policy::link_limits`](covey_core::Policy::link_limits)).

use covey_core::alloc::CoflowAllocation;
use covey_core::state::CoflowState;
use covey_core::{CoflowId, Demand, LinkId, Time, min_by_lane};

/// One meter a coflow; none while no limits are set.
#[derive(Debug, Default)]
pub(super) struct Meters {
    /// Bytes, ascending.
    limits: Vec<f64>,
    /// By [`CoflowId`].
    meters: Vec<Meter>,
}

/// Bytes of one coflow through its links.
#[derive(Debug, Default)]
struct Meter {
    since: Time,
    /// Bytes up to `since`, by local link.
    sent: Vec<f64>,
    /// Bytes per second from `since` on, by local link.
    rate: Vec<f64>,
    /// The number of limits reached, by local link.
    reached: Vec<usize>,
    /// The next limit, by local link; infinite if there is none.
    limit: Vec<f64>,
    /// The time at which the next limit at any link will be reached.
    next: Option<Time>,
}

impl Meters {
    /// Forgets all coflows.
    pub(super) fn start(&mut self, limits: &[f64]) {
        self.limits.clear();
        self.limits.extend_from_slice(limits);
        self.meters.iter_mut().for_each(|meter| meter.next = None);
    }

    /// A coflow has arrived.
    pub(super) fn reset(&mut self, id: CoflowId, coflow: &CoflowState, now: Time) {
        if self.limits.is_empty() {
            return;
        }
        if self.meters.len() <= id.index() {
            self.meters.resize_with(id.index() + 1, Meter::default);
        }
        let meter = &mut self.meters[id.index()];
        let links = coflow.demand().links().len();
        meter.since = now;
        for bytes in [&mut meter.sent, &mut meter.rate] {
            bytes.clear();
            bytes.resize(links, 0.0);
        }
        meter.reached.clear();
        meter.reached.resize(links, 0);
        meter.limit.clear();
        meter.limit.resize(links, self.limits[0]);
        meter.next = None;
    }

    /// A coflow sends nothing from `now` on.
    pub(super) fn halt(&mut self, id: CoflowId, now: Time) {
        if let Some(meter) = self.meters.get_mut(id.index()).filter(|_| !self.limits.is_empty()) {
            meter.advance(now);
            meter.rate.fill(0.0);
            meter.find_next();
        }
    }

    /// Takes over a coflow's rates from `now` on.
    pub(super) fn install(
        &mut self,
        id: CoflowId,
        demand: &Demand,
        allocation: &CoflowAllocation,
        now: Time,
    ) {
        if self.limits.is_empty() {
            return;
        }
        let meter = &mut self.meters[id.index()];
        meter.advance(now);
        allocation.link_rates(demand, &mut meter.rate);
        meter.find_next();
    }

    /// The time at which a coflow will reach its next limit, if rates stay.
    pub(super) fn next(&self, id: CoflowId) -> Time {
        let meter = self.meters.get(id.index());
        meter.and_then(|meter| meter.next).unwrap_or(Time::NEVER)
    }

    /// Calls `reached` with each link at which a coflow has reached a limit by `now`, and the
    /// limit.
    pub(super) fn take_reached(
        &mut self,
        id: CoflowId,
        coflow: &CoflowState,
        now: Time,
        mut reached: impl FnMut(LinkId, f64),
    ) {
        let meter = &mut self.meters[id.index()];
        meter.advance(now);
        for (l, link) in coflow.demand().links().iter().enumerate() {
            while meter.is_due(l, now) {
                let limit = meter.limit[l];
                // The limit must not be reached a second time because of rounding.
                meter.sent[l] = meter.sent[l].max(limit);
                meter.reached[l] += 1;
                meter.limit[l] =
                    self.limits.get(meter.reached[l]).copied().unwrap_or(f64::INFINITY);
                reached(*link, limit);
            }
        }
        meter.find_next();
    }
}

impl Meter {
    fn advance(&mut self, now: Time) {
        let dt = (now - self.since).max(0.0);
        self.since = now;
        for (sent, rate) in self.sent.iter_mut().zip(&self.rate) {
            *sent += rate * dt;
        }
    }

    /// Whether the next limit is reached at a link at `now`, up to which all is counted.
    fn is_due(&self, l: usize, now: Time) -> bool {
        let missing = self.limit[l] - self.sent[l];
        missing <= 0.0 || self.rate[l] > 0.0 && (self.since + missing / self.rate[l]).due(now)
    }

    fn find_next(&mut self) {
        // Without a limit or a rate this is infinite, or NaN, which is never the minimum.
        let rest = |[limit, sent, rate]: [f64; 3]| (limit - sent).max(0.0) / rate;
        let next = min_by_lane([&self.limit, &self.sent, &self.rate], rest);
        self.next = next.is_finite().then(|| self.since + next);
    }
}
