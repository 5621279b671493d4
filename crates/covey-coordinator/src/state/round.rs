//! A scheduling round: all that has happened until one instant, then one plan.

use covey_core::Time;

use super::coordinator::CoordinatorState;

/// The most rounds that are caught up with after a pause. The remaining rounds then come all at
/// once.
const MAX_CATCH_UP: usize = 1000;

impl CoordinatorState {
    /// Goes on to `now`. The policy is called at the times between for which it has asked, each at
    /// its own time: the ticks of a clock are late in reality, and a policy that decides on a tick
    /// must not be able to notice.
    pub(super) fn advance(&mut self, now: Time) {
        let catch_up = match self.rounds.is_reading || self.has_unfinished() {
            true => 0,
            false => MAX_CATCH_UP,
        };
        for _ in 0..catch_up {
            if !self.rounds.first_wake.due(now) {
                break;
            }
            let times = self.driver.wakes().times();
            let times = times.filter(|time| *time >= self.now && time.due(now));
            let Some(time) = times.min() else { break };
            self.now = time;
            self.round();
        }
        self.now = self.now.max(now);
    }

    /// Has the policy plan, if anything has happened or a time has come, and publishes the rates.
    pub(super) fn round(&mut self) {
        self.follow_hosts();
        self.follow_processors();
        self.tell_reached();
        let woke = self.rounds.first_wake.due(self.now);
        if woke {
            self.driver.wake(self.now);
        }
        if !self.dirty.take_plan() && !woke {
            return;
        }
        self.rounds.decided = true;
        self.effects.counts.decisions += 1;
        self.write_progress();
        let decided = self.driver.decide(self.now);
        self.follow_confidence();
        self.follow_groups();
        self.note_new_waits();
        match decided {
            Ok(replanned) => {
                self.effects.counts.replanned += u64::from(replanned);
                self.publish(replanned);
                self.set_report_thresholds();
            }
            Err(error) => {
                self.dirty.note_all_rates();
                self.rounds.failed = Some(error);
            }
        }
        self.rounds.first_wake = self.driver.wakes().times().min().unwrap_or(Time::NEVER);
    }
}
