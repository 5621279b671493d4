//! The time at which the first flow of a coflow will have sent a number of bytes.

use covey_core::Time;
use covey_core::state::CoflowState;

use super::coflow_fluid::Fluid;
use super::longest::when;
use super::running::Running;

impl Fluid {
    /// The time at which the first flow of `coflow`, which may have ended, will have sent `bytes`
    /// if rates stay. The time need not be exact if it is not earlier than `limit`.
    pub(crate) fn when_flow_sent(&self, coflow: &CoflowState, bytes: f64, limit: Time) -> Time {
        if coflow.finished_longest() >= bytes {
            return self.anchor;
        }
        let longest = self.longest.get();
        longest.answer(bytes, limit).unwrap_or_else(|| {
            let found = self.find_first(coflow, bytes);
            let fastest = || self.fastest();
            self.longest.set(longest.found(bytes, found, self.anchor, fastest));
            found.0
        })
    }

    /// The time at which the first unfinished flow will have sent `bytes`, and the maximum number
    /// of bytes sent by a flow at the anchor.
    fn find_first(&self, coflow: &CoflowState, bytes: f64) -> (Time, f64) {
        let demand = coflow.demand();
        // Flows with a rate of their own occur twice; without that rate their time is later.
        let own = self.running.iter().chain(&self.stopped);
        let own = own.filter(|flow| demand.is_active(flow.position as usize));
        let own = own.map(|flow| self.pace(coflow, flow.position as usize, Some(flow)));
        let all = demand.active().map(|position| self.pace(coflow, position, None)).chain(own);
        all.fold((Time::NEVER, 0.0), |(time, most), (sent, rate)| {
            (time.min(when(sent, bytes, rate, self.anchor)), most.max(sent))
        })
    }

    /// Bytes sent by an unfinished flow at the anchor, and its rate; with its own rate if given.
    #[inline] // Two calls for each flow: 2 % of `saath`.
    fn pace(&self, coflow: &CoflowState, position: usize, own: Option<&Running>) -> (f64, f64) {
        let (demand, progress) = (coflow.demand(), coflow.progress());
        let left = progress.left[position];
        let mut sent = progress.size[position] - left * progress.scale;
        let mut rate = left * self.by_size.of(demand, position);
        if !self.levels.is_empty() {
            sent = progress.size[position] - self.levels.left(demand, position, self.anchor);
            rate += self.levels.rate(position);
        }
        if let Some(flow) = own {
            sent += flow.sent(self.anchor);
            rate += flow.rate;
        }
        (sent, rate)
    }
}
