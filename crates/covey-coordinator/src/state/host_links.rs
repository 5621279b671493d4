//! What the links of one host carry, beside the flows that are scheduled.

use covey_core::Time;

/// Minimum time between two reports of an agent, in seconds: over a shorter one a mean says
/// nothing.
const MIN_WINDOW_S: f64 = 0.5;

/// What the links of a host carry.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct HostLinks {
    /// When its agent last reported it.
    since: Time,
    /// Bytes on the wire that scheduled flows have sent and received since that report.
    scheduled: [f64; 2],
    /// Bytes per second of other traffic that the host sends and receives; as of the last report.
    pub other: Option<[f64; 2]>,
}

impl HostLinks {
    /// Its agent has begun a session.
    pub fn restart(&mut self, now: Time) {
        (self.since, self.scheduled) = (now, [0.0; 2]);
    }

    /// A scheduled flow has carried so many bytes more on the wire, out of the host (0) or to it
    /// (1).
    pub fn carried(&mut self, direction: usize, bytes: f64) {
        self.scheduled[direction] += bytes;
    }

    /// Takes over what all traffic takes. Returns what other traffic takes; `None` where that
    /// cannot be told.
    pub fn report(&mut self, all: [f64; 2], capacity: [f64; 2], now: Time) -> Option<[f64; 2]> {
        let window_s = now - self.since;
        if window_s < MIN_WINDOW_S {
            return None;
        }
        let other = |k: usize| (all[k] - self.scheduled[k] / window_s).clamp(0.0, capacity[k]);
        self.other = Some([other(0), other(1)]);
        self.restart(now);
        self.other
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_scheduled_flows_take_is_no_other_traffic() {
        let mut links = HostLinks::default();
        let (capacity, at) = ([100.0, 50.0], Time::from_secs);
        assert_eq!(links.report([60.0, 0.0], capacity, at(1.0)), Some([60.0, 0.0]));
        links.scheduled = [80.0, 30.0];
        assert_eq!(links.report([60.0, 10.0], capacity, at(3.0)), Some([20.0, 0.0]));
        assert_eq!(links.report([60.0, 10.0], capacity, at(3.1)), None, "too soon");
        // A rate is at most the link's.
        assert_eq!(links.report([1e9, 1e9], capacity, at(4.0)), Some(capacity));
    }
}
