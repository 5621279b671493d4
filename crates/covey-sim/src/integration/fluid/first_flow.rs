//! The time at which the first flow of a coflow will have sent a number of bytes.

use covey_core::Time;
use covey_core::state::CoflowState;

use super::coflow_fluid::Fluid;
use super::longest::when;

impl Fluid {
    /// The time at which the first flow of `coflow`, which may have ended, will have sent `bytes`
    /// if rates stay. The time need not be exact if it is not earlier than the `horizon`.
    pub(crate) fn when_flow_sent(&self, coflow: &CoflowState, bytes: f64, horizon: Time) -> Time {
        if coflow.finished_longest() >= bytes {
            return self.anchor;
        }
        let longest = self.longest.get();
        longest.answer(bytes, horizon).unwrap_or_else(|| {
            let found = self.find_first(coflow, bytes);
            let fastest = || self.fastest();
            self.longest.set(longest.found(bytes, found, self.anchor, fastest));
            found.0
        })
    }

    /// The time at which the first unfinished flow will have sent `bytes`, and the maximum number
    /// of bytes sent by a flow at the anchor.
    fn find_first(&self, coflow: &CoflowState, bytes: f64) -> (Time, f64) {
        let paces = coflow.demand().active().map(|position| self.pace(coflow, position));
        paces.fold((Time::NEVER, 0.0), |(time, most), (sent, rate)| {
            (time.min(when(sent, bytes, rate, self.anchor)), most.max(sent))
        })
    }

    /// Bytes sent by an unfinished flow at the anchor, and its rate.
    #[inline] // Two calls for each flow: 2 % of `saath`.
    fn pace(&self, coflow: &CoflowState, position: usize) -> (f64, f64) {
        let progress = coflow.progress();
        let size = progress.size[position];
        match self.services.limit_of(position) {
            Some(limit) => {
                let left = self.services.missing(position, self.anchor);
                (size - left.unwrap_or(0.0), self.services.level(limit))
            }
            None => {
                let left = progress.left[position];
                (size - left * progress.scale, left * self.by_size.of(position))
            }
        }
    }
}
