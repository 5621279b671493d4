//! Flows that leave their coflow for another one, with what they have sent.

use std::collections::{BTreeSet, HashSet};

use covey_api::Problem;
use covey_proto::FlowId;

use super::allowing::not_own;
use super::coordinator::CoordinatorState;
use super::flows::{Stage, Taken};
use crate::request::Client;

impl CoordinatorState {
    /// Whether a coflow can take these flows, and a client may have them taken.
    pub(super) fn check_taken(&self, client: &Client, to: u64, ids: &[u64]) -> Result<(), Problem> {
        let mut named = HashSet::new();
        for (k, &id) in ids.iter().enumerate() {
            if id >= self.coflows.ids.next() {
                return Err(Problem::invalid(format!("take[{k}]: no flow has the id {id}")));
            }
            let key = self.coflows.ids.key(FlowId(id));
            let flow = key.and_then(|key| Some((key, self.coflows.flow(key)?)));
            match flow.filter(|(_, flow)| flow.stage != Stage::Ended) {
                None => {
                    let detail = format!("take[{k}]: flow {id} has ended");
                    return Err(Problem::new(409, "flow has ended", detail));
                }
                Some((key, _)) if !client.may_change(self.coflows.owner(key.coflow)) => {
                    let owner = self.coflows.owner(key.coflow);
                    return owner.map_or(Ok(()), |owner| Err(not_own(key.coflow, owner)));
                }
                Some((key, _)) if key.coflow == to => {
                    let detail = format!("take[{k}]: flow {id} belongs to coflow {to} already");
                    return Err(Problem::new(409, "flow is there already", detail));
                }
                Some(_) if !named.insert(id) => {
                    return Err(Problem::invalid(format!("take[{k}]: flow {id} is named twice")));
                }
                Some(_) => {}
            }
        }
        Ok(())
    }

    /// Moves the flows with these ids to a coflow, with what they have sent. `rest_ids` are the ids
    /// of what stays of them in their coflows. A flow that has ended meanwhile moves as well: so
    /// the journal, in which the end comes later, says the same. Returns the coflows that flows
    /// have left.
    pub(super) fn take_flows(&mut self, to: u64, ids: &[u64], rest_ids: &[u64]) -> BTreeSet<u64> {
        let taken = ids.iter().zip(rest_ids).filter_map(|(&id, &rest)| {
            // The client may have removed the flow's coflow meanwhile.
            let from = self.coflows.ids.key(FlowId(id))?;
            let flow = self.coflows.flow(from).filter(|_| from.coflow != to)?;
            Some(Taken { id: FlowId(id), from, flow, rest })
        });
        let taken: Vec<Taken> = taken.collect();
        let left: BTreeSet<u64> = taken.iter().map(|taken| taken.from.coflow).collect();
        if taken.is_empty() {
            return left;
        }
        self.move_in_driver(to, &taken);
        for taken in &taken {
            self.move_here(to, taken);
        }
        self.dirty.note_event();
        self.dirty.note_all_rates();
        left.iter().chain([&to]).for_each(|&serial| self.note_moved(serial));
        // The flow follows its hosts, and keeps its use, in this coflow too.
        self.follow(to);
        left
    }

    fn move_in_driver(&mut self, to: u64, taken: &[Taken]) {
        let Some(to) = self.coflows.get(to).map(|coflow| coflow.id) else { return };
        let mut flows = Vec::with_capacity(taken.len());
        for Taken { from, flow, .. } in taken {
            let Some(coflow) = self.coflows.get(from.coflow) else { continue };
            let name = coflow.policy_flow(from.flow);
            // To the policy a flow that is not served has not started.
            if !matches!(flow.stage, Stage::Active | Stage::Ended) {
                self.driver.resume(&[name], self.now);
            }
            flows.push((name, flow.sent));
        }
        self.driver.move_flows(&flows, to, self.now);
    }

    /// Moves a flow in everything that goes by coflow and index.
    fn move_here(&mut self, to: u64, taken: &Taken) {
        let &Taken { id, from, flow, rest } = taken;
        let Some(key) = self.coflows.move_flow(id, from, to, rest, self.now) else { return };
        if let Some(until) = self.awaited_ends.remove(&from) {
            self.awaited_ends.insert(key, until);
        }
        self.agents.renamed(flow.src, id, from, key);
        self.note_ratio(key);
        let Some(coflow) = self.coflows.get(to) else { return };
        if flow.stage == Stage::Written {
            self.driver.suspend(&[coflow.policy_flow(key.flow)], self.now);
        }
        let agent = self.agents.get_mut(flow.src);
        // Its agent may send nothing else of the coflow so far.
        if coflow.report_threshold.is_finite() && agent.connection.session.is_some() {
            agent.letters.thresholds.insert(to, coflow.report_threshold);
        }
    }

    /// A coflow has got bytes with flows, or lost them.
    pub(super) fn note_moved(&mut self, serial: u64) {
        self.note_bytes(serial);
        let Some(coflow) = self.coflows.get_mut(serial) else { return };
        if !std::mem::replace(&mut coflow.is_stale, true) {
            self.dirty.note_progress(serial);
        }
        if self.driver.needs_progress() {
            self.driver.report(coflow.id, coflow.flows.attained(), self.now);
        }
    }
}
