//! Which flows that no application has named are scheduled, and which are left alone: their
//! programs send as they would without a coordinator.
//!
//! To hold or to pace a flow pays only where decisions are right and come in time. So a flow is
//! left alone
//! - while the policy cannot tell coflows apart ([`Confidence`](covey_core::Confidence));
//! - until it has sent more than its link carries during [`DECISIONS`] decisions. A shorter flow
//!   would have ended before anything that is decided of it could help. Where decisions come late
//!   all of a sudden, on a host or a network that is overloaded, flows are left alone again that
//!   have not sent half as much.

use covey_proto::{FlowId, Service};

use super::announced::AnnouncedFlow;
use super::coordinator::CoordinatorState;

/// A decision has to be worth its delay: a flow that is scheduled has been sending for so many of
/// them.
const DECISIONS: f64 = 4.0;

impl CoordinatorState {
    /// A flow is scheduled from now on, if that may help it.
    pub(super) fn take_over(&mut self, id: FlowId) {
        let Some(&flow) = self.announced.get(id).filter(|flow| !flow.is_taken) else { return };
        let is_in_group = self.coflows.ids.key(id).is_some();
        if is_in_group && flow.sent >= self.few(&flow) && self.rounds.trusts_groups {
            self.announced.set_taken(id, true);
            self.agents.taken(flow.src, flow.number);
        }
    }

    /// Bytes that the link of a flow carries during [`DECISIONS`] decisions.
    fn few(&self, flow: &AnnouncedFlow) -> f64 {
        let link = self.driver.state().fabric().capacity()[flow.src as usize];
        DECISIONS * self.agents.decision_s() * link
    }

    /// Leaves flows alone for which decisions have become too slow.
    pub(super) fn follow_delay(&mut self) {
        for id in self.announced.ids() {
            let flow = self.announced.get(id).filter(|flow| flow.is_taken);
            if flow.is_some_and(|flow| flow.sent < 0.5 * self.few(flow)) {
                self.spare(id);
            }
        }
    }

    /// Leaves a flow alone from now on.
    fn spare(&mut self, id: FlowId) {
        let Some(&flow) = self.announced.get(id) else { return };
        if flow.is_taken {
            self.announced.set_taken(id, false);
            self.agents.spared(flow.src, flow.number, id);
        }
        let Some(key) = self.coflows.ids.key(id) else { return };
        let Some(coflow) = self.coflows.get(key.coflow) else { return };
        let name = coflow.flows.first_name(key);
        self.agents.want(flow.src, id, name, flow.dst, Service::NONE);
    }

    /// Follows how far the policy trusts the groups that it has made.
    pub(super) fn follow_confidence(&mut self) {
        let trusts = self.driver.confidence().is_none_or(|it| it.is_enough());
        if std::mem::replace(&mut self.rounds.trusts_groups, trusts) == trusts {
            return;
        }
        for id in self.announced.ids() {
            if trusts {
                self.take_over(id);
            } else {
                self.spare(id);
            }
        }
    }
}
