//! Flows that have rates of their own.

use covey_core::state::Progress;
use covey_core::{Demand, Time, rounded_bytes};

use super::super::levels::Levels;

/// A flow with a rate of its own.
#[derive(Debug, Clone, Copy)]
pub(super) struct Running {
    /// Position of the flow in its coflow's [`Demand`].
    pub position: u32,
    /// The flow's own rate in bytes per second.
    pub rate: f64,
    /// Bytes sent at this and earlier own rates up to `since` that are not written back.
    pub extra: f64,
    /// The time of the last update of `extra`.
    pub since: Time,
    /// The time at which the flow ends if it keeps all its rates.
    pub end: Time,
}

impl Running {
    /// Bytes sent at own rates up to `now` that are not written back.
    pub(super) fn sent(&self, now: Time) -> f64 {
        self.extra + self.rate * (now - self.since)
    }

    /// Changes the flow's own rate.
    pub(super) fn set_rate(&mut self, rate: f64, now: Time) {
        if now > self.since {
            self.extra += self.rate * (now - self.since);
        }
        self.since = now;
        self.rate = rate;
    }

    /// Writes back the bytes of the flow's own rates up to `now`.
    pub(super) fn bring_up_to_date(
        &mut self,
        demand: &Demand,
        progress: &mut Progress,
        levels: &mut Levels,
        now: Time,
    ) {
        self.set_rate(self.rate, now);
        if levels.is_empty() {
            self.write_back(demand, progress);
        } else {
            levels.take(demand, self.position as usize, self.extra);
        }
        self.extra = 0.0;
    }

    /// Subtracts the extra bytes from the bytes left.
    pub(super) fn write_back(&self, demand: &Demand, progress: &mut Progress) {
        let p = self.position as usize;
        if !demand.is_active(p) {
            return;
        }
        let mut sent = self.extra / progress.scale;
        if progress.scale == 1.0 {
            sent = progress.left[p] - rounded_bytes(progress.left[p] - sent, self.rate);
        }
        progress.left[p] -= sent;
        if demand.is_bipartite() {
            let (s, r) = demand.ends(p);
            progress.link_left[s] -= sent;
            progress.link_left[r] -= sent;
        } else {
            demand.path(p).for_each(|l| progress.link_left[l] -= sent);
        }
    }
}

/// The earliest end among some flows, or `first` if that is earlier.
pub(super) fn earliest(first: Time, flows: &[Running]) -> Time {
    const LANES: usize = 4;
    let earlier = |a: Time, b: Time| if b < a { b } else { a };
    // Several lanes, so no comparison waits for the previous one.
    let mut lanes = [first; LANES];
    let chunks = flows.chunks_exact(LANES);
    for (lane, flow) in lanes.iter_mut().zip(chunks.remainder()) {
        *lane = earlier(*lane, flow.end);
    }
    for chunk in chunks {
        for k in 0..LANES {
            lanes[k] = earlier(lanes[k], chunk[k].end);
        }
    }
    lanes.into_iter().fold(first, earlier)
}
