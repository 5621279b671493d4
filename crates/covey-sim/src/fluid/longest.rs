//! When the first flow of a coflow will have sent a number of bytes.
//!
//! Rates are constant until the next grant, so the answer is the least over the flows; but coflows
//! are wide and grants many. So a bound is carried along: the most that any flow can have sent, if
//! the one that had sent most was always among the fastest. Only when that bound could matter are the
//! flows looked at one by one. Under equal rates the bound is exact.

use covey_core::state::CoflowState;
use covey_core::{Demand, Time};

use super::{Fluid, Running};

/// What is known of the flow that has sent most.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Longest {
    /// The bytes last asked about; nothing is kept before anybody asks.
    asked: Option<f64>,
    /// When they will have been sent, if that was found at the present rates.
    found: Option<Time>,
    /// No unfinished flow had sent more than this at that moment.
    most: f64,
    as_of: Time,
    /// No flow is faster, in bytes per second.
    fastest: f64,
}

impl Fluid {
    /// When some flow of `coflow`, ended ones included, will have sent `bytes`, if rates stay. Need
    /// not be exact if it is not earlier than `limit`.
    pub(crate) fn when_flow_sent(&self, coflow: &CoflowState, bytes: f64, limit: Time) -> Time {
        if coflow.finished_longest() >= bytes {
            return self.anchor;
        }
        let longest = self.longest.get();
        if longest.asked == Some(bytes) {
            if let Some(found) = longest.found {
                return found;
            }
            let earliest = when(longest.most, bytes, longest.fastest, longest.as_of);
            if earliest > limit {
                return earliest;
            }
        }
        let (found, most) = self.find_longest(coflow, bytes);
        let fastest =
            if longest.asked.is_none() { self.fastest(coflow.demand()) } else { longest.fastest };
        let (asked, as_of) = (Some(bytes), self.anchor);
        self.longest.set(Longest { asked, found: Some(found), most, as_of, fastest });
        found
    }

    /// Rates have changed at `now`.
    pub(super) fn carry_longest(&self, demand: &Demand, now: Time) {
        let Longest { asked, most, as_of, fastest, .. } = self.longest.get();
        if asked.is_some() {
            let most = most + fastest * (now - as_of).max(0.0);
            let fastest = self.fastest(demand);
            self.longest.set(Longest { asked, found: None, most, as_of: now, fastest });
        }
    }

    /// No flow sends faster than this.
    fn fastest(&self, demand: &Demand) -> f64 {
        // What flows get by size is in proportion to what is left of them: no bound is kept.
        let by_size = if self.by_size.highest > 0.0 { f64::INFINITY } else { 0.0 };
        let alone = self.running.iter().map(|flow| flow.rate).fold(0.0, f64::max);
        self.levels.fastest(demand) + by_size + alone
    }

    /// When the first unfinished flow will have sent `bytes`, and what it had sent at the anchor.
    fn find_longest(&self, coflow: &CoflowState, bytes: f64) -> (Time, f64) {
        let demand = coflow.demand();
        // Those with a rate of their own are found twice; without it they seem to be later.
        let own = self.running.iter().chain(&self.stopped);
        let own = own.filter(|flow| demand.is_active(flow.position as usize));
        let own = own.map(|flow| self.pace(coflow, flow.position as usize, Some(flow)));
        let all = demand.active().map(|position| self.pace(coflow, position, None)).chain(own);
        all.fold((Time::NEVER, 0.0), |(time, most), (sent, rate)| {
            (time.min(when(sent, bytes, rate, self.anchor)), most.max(sent))
        })
    }

    /// What an unfinished flow has sent at the anchor, and how fast it is.
    fn pace(&self, coflow: &CoflowState, position: usize, own: Option<&Running>) -> (f64, f64) {
        let (demand, progress) = (coflow.demand(), coflow.progress());
        let left = progress.left[position];
        let mut sent = progress.size[position] - left * progress.scale;
        let mut rate = left * self.by_size.of(demand, position);
        if !self.levels.is_empty() {
            sent = progress.size[position] - self.levels.left(demand, position, self.anchor);
            rate += self.levels.rate(demand, position);
        }
        if let Some(flow) = own {
            sent += flow.extra + flow.rate * (self.anchor - flow.since);
            rate += flow.rate;
        }
        (sent, rate)
    }
}

/// When a flow that has `sent` some bytes at `as_of` will have sent `bytes`.
fn when(sent: f64, bytes: f64, rate: f64, as_of: Time) -> Time {
    if sent >= bytes {
        as_of
    } else if rate > 0.0 {
        as_of + (bytes - sent) / rate
    } else {
        Time::NEVER
    }
}
