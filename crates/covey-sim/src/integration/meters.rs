//! The bytes that each coflow has sent through each of its links, for policies that set thresholds
//! for these ([`Policy::link_thresholds`](covey_core::Policy::link_thresholds)) or wait for them
//! ([`Plan::wake_when_passed`](covey_core::Plan::wake_when_passed)).

use covey_core::state::{CoflowState, State};
use covey_core::{CoflowId, Demand, LinkId, Time, min_by_lane};

use super::readings::Pace;

/// A meter for each coflow. The meter is on if thresholds are set, or if the policy waits for bytes
/// of the coflow through a link.
#[derive(Debug, Default)]
pub(super) struct Meters {
    /// Bytes, ascending.
    thresholds: Vec<f64>,
    /// By [`CoflowId`].
    meters: Vec<Meter>,
    /// The number of meters that are on.
    on: usize,
}

/// Bytes of one coflow through its links.
#[derive(Debug, Default)]
struct Meter {
    is_on: bool,
    /// The links through which the policy waits for bytes.
    awaited: Vec<LinkId>,
    since: Time,
    /// Bytes up to `since`, by local link.
    sent: Vec<f64>,
    /// Bytes per second from `since` on, by local link.
    rate: Vec<f64>,
    /// The number of thresholds reached, by local link.
    reached: Vec<usize>,
    /// The next threshold, by local link; infinite if there is none.
    threshold: Vec<f64>,
    /// The time at which the next threshold at any link will be reached.
    next: Option<Time>,
}

impl Meters {
    /// Forgets all coflows.
    pub(super) fn start(&mut self, thresholds: &[f64]) {
        self.thresholds.clear();
        self.thresholds.extend_from_slice(thresholds);
        self.meters.iter_mut().for_each(Meter::turn_off);
        self.on = 0;
    }

    /// Whether any meter is on.
    pub(super) fn any_is_on(&self) -> bool {
        self.on > 0
    }

    /// A coflow has arrived.
    pub(super) fn reset(&mut self, id: CoflowId, coflow: &CoflowState, now: Time) {
        if !self.thresholds.is_empty() {
            self.turn_on(id, coflow, now);
        }
    }

    /// A coflow has left, or its flows get other positions.
    pub(super) fn forget(&mut self, id: CoflowId) {
        if let Some(meter) = self.meters.get_mut(id.index()) {
            self.on -= usize::from(meter.is_on);
            meter.turn_off();
        }
    }

    /// Whether the meter of a coflow is on.
    pub(super) fn is_on(&self, id: CoflowId) -> bool {
        self.meters.get(id.index()).is_some_and(|meter| meter.is_on)
    }

    /// Counts the bytes of a coflow from now on. It has sent nothing.
    pub(super) fn turn_on(&mut self, id: CoflowId, coflow: &CoflowState, now: Time) {
        if self.meters.len() <= id.index() {
            self.meters.resize_with(id.index() + 1, Meter::default);
        }
        let meter = &mut self.meters[id.index()];
        let links = coflow.demand().links().len();
        self.on += usize::from(!std::mem::replace(&mut meter.is_on, true));
        meter.since = now;
        for bytes in [&mut meter.sent, &mut meter.rate] {
            bytes.clear();
            bytes.resize(links, 0.0);
        }
        meter.reached.clear();
        meter.reached.resize(links, 0);
        meter.threshold.clear();
        meter.threshold.resize(links, self.thresholds.first().copied().unwrap_or(f64::INFINITY));
        meter.next = None;
    }

    /// A coflow that sends nothing has got flows, and so other links than those `before`.
    pub(super) fn extended(&mut self, id: CoflowId, before: &[LinkId], demand: &Demand) {
        let meter = self.meters.get_mut(id.index()).filter(|meter| meter.is_on);
        let Some(meter) = meter else { return };
        let links = demand.links().len();
        let (sent, reached, threshold) = (
            std::mem::take(&mut meter.sent),
            std::mem::take(&mut meter.reached),
            std::mem::take(&mut meter.threshold),
        );
        meter.rate.clear();
        meter.rate.resize(links, 0.0);
        meter.sent.resize(links, 0.0);
        meter.reached.resize(links, 0);
        meter.threshold.resize(links, self.thresholds.first().copied().unwrap_or(f64::INFINITY));
        for (l, link) in before.iter().enumerate() {
            let k = demand.local(link.index());
            meter.sent[k] = sent[l];
            meter.reached[k] = reached[l];
            meter.threshold[k] = threshold[l];
        }
        meter.find_next();
    }

    /// The policy waits for bytes of a coflow through one of its links. The meter is on.
    pub(super) fn wait(&mut self, id: CoflowId, link: LinkId) {
        let awaited = &mut self.meters[id.index()].awaited;
        if let Err(k) = awaited.binary_search(&link) {
            awaited.insert(k, link);
        }
    }

    /// The links through which the policy waits for bytes of a coflow.
    pub(super) fn awaited(&self, id: CoflowId) -> &[LinkId] {
        self.meters.get(id.index()).map_or(&[], |meter| &meter.awaited)
    }

    /// Counts anew what a coflow has sent up to `now`. `sent` gives the bytes of the flow at a
    /// position.
    pub(super) fn recount(
        &mut self,
        id: CoflowId,
        demand: &Demand,
        now: Time,
        sent: impl Fn(usize) -> f64,
    ) {
        let meter = &mut self.meters[id.index()];
        meter.since = now;
        meter.sent.fill(0.0);
        for position in 0..demand.width() {
            let sent = sent(position);
            demand.path(position).for_each(|l| meter.sent[l] += sent);
        }
    }

    /// The time at which so many bytes of a coflow will have passed a link, if rates stay.
    pub(super) fn when_passed(
        &self,
        state: &State,
        id: CoflowId,
        link: LinkId,
        bytes: f64,
    ) -> Time {
        let Some(meter) = self.meters.get(id.index()) else { return Time::NEVER };
        if meter.awaited.binary_search(&link).is_err() {
            return Time::NEVER;
        }
        let l = state.coflow(id).demand().local(link.index());
        meter.pace(l).when(bytes, meter.since)
    }

    /// A coflow sends nothing from `now` on.
    pub(super) fn halt(&mut self, id: CoflowId, now: Time) {
        if let Some(meter) = self.meters.get_mut(id.index()).filter(|meter| meter.is_on) {
            meter.advance(now);
            meter.rate.fill(0.0);
            meter.find_next();
        }
    }

    /// Takes over a coflow's rates from `now` on: `link_rates` writes them down by local link.
    pub(super) fn install(
        &mut self,
        id: CoflowId,
        now: Time,
        link_rates: impl FnOnce(&mut Vec<f64>),
    ) {
        let meter = self.meters.get_mut(id.index()).filter(|meter| meter.is_on);
        let Some(meter) = meter else { return };
        meter.advance(now);
        link_rates(&mut meter.rate);
        meter.find_next();
    }

    /// The time at which any coflow will reach its next threshold, if rates stay.
    pub(super) fn next_of_all(&self) -> Time {
        let next = |meter: &Meter| meter.next.unwrap_or(Time::NEVER);
        self.meters.iter().map(next).fold(Time::NEVER, Time::min)
    }

    /// The time at which a coflow will reach its next threshold, if rates stay.
    pub(super) fn next(&self, id: CoflowId) -> Time {
        let meter = self.meters.get(id.index());
        meter.and_then(|meter| meter.next).unwrap_or(Time::NEVER)
    }

    /// Calls `reached` with each link at which a coflow has reached a threshold by `now`, and the
    /// threshold.
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
                let threshold = meter.threshold[l];
                // The threshold must not be reached a second time because of rounding.
                meter.sent[l] = meter.sent[l].max(threshold);
                meter.reached[l] += 1;
                meter.threshold[l] =
                    self.thresholds.get(meter.reached[l]).copied().unwrap_or(f64::INFINITY);
                reached(*link, threshold);
            }
        }
        meter.find_next();
    }
}

impl Meter {
    fn turn_off(&mut self) {
        self.is_on = false;
        self.awaited.clear();
        self.next = None;
    }

    fn advance(&mut self, now: Time) {
        let dt = (now - self.since).max(0.0);
        self.since = now;
        for (sent, rate) in self.sent.iter_mut().zip(&self.rate) {
            *sent += rate * dt;
        }
    }

    /// Bytes sent through a link up to `since`, and the rate from then on.
    fn pace(&self, l: usize) -> Pace {
        Pace { sent: self.sent[l], rate: self.rate[l] }
    }

    /// Whether the next threshold is reached at a link at `now`, up to which all is counted.
    fn is_due(&self, l: usize, now: Time) -> bool {
        self.pace(l).when(self.threshold[l], self.since).due(now)
    }

    fn find_next(&mut self) {
        // Without a threshold or a rate this is infinite, or NaN, which is never the minimum.
        let rest = |[threshold, sent, rate]: [f64; 3]| (threshold - sent).max(0.0) / rate;
        let next = min_by_lane([&self.threshold, &self.sent, &self.rate], rest);
        self.next = next.is_finite().then(|| self.since + next);
    }
}
