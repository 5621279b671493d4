//! What links carry beside the flows that are scheduled.
//!
//! Whether compressing pays depends on the bandwidth that remains (Swallow, IPDPS 2018, Eq. 2).
//! Agents report what the links of their hosts carry in all. What scheduled flows have sent over
//! them in the same time, as their own agents report, is not other traffic. An agent knows only the
//! flows that its host sends, so the coordinator takes them off.

use covey_core::{LinkId, PortId};
use covey_proto::Links;

use super::coordinator::CoordinatorState;

/// Minimum change that has an effect, as a share of the link: what links carry changes all the
/// time.
const MIN_CHANGE: f64 = 0.1;

impl CoordinatorState {
    /// An agent has reported what the links of its host carry.
    pub(super) fn links(&mut self, port: u32, reported: Links) {
        let fabric = self.driver.state().fabric();
        let links = [fabric.egress(PortId(port)), fabric.ingress(PortId(port))];
        let capacity = links.map(|link| fabric.capacity()[link.index()]);
        let all = [reported.sent, reported.received];
        let Some(other) = self.agents.get_mut(port).links.report(all, capacity, self.now) else {
            return;
        };
        for (link, (rate, capacity)) in links.into_iter().zip(other.into_iter().zip(capacity)) {
            if (rate - self.other_traffic(link)).abs() >= MIN_CHANGE * capacity {
                self.driver.set_other_traffic(link, rate);
                self.dirty.note_event();
            }
        }
    }

    fn other_traffic(&self, link: LinkId) -> f64 {
        self.driver.state().other_traffic().get(link.index()).copied().unwrap_or(0.0)
    }
}
