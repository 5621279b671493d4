//! The time at which the first flow of a coflow will have sent a number of bytes.

use covey_core::Time;
use covey_core::state::CoflowState;

use super::coflow_fluid::Fluid;

impl Fluid {
    /// The time at which the first flow of `coflow`, which may have ended, will have sent `bytes`
    /// if rates stay.
    pub(crate) fn when_flow_sent(&self, coflow: &CoflowState, bytes: f64) -> Time {
        if coflow.finished_longest() >= bytes {
            return self.anchor;
        }
        let times = coflow.demand().active().map(|position| self.when(coflow, position, bytes));
        times.fold(Time::NEVER, Time::min)
    }

    /// The time at which an unfinished flow will have sent `bytes`.
    #[inline] // Called for each flow.
    fn when(&self, coflow: &CoflowState, position: usize, bytes: f64) -> Time {
        let progress = coflow.progress();
        let sent = progress.size[position] - self.left(progress, position, self.anchor);
        let rate = match self.services.limit_of(position) {
            Some(limit) => self.services.level(limit),
            None => progress.left[position] * self.proportional.level(position, progress.scale),
        };
        if sent >= bytes {
            self.anchor
        } else if rate > 0.0 {
            self.anchor + (bytes - sent) / rate
        } else {
            Time::NEVER
        }
    }
}
