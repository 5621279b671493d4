//! What the journal says has happened, now or before a crash.

use std::collections::{BTreeMap, BTreeSet};

use covey_api::{CoflowSpec, Flow as FlowSpec, Update};
use covey_core::state::{FlowSpec as PolicyFlowSpec, Registration};
use covey_core::{Lineage, PortId, Time};
use covey_proto::{FlowId, FlowKey, FlowName};

use super::attempts::sized;
use super::coflows::{About, Coflow};
use super::coordinator::CoordinatorState;
use super::effects::Event;
use super::flows::{Flow, Flows, Stage};
use super::leases::Lease;
use super::sizes::at_first;
use crate::record::{Key, Record, Registrant};

impl CoordinatorState {
    pub(super) fn apply(&mut self, record: &Record) {
        if let Some(at_s) = record.at_s() {
            self.advance(Time::from_secs(at_s));
        }
        let mut done = 0;
        while !self.apply_piece(record, &mut done) {}
    }

    /// Applies a record to the next flows of those to which it has not happened yet, if it is about
    /// many. Returns whether these were the last.
    pub(super) fn apply_piece(&mut self, record: &Record, done: &mut usize) -> bool {
        let from = *done;
        *done += self.config.piece;
        match record {
            Record::Removed { id, .. } if !self.remove_flows(*id, from) => return false,
            Record::Updated { id, update, .. } if !self.cancel_flows(*id, &update.cancel, from) => {
                return false;
            }
            _ => self.apply_rest(record),
        }
        true
    }

    /// Applies a record, but for flows that are cancelled or removed, with which this has happened.
    fn apply_rest(&mut self, record: &Record) {
        match record {
            Record::Epoch(_) => {}
            Record::Drain { port, draining } => self.apply_drain(*port, *draining),
            Record::Registered { id, at_s: _, lineage, key, owner, flow_ids, revision, spec } => {
                let ids = self.coflows.ids.of_record(flow_ids, spec.flows.len());
                let (external, internal) = *lineage;
                let lineage = Lineage { external, internal };
                self.apply_registered(*id, lineage, (key.clone(), owner.clone()), spec, &ids);
                self.coflows.set_revision(*id, *revision);
            }
            Record::Updated { id, at_s: _, flow_ids, update } => {
                let ids = self.coflows.ids.of_record(flow_ids, update.added());
                self.apply_updated(*id, update, &ids);
            }
            Record::Ended { id, at_s: _, flows, compressed } => {
                let wires: BTreeMap<u32, f64> = compressed.iter().copied().collect();
                for &(flow, bytes) in flows {
                    let key = FlowKey { coflow: *id, flow };
                    self.flow_ended(key, bytes, wires.get(&flow).copied().unwrap_or(bytes));
                }
                self.tell_ends();
            }
            Record::FlowsEnded { at_s: _, flows, compressed, cancelled } => {
                let wires: BTreeMap<u64, f64> = compressed.iter().copied().collect();
                let cancelled: BTreeSet<u64> = cancelled.iter().copied().collect();
                let wire = |id: u64, bytes: f64| wires.get(&id).copied().unwrap_or(bytes);
                let is_cancelled = |(id, _): &&(u64, f64)| cancelled.contains(id);
                // An end of another attempt would cancel them, without their bytes.
                for &(id, bytes) in flows.iter().filter(is_cancelled) {
                    if let Some(key) = self.coflows.ids.key(FlowId(id)) {
                        self.finish(key, bytes, wire(id, bytes));
                        let coflow = self.coflows.get_mut(key.coflow);
                        coflow.into_iter().for_each(|it| it.flows.note_cancelled(key.flow));
                    }
                }
                for &(id, bytes) in flows.iter().filter(|flow| !is_cancelled(flow)) {
                    if let Some(key) = self.coflows.ids.key(FlowId(id)) {
                        self.flow_ended(key, bytes, wire(id, bytes));
                    }
                }
                self.tell_ends();
            }
            Record::Removed { id, at_s: _ } => self.apply_removed(*id),
            Record::Kept { at_s: _, leases } => {
                leases.iter().for_each(|lease| self.apply_lease(lease));
            }
            Record::Renamed { flows } => {
                for (id, names) in flows {
                    let name = |&(number, index): &(u64, u32)| FlowName::decoded(number, index);
                    self.coflows.set_former(FlowId(*id), names.iter().map(name).collect());
                }
            }
            Record::Gone(summary) => {
                self.coflows.remember(summary.clone());
                self.forget_gone();
            }
            Record::Dag { external, bytes } => self.coflows.dags.set_bytes(*external, *bytes),
            Record::Next { id, external, flow } => {
                self.coflows.next_id = self.coflows.next_id.max(*id);
                self.coflows.dags.next = self.coflows.dags.next.max(*external);
                self.coflows.ids.skip_to(*flow);
            }
        }
    }

    fn apply_registered(
        &mut self,
        serial: u64,
        lineage: Lineage,
        (key, owner): (Option<Key>, Option<Registrant>),
        spec: &CoflowSpec,
        ids: &[u64],
    ) {
        self.dirty.note_event();
        let gone_bytes = self.coflows.dags.get(lineage.external).map_or(0.0, |dag| dag.bytes);
        let tenant = self.driver.tenant(owner.as_ref().map(|owner| owner.tenant.as_str()));
        let registration = Registration {
            seq: serial,
            arrival: self.now,
            weight: spec.weight,
            deadline_s: spec.deadline_s,
            lineage,
            inherited_bytes: gone_bytes,
            ratio: if spec.compress { spec.ratio } else { Some(1.0) },
            tenant,
        };
        let specs = sized(&spec.flows, &[]);
        let (needs, factor) = (self.driver.needs_sizes(), self.size_factor(&owner));
        let flows = specs.iter().map(|flow| policy_spec_of(flow, needs.then_some(factor)));
        let id = self.driver.arrive(registration, flows, |_| true, self.now);
        let about = About {
            name: spec.name.clone(),
            key,
            owner,
            parents: spec.parents.clone(),
            barrier: spec.barrier,
            weight: spec.weight,
            deadline_s: spec.deadline_s,
            compress: spec.compress,
            ratio: spec.ratio,
            lineage,
            arrival_s: self.now.as_secs(),
        };
        let coflow = Coflow {
            id,
            about: about.into(),
            open: spec.open,
            revision: 0,
            flows: Flows::new(self.now),
            lease: Lease::new(spec.lease_s, self.config.lease_s, self.now),
            served: BTreeMap::new(),
            compression: None,
            remaining: Vec::new(),
            report_threshold: f64::INFINITY,
            is_stale: false,
            early: BTreeSet::new(),
            followers: BTreeSet::new(),
            waits_for: BTreeSet::new(),
        };
        self.coflows.insert(serial, coflow);
        if spec.barrier {
            self.coflows.wait_for(serial, &spec.parents);
        }
        self.coflows.extend(serial, specs.iter().map(Flow::of).collect(), ids);
        self.note_attempts(serial, &specs);
        (0..specs.len() as u32).for_each(|flow| self.note_ratio(FlowKey { coflow: serial, flow }));
        self.awaited_bytes.note(serial, lineage.external);
        self.effects.counts.registered += 1;
        self.effects.event(Event::Registered { id: serial });
        if spec.barrier || self.touches_away(&spec.flows) {
            self.follow(serial);
        }
        self.tell_ends();
    }

    fn touches_away(&self, flows: &[FlowSpec]) -> bool {
        let is_away = |port: u32| self.agents.get(port).is_away;
        flows.iter().any(|flow| is_away(flow.src) || is_away(flow.dst))
    }

    fn apply_updated(&mut self, serial: u64, update: &Update, ids: &[u64]) {
        // The coflow may have gone since the update was asked for.
        let Some(coflow) = self.coflows.get_mut(serial) else { return };
        self.dirty.note_event();
        let id = coflow.id;
        coflow.revision += 1;
        // While flows are exchanged the coflow must not end.
        let open = std::mem::replace(&mut coflow.open, true);
        for &flow in &update.restart {
            self.restart(FlowKey { coflow: serial, flow });
        }
        let (ids, rest_ids) = ids.split_at(ids.len() - update.take.len());
        let add = sized(&update.add, &self.specs(serial));
        let mut added: Vec<(FlowSpec, u64)> = add.into_iter().zip(ids.iter().copied()).collect();
        for (moved, &new_id) in update.moved.iter().zip(&ids[update.add.len()..]) {
            let key = FlowKey { coflow: serial, flow: moved.flow };
            // A repaired journal may lack the record that added the flow.
            let flow = self.coflows.flow(key).filter(|flow| flow.stage != Stage::Ended);
            if let Some(flow) = flow {
                self.cancel(key);
                let (bytes, ratio) = (moved.to.bytes.or(flow.bytes), moved.to.ratio.or(flow.ratio));
                let flows = self.coflows.get(serial).map(|coflow| &coflow.flows);
                let has_others = flows.is_some_and(|it| it.attempts.others(key.flow).count() > 0);
                let attempt = has_others.then_some(key.flow);
                added.push((FlowSpec { bytes, ratio, attempt, ..moved.to }, new_id));
            }
        }
        self.tell_ends();
        if !added.is_empty() {
            let (specs, ids): (Vec<FlowSpec>, Vec<u64>) = added.into_iter().unzip();
            let factor = self.size_factor(&self.coflows.owner(serial).cloned());
            let factor = self.driver.needs_sizes().then_some(factor);
            let policy_specs = specs.iter().map(|flow| policy_spec_of(flow, factor));
            self.driver.extend(id, policy_specs, self.now);
            self.coflows.extend(serial, specs.iter().map(Flow::of).collect(), &ids);
            self.note_attempts(serial, &specs);
            let there = self.coflows.get(serial).map_or(0, |coflow| coflow.flows.len() as u32);
            let new = there - specs.len() as u32..there;
            new.for_each(|flow| self.note_ratio(FlowKey { coflow: serial, flow }));
            self.dirty.note_all_rates();
            self.note_bytes(serial);
            // The new flows follow their hosts, and are unopened where nobody has opened the
            // coflow.
            self.follow(serial);
        }
        let left = self.take_flows(serial, &update.take, rest_ids);
        // A client that changes a coflow keeps it.
        self.keep(serial, None);
        if let Some(coflow) = self.coflows.get_mut(serial) {
            coflow.open = update.open.unwrap_or(open);
        }
        self.answer_early(serial);
        left.into_iter().chain([serial]).for_each(|serial| self.leave_if_over(serial));
        self.effects.event(Event::Updated { id: serial });
        self.tell_ends();
    }

    /// How many times larger than declared flows of a coflow with this owner are taken to be.
    fn size_factor(&self, owner: &Option<Registrant>) -> f64 {
        self.sizes.factor(owner.as_ref().map(|owner| &owner.tenant))
    }

    /// Notes what a flow of a coflow that is present has sent by now, for what its tenant's sizes
    /// are worth.
    pub(super) fn note_size(&mut self, key: FlowKey, flow: &Flow, sent: f64) {
        // What is read from the journal is no news: a start begins anew.
        let (Some(declared), false) = (flow.bytes, self.rounds.is_reading) else { return };
        let tenant = self.coflows.owner(key.coflow).map(|owner| &owner.tenant);
        self.sizes.note(tenant, declared, (flow.sent, sent), self.now);
    }

    /// Writes down for the policy how small a flow can be made, if that is known of it and its
    /// coflow may be compressed.
    pub(super) fn note_ratio(&mut self, key: FlowKey) {
        let coflow = self.coflows.get(key.coflow).filter(|coflow| coflow.about.compress);
        let Some(coflow) = coflow else { return };
        if let Some(ratio) = coflow.flows.get(key.flow).and_then(|flow| flow.ratio) {
            self.driver.set_ratio(coflow.policy_flow(key.flow), ratio);
        }
    }

    fn restart(&mut self, key: FlowKey) {
        self.serve_again(key);
        let Some(coflow) = self.coflows.get_mut(key.coflow) else { return };
        // A flow that cannot go on now starts again too, and goes on from nothing when it can.
        let is_active = match coflow.flows.get(key.flow).map(|flow| flow.stage) {
            Some(Stage::Active) => true,
            Some(Stage::Stalled | Stage::Unused(_) | Stage::Held) => false,
            // `serve_again` has made a written flow active; an ended one stays ended. A repaired
            // journal may lack the record that added the flow.
            Some(Stage::Written | Stage::Ended) | None => return,
        };
        coflow.flows.restart(key.flow);
        let flow = coflow.policy_flow(key.flow);
        if !is_active {
            self.driver.resume(&[flow], self.now);
        }
        self.driver.restart(flow, self.now);
        if !is_active {
            self.driver.suspend(&[flow], self.now);
        }
        self.dirty.note_all_rates();
    }

    /// Cancels the next flows of a list, after the first `from`. Returns whether these were the
    /// last.
    fn cancel_flows(&mut self, serial: u64, flows: &[u32], from: usize) -> bool {
        let next = flows.iter().skip(from).take(self.config.piece);
        // The coflow stays until its change has had its effect, and hears of all ends then.
        next.for_each(|&flow| self.cancel(FlowKey { coflow: serial, flow }));
        from + self.config.piece >= flows.len()
    }

    /// Ends the next flows of a coflow that is removed, after the first `from`. Returns whether
    /// these were the last.
    fn remove_flows(&mut self, serial: u64, from: usize) -> bool {
        let Some(coflow) = self.coflows.get_mut(serial) else { return true };
        // The coflow is not to leave with its last flow.
        coflow.open = true;
        let next = coflow.flows.iter().skip(from).take(self.config.piece);
        let unfinished: Vec<(u32, Flow)> = next
            .filter(|(_, flow)| flow.stage != Stage::Ended)
            .map(|(index, flow)| (index, *flow))
            .collect();
        let is_last = from + self.config.piece >= coflow.flows.len();
        for (flow, Flow { sent, wire, .. }) in unfinished {
            let key = FlowKey { coflow: serial, flow };
            self.withdraw(key);
            self.finish(key, sent, wire);
            // Applications that have the flow open hear that nobody needs it.
            self.tell_cancelled(key);
        }
        if !is_last {
            self.tell_ends();
        }
        is_last
    }

    fn apply_removed(&mut self, serial: u64) {
        let Some(coflow) = self.coflows.get(serial) else { return };
        self.dirty.note_event();
        self.driver.leave(coflow.id);
        let removed = true;
        self.tell_ends_of(removed);
    }
}

/// A flow, as the policy hears of it. Its size counts `factor` times, if the policy sees sizes.
fn policy_spec_of(flow: &FlowSpec, factor: Option<f64>) -> PolicyFlowSpec {
    let bytes = match factor {
        None => flow.bytes.unwrap_or(f64::NAN),
        Some(factor) => at_first(flow.bytes, factor),
    };
    PolicyFlowSpec { src: PortId(flow.src), dst: PortId(flow.dst), bytes }
}
