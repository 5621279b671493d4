//! Flows that end, and coflows that go with the last of them.

use covey_core::{CoflowId, Time};
use covey_proto::{FlowKey, Service};

use super::coordinator::CoordinatorState;
use super::effects::Event;
use super::flows::{Flow, Stage};

impl CoordinatorState {
    /// Takes a flow's rate back from its agent.
    pub(super) fn withdraw(&mut self, key: FlowKey) {
        let Some(coflow) = self.coflows.get_mut(key.coflow) else { return };
        let Some(Flow { src, dst, .. }) = coflow.flows.get(key.flow) else { return };
        coflow.unserve(key.flow);
        let name = coflow.flows.first_name(key);
        self.agents.want(src, coflow.flows.id_of(key.flow), name, dst, Service::NONE);
    }

    /// Ends a flow with so many bytes, unless that has happened.
    pub(super) fn finish(&mut self, key: FlowKey, bytes: f64, wire: f64) {
        let now = self.now;
        if let Some(flow) = self.coflows.flow(key).filter(|flow| flow.stage != Stage::Ended) {
            self.note_size(key, &flow, bytes);
        }
        let ended = self.coflows.change(key.coflow, |coflow, _| {
            let was = coflow.flows.end(key.flow, bytes, wire, now)?;
            coflow.unserve(key.flow);
            Some(was)
        });
        let Some(Some(was)) = ended else { return };
        let Some(coflow) = self.coflows.get(key.coflow) else { return };
        let flow = coflow.policy_flow(key.flow);
        match was {
            // To the policy it has not started: its last bytes came before it lost its rate, or
            // after.
            Stage::Stalled | Stage::Held | Stage::Unused(_) | Stage::Written => {
                self.driver.resume(&[flow], now);
            }
            Stage::Active | Stage::Ended => {}
        }
        self.awaited_ends.remove(&key);
        if let Some(Flow { src, .. }) = coflow.flows.get(key.flow) {
            self.agents.get_mut(src).usage.flows.remove(&key);
        }
        self.dirty.note_event();
        self.awaited_bytes.note(key.coflow, coflow.about.lineage.external);
        if self.driver.needs_progress() {
            self.driver.report(coflow.id, coflow.flows.attained(), now);
        }
        self.driver.finish(flow, bytes, wire);
    }

    /// Serves a flow as before whose last bytes were on their way.
    pub(super) fn serve_again(&mut self, key: FlowKey) {
        if self.coflows.flow(key).is_none_or(|flow| flow.stage != Stage::Written) {
            return;
        }
        let now = self.now;
        let flow = self.coflows.change(key.coflow, |coflow, _| {
            coflow.flows.set_stage(key.flow, Stage::Active, now);
            coflow.policy_flow(key.flow)
        });
        self.awaited_ends.remove(&key);
        self.driver.resume(flow.as_slice(), now);
        self.dirty.note_event();
        // Its hosts may have gone meanwhile, or its application.
        self.follow(key.coflow);
    }

    /// Serves flows again whose ends should have been reported by now.
    pub(super) fn give_up_awaited_ends(&mut self) {
        let is_due = |until: &Time| until.due(self.now);
        let due = self.awaited_ends.iter().filter(|(_, until)| is_due(until));
        for key in due.map(|(key, _)| *key).collect::<Vec<_>>() {
            self.awaited_ends.remove(&key);
            self.serve_again(key);
        }
    }

    /// Lets a coflow go, with the next ends that are told, if nothing is left of it that has to
    /// end.
    pub(super) fn leave_if_over(&mut self, serial: u64) {
        let Some(coflow) = self.coflows.get(serial).filter(|coflow| !coflow.open) else { return };
        if !self.order.is_changing(serial) && self.driver.state().coflow(coflow.id).is_over() {
            self.driver.leave(coflow.id);
        }
    }

    /// Tells the policy of ends. Coflows that are over go.
    pub(super) fn tell_ends(&mut self) {
        self.tell_ends_of(false);
    }

    /// The same; `removed`: a client has asked for that.
    pub(super) fn tell_ends_of(&mut self, removed: bool) {
        let (coflows, order) = (&self.coflows, &self.order);
        let is_open = |id| {
            let is_open = coflows.of(id).is_some_and(|coflow| coflow.open);
            is_open || order.is_changing(coflows.serial(id))
        };
        for id in self.driver.tell_ends(is_open, self.now) {
            let serial = self.coflows.serial(id);
            if self.coflows.get(serial).is_some_and(|coflow| coflow.flows.is_own()) {
                self.group_left(id);
                continue;
            }
            self.effects.counts.gone += 1;
            if let Some(coflow) = self.coflows.retire(serial, self.now.as_secs(), removed) {
                let dag = coflow.about.lineage.external;
                let others = self.coflows.dags.get(dag).is_some_and(|it| !it.present.is_empty());
                self.awaited_bytes.retire(serial, dag, others);
                self.forget_usage(serial, &coflow);
                self.answer_early_at(&coflow.early, serial);
                self.forget_gone();
            }
            for child in self.coflows.release_children(serial) {
                self.follow(child);
            }
            let (gone, ended) = (Event::Removed { id: serial }, Event::Ended { id: serial });
            self.effects.event(if removed { gone } else { ended });
        }
    }

    /// A group of the policy's own making has gone with the last of its flows.
    pub(super) fn group_left(&mut self, id: CoflowId) {
        let serial = self.coflows.serial(id);
        let Some(group) = self.coflows.end_group(serial) else { return };
        let dag = group.about.lineage.external;
        let others = self.coflows.dags(true).get(dag).is_some_and(|it| !it.present.is_empty());
        self.awaited_bytes.retire(serial, dag, others);
    }
}
