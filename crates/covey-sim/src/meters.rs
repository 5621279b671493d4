//! What each coflow has sent through each of its links, for policies that set limits to it
//! ([`Policy::link_limits`](covey_core::Policy::link_limits)).

use covey_core::alloc::Grant;
use covey_core::state::CoflowState;
use covey_core::{CoflowId, Demand, LinkId, Time};

/// One meter a coflow; none while no limits are set.
#[derive(Debug, Default)]
pub(crate) struct Meters {
    limits: Vec<f64>,
    meters: Vec<Meter>,
}

/// Bytes of one coflow through its links.
#[derive(Debug, Default)]
struct Meter {
    since: Time,
    /// Up to `since`, and bytes per second from then on, by local link.
    sent: Vec<f64>,
    rate: Vec<f64>,
    /// Number of limits reached.
    reached: Vec<usize>,
    /// When the next limit will be reached anywhere.
    next: Option<Time>,
}

impl Meters {
    /// Forgets all coflows.
    pub(crate) fn start(&mut self, limits: &[f64]) {
        self.limits.clear();
        self.limits.extend_from_slice(limits);
        self.meters.iter_mut().for_each(|meter| meter.next = None);
    }

    /// A coflow has come.
    pub(crate) fn reset(&mut self, id: CoflowId, coflow: &CoflowState, now: Time) {
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
        meter.next = None;
    }

    /// Takes over a coflow's rates from `now` on.
    pub(crate) fn install(&mut self, id: CoflowId, demand: &Demand, grant: &Grant, now: Time) {
        if self.limits.is_empty() {
            return;
        }
        let meter = &mut self.meters[id.index()];
        meter.advance(now);
        for (l, rate) in meter.rate.iter_mut().enumerate() {
            *rate = grant.used(demand, l);
        }
        meter.find_next(&self.limits);
    }

    /// When a coflow will reach the next limit, if rates stay.
    pub(crate) fn next(&self, id: CoflowId) -> Time {
        let meter = self.meters.get(id.index());
        meter.and_then(|meter| meter.next).unwrap_or(Time::NEVER)
    }

    /// Calls `reached` with each link at which a coflow has reached a limit by `now`, and the limit.
    pub(crate) fn take_reached(
        &mut self,
        id: CoflowId,
        coflow: &CoflowState,
        now: Time,
        mut reached: impl FnMut(LinkId, f64),
    ) {
        let meter = &mut self.meters[id.index()];
        meter.advance(now);
        for (l, link) in coflow.demand().links().iter().enumerate() {
            while meter.when(l, &self.limits).is_some_and(|time| time.due(now)) {
                let limit = self.limits[meter.reached[l]];
                // Not to be reached again for rounding.
                meter.sent[l] = meter.sent[l].max(limit);
                meter.reached[l] += 1;
                reached(*link, limit);
            }
        }
        meter.find_next(&self.limits);
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

    /// When the next limit will be reached at a link.
    fn when(&self, l: usize, limits: &[f64]) -> Option<Time> {
        let missing = limits.get(self.reached[l])? - self.sent[l];
        if missing <= 0.0 {
            return Some(self.since);
        }
        (self.rate[l] > 0.0).then(|| self.since + missing / self.rate[l])
    }

    fn find_next(&mut self, limits: &[f64]) {
        self.next = (0..self.sent.len()).filter_map(|l| self.when(l, limits)).min();
    }
}
