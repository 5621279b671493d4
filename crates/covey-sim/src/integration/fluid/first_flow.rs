//! The time at which the first flow of a coflow will have sent a number of bytes.

use covey_core::Time;
use covey_core::state::CoflowState;

use super::super::readings::Pace;
use super::coflow_fluid::Fluid;
use super::longest::First;

impl Fluid {
    /// The time at which the first flow of `coflow`, which may have ended, will have sent `bytes`
    /// if rates stay. The time need not be exact if it is not earlier than the `horizon`.
    pub(crate) fn when_flow_sent(&self, coflow: &CoflowState, bytes: f64, horizon: Time) -> Time {
        if (Pace { sent: coflow.finished_longest(), rate: 0.0 }).has_sent(bytes) {
            return self.anchor;
        }
        let longest = self.longest.get();
        longest.answer(bytes, horizon).unwrap_or_else(|| {
            let found = self.find_first(coflow, bytes);
            let fastest = || self.fastest();
            self.longest.set(longest.found(bytes, found, self.anchor, fastest));
            found.time
        })
    }

    /// The time at which the first unfinished flow will have sent `bytes`, and the maximum number
    /// of bytes sent by a flow at the anchor.
    fn find_first(&self, coflow: &CoflowState, bytes: f64) -> First {
        let paces = coflow.demand().active().map(|position| self.pace(coflow, position));
        paces.fold(First { time: Time::NEVER, most: 0.0 }, |first, pace| First {
            time: first.time.min(pace.when(bytes, self.anchor)),
            most: first.most.max(pace.sent),
        })
    }

    /// Bytes sent by an unfinished flow at the anchor, and its rate.
    #[inline] // Called for each flow.
    fn pace(&self, coflow: &CoflowState, position: usize) -> Pace {
        let progress = coflow.progress();
        let sent = progress.size[position] - self.left(progress, position, self.anchor);
        let rate = match self.services.limit_of(position) {
            Some(limit) => self.services.level(limit),
            None => progress.left[position] * self.proportional.level(position, progress.scale),
        };
        Pace { sent, rate }
    }
}
