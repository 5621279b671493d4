//! What the journal says has happened, now or before a crash.

use covey_core::state::{FlowSpec, Registration};
use covey_core::{FlowId, Lineage, LinkId, PortId, Time};
use covey_proto::FlowKey;

use super::{Core, Event, Lsn, Output, Pending};
use crate::coflows::{Coflow, Flow, Stage};
use crate::record::{Key, Lease, Record};
use covey_api::{CoflowSpec, Update};

use super::leases::lease_of;

impl Core {
    pub(super) fn apply(&mut self, record: &Record) {
        match record {
            Record::Epoch(_) => {}
            Record::Registered { id, at_s, lineage, key, spec } => {
                self.advance(Time::from_secs(*at_s));
                self.apply_registered(*id, *lineage, key.clone(), spec);
            }
            Record::Updated { id, at_s, update } => {
                self.advance(Time::from_secs(*at_s));
                self.apply_updated(*id, update);
            }
            Record::Ended { id, at_s, flows, compressed } => {
                self.advance(Time::from_secs(*at_s));
                for &(flow, bytes) in flows {
                    let wire = compressed.iter().find(|(known, _)| *known == flow);
                    self.finish(*id, flow, bytes, wire.map_or(bytes, |(_, wire)| *wire));
                }
                self.tell_ends();
            }
            Record::Removed { id, at_s } => {
                self.advance(Time::from_secs(*at_s));
                self.apply_removed(*id);
            }
            Record::Kept { at_s, leases } => {
                self.advance(Time::from_secs(*at_s));
                leases.iter().for_each(|lease| self.apply_lease(lease));
            }
            Record::Gone(summary) => {
                self.coflows.remember(summary.clone());
                self.forget_gone();
            }
            Record::Dag { external, bytes } => {
                self.coflows.dags.entry(*external).or_default().bytes = *bytes;
            }
            Record::Next { id, external } => {
                self.coflows.next_id = self.coflows.next_id.max(*id);
                self.coflows.next_dag = self.coflows.next_dag.max(*external);
            }
        }
    }

    fn apply_registered(
        &mut self,
        serial: u64,
        lineage: (u64, u32),
        key: Option<Key>,
        spec: &CoflowSpec,
    ) {
        self.stirred = true;
        let lineage = Lineage { external: lineage.0, internal: lineage.1 };
        let registration = Registration {
            seq: serial,
            arrival: self.now,
            weight: spec.weight,
            deadline_s: spec.deadline_s,
            lineage,
            inherited_bytes: self.coflows.dags.get(&lineage.external).map_or(0.0, |dag| dag.bytes),
        };
        let flows = spec.flows.iter().map(spec_of);
        let id = self.driver.arrive(registration, flows, |_| true, self.now);
        let lease_s = spec.lease_s.unwrap_or(self.config.lease_s);
        let mut coflow = Coflow {
            id,
            name: spec.name.clone(),
            key,
            parents: spec.parents.clone(),
            weight: spec.weight,
            deadline_s: spec.deadline_s,
            open: spec.open,
            lineage,
            arrival_s: self.now.as_secs(),
            revision: 0,
            flows: Vec::new(),
            stalled: 0,
            unused: [0; 4],
            unused_since: self.now,
            lease_s: spec.lease_s,
            kept_until: self.now + lease_s,
            expired: None,
            wanes: false,
            next_look: self.now + lease_s / 2.0,
            attained: 0.0,
            longest: 0.0,
            served: Vec::new(),
            compression: None,
            grain: f64::INFINITY,
            stale: false,
        };
        coflow.flows.extend(spec.flows.iter().map(flow_of));
        self.coflows.insert(serial, coflow);
        self.waits.note(serial, lineage.external);
        self.counts.registered += 1;
        self.outputs.push(Output::Event(Event::Registered { id: serial }));
        if self.touches_away(&spec.flows) {
            self.follow(serial);
        }
        self.tell_ends();
    }

    fn touches_away(&self, flows: &[covey_api::Flow]) -> bool {
        let away = |port: u32| self.agents[port as usize].is_away;
        flows.iter().any(|flow| away(flow.src) || away(flow.dst))
    }

    fn apply_updated(&mut self, serial: u64, update: &Update) {
        // It may have gone since the update was asked for.
        let Some(coflow) = self.coflows.present.get_mut(&serial) else { return };
        self.stirred = true;
        let id = coflow.id;
        coflow.revision += 1;
        // While flows are exchanged the coflow must not end.
        let open = std::mem::replace(&mut coflow.open, true);
        for &flow in &update.restart {
            self.restart(serial, flow);
        }
        let mut added = update.add.clone();
        for moved in &update.moved {
            let flow = self.coflows.present.get(&serial);
            // A repaired journal may lack the record that added it.
            let flow = flow.and_then(|c| c.flows.get(moved.flow as usize).copied());
            if let Some(flow) = flow.filter(|flow| flow.stage != Stage::Ended) {
                self.withdraw(serial, moved.flow);
                self.finish(serial, moved.flow, flow.sent, flow.wire);
                let bytes = moved.to.bytes.or(flow.bytes);
                added.push(covey_api::Flow { bytes, ..moved.to });
            }
        }
        self.tell_ends();
        if !added.is_empty() {
            self.driver.extend(id, added.iter().map(spec_of), self.now);
            let added: Vec<Flow> = added.iter().map(flow_of).collect();
            self.coflows.note_ports(serial, &added);
            if let Some(coflow) = self.coflows.present.get_mut(&serial) {
                coflow.flows.extend(added);
            }
            self.publish_all = true;
            self.note(serial);
            // What is known of hosts, and that nobody has opened the coflow at one, holds for the new ones too.
            self.follow(serial);
        }
        // Who changes it stands behind it.
        self.keep(serial, None);
        if let Some(coflow) = self.coflows.present.get_mut(&serial) {
            coflow.open = update.open.unwrap_or(open);
            if !coflow.open && self.driver.state().coflow(id).is_over() {
                self.driver.leave(id);
            }
        }
        self.outputs.push(Output::Event(Event::Updated { id: serial }));
        self.tell_ends();
    }

    fn restart(&mut self, serial: u64, index: u32) {
        self.serve_again(FlowKey { coflow: serial, flow: index });
        let Some(coflow) = self.coflows.present.get_mut(&serial) else { return };
        let flow = FlowId { coflow: coflow.id, index };
        let Some(it) = coflow.flows.get_mut(index as usize) else { return };
        // A flow that is not served begins anew too.
        let is_served = match it.stage {
            Stage::Active => true,
            Stage::Unused(_) => false,
            _ => return,
        };
        // What was sent stays in what the coflow has sent.
        (it.sent, it.wire) = (0.0, 0.0);
        if !is_served {
            self.driver.resume(&[flow], self.now);
        }
        self.driver.restart(flow, self.now);
        if !is_served {
            self.driver.suspend(&[flow], self.now);
        }
        self.publish_all = true;
    }

    fn apply_removed(&mut self, serial: u64) {
        let Some(coflow) = self.coflows.present.get_mut(&serial) else { return };
        self.stirred = true;
        let id = coflow.id;
        // All at once, and not one by one.
        coflow.served.clear();
        let unfinished: Vec<(u32, f64, f64)> = (0..)
            .zip(&coflow.flows)
            .filter(|(_, flow)| flow.stage != Stage::Ended)
            .map(|(index, flow)| (index, flow.sent, flow.wire))
            .collect();
        for (index, sent, wire) in unfinished {
            self.withdraw(serial, index);
            self.finish(serial, index, sent, wire);
        }
        self.driver.leave(id);
        let removed = true;
        self.tell_ends_of(removed);
    }

    /// A flow's rate is taken back from its agent.
    fn withdraw(&mut self, serial: u64, index: u32) {
        let Some(coflow) = self.coflows.present.get_mut(&serial) else { return };
        let Flow { src, dst, .. } = coflow.flows[index as usize];
        coflow.unserve(index);
        let agent = &mut self.agents[src as usize];
        agent.want(FlowKey { coflow: serial, flow: index }, dst, 0, 0.0, None);
        self.woken.insert(src);
    }

    /// A flow has ended, unless that is known already.
    pub(super) fn finish(&mut self, serial: u64, index: u32, bytes: f64, wire: f64) {
        let Some(coflow) = self.coflows.present.get_mut(&serial) else { return };
        let id = coflow.id;
        let flow = FlowId { coflow: id, index };
        let before = coflow.tally();
        let Some(it) = coflow.flows.get_mut(index as usize) else { return };
        match std::mem::replace(&mut it.stage, Stage::Ended) {
            Stage::Ended => return,
            Stage::Stalled => {
                // It had ended before its host went.
                coflow.stalled -= 1;
                self.driver.resume(&[flow], self.now);
            }
            Stage::Written => {
                self.awaited.remove(&FlowKey { coflow: serial, flow: index });
                self.driver.resume(&[flow], self.now);
            }
            Stage::Unused(why) => {
                coflow.unused[why as usize] -= 1;
                self.driver.resume(&[flow], self.now);
            }
            Stage::Active => {}
        }
        let key = FlowKey { coflow: serial, flow: index };
        self.agents[it.src as usize].uses.remove(&key);
        let more = (wire - it.wire).max(0.0);
        it.sent = it.sent.max(bytes);
        it.wire = it.wire.max(wire);
        coflow.attained += more;
        coflow.longest = coflow.longest.max(wire);
        coflow.unserve(index);
        self.stirred = true;
        self.waits.note(serial, coflow.lineage.external);
        let attained = coflow.attained;
        self.coflows.tally.replace(before, coflow.tally());
        if self.driver.needs_progress() {
            self.driver.report(id, attained, self.now);
        }
        self.driver.finish(flow, bytes, wire);
    }

    pub(super) fn tell_ends(&mut self) {
        self.tell_ends_of(false);
    }

    fn tell_ends_of(&mut self, removed: bool) {
        let coflows = &mut self.coflows;
        let over =
            self.driver.tell_ends(|id| coflows.of(id).is_some_and(|coflow| coflow.open), self.now);
        for id in over {
            let serial = self.coflows.serial(id);
            self.counts.gone += 1;
            if let Some(coflow) = self.coflows.retire(serial, self.now.as_secs(), removed) {
                let dag = coflow.lineage.external;
                let others = self.coflows.dags.get(&dag).is_some_and(|it| !it.present.is_empty());
                self.waits.retire(serial, dag, others);
                self.forget_uses(serial, &coflow);
                self.forget_gone();
            }
            let links = (serial, LinkId(0))..=(serial, LinkId(u32::MAX));
            let reached: Vec<_> = self.limits_reached.range(links).map(|(key, _)| *key).collect();
            reached.iter().for_each(|key| {
                self.limits_reached.remove(key);
            });
            let event =
                if removed { Event::Removed { id: serial } } else { Event::Ended { id: serial } };
            self.outputs.push(Output::Event(event));
        }
    }

    /// Records that say all that this coordinator knows; and those on the way to the journal that are to
    /// have effect if they get there. A journal with both is as good as the one there is.
    pub fn snapshot(&self) -> (Vec<Record>, Vec<(Lsn, Record)>) {
        let coflows = &self.coflows;
        let mut records = vec![
            Record::Epoch(self.epoch),
            Record::Next { id: coflows.next_id, external: coflows.next_dag },
        ];
        let gone = coflows.went.iter().filter_map(|id| coflows.gone.get(id));
        records.extend(gone.cloned().map(Record::Gone));
        records.extend(
            coflows.dags.iter().map(|(&external, dag)| Record::Dag { external, bytes: dag.bytes }),
        );
        for (&id, coflow) in &coflows.present {
            let flow = |f: &Flow| covey_api::Flow { src: f.src, dst: f.dst, bytes: f.bytes };
            let spec = CoflowSpec {
                name: coflow.name.clone(),
                parents: coflow.parents.clone(),
                weight: coflow.weight,
                deadline_s: coflow.deadline_s,
                // Its flows end one by one below.
                open: true,
                lease_s: coflow.lease_s,
                flows: coflow.flows.iter().map(flow).collect(),
            };
            let lineage = (coflow.lineage.external, coflow.lineage.internal);
            let (at_s, key) = (coflow.arrival_s, coflow.key.clone());
            records.push(Record::Registered { id, at_s, lineage, key, spec });
            let ended = |flow: &(u32, &Flow)| flow.1.stage == Stage::Ended;
            let ended = || (0..).zip(&coflow.flows).filter(ended);
            let flows = ended().map(|(k, flow)| (k, flow.sent)).collect();
            let compressed = ended().filter(|(_, flow)| flow.wire != flow.sent);
            let compressed = compressed.map(|(k, flow)| (k, flow.wire)).collect();
            records.push(Record::Ended { id, at_s, flows, compressed });
            if !coflow.open {
                let update = Update { open: Some(false), ..Update::default() };
                records.push(Record::Updated { id, at_s, update });
            }
        }
        let leases = coflows.present.iter().filter(|(_, coflow)| coflow.wanes);
        let leases: Vec<Lease> = leases.map(|(&id, coflow)| lease_of(id, coflow)).collect();
        if !leases.is_empty() {
            records.push(Record::Kept { at_s: self.now.as_secs(), leases });
        }
        let under_way = self.pending.iter().filter_map(|(&lsn, pending)| match pending {
            Pending::Apply(record, _) => Some((lsn, record.clone())),
            // It is among what is known.
            Pending::Settle(..) => None,
        });
        (records, under_way.collect())
    }
}

fn spec_of(flow: &covey_api::Flow) -> FlowSpec {
    let bytes = flow.bytes.unwrap_or(f64::NAN);
    FlowSpec { src: PortId(flow.src), dst: PortId(flow.dst), bytes }
}

/// A flow of no bytes ends when it starts.
fn flow_of(flow: &covey_api::Flow) -> Flow {
    let stage = if flow.bytes == Some(0.0) { Stage::Ended } else { Stage::Active };
    Flow { src: flow.src, dst: flow.dst, bytes: flow.bytes, sent: 0.0, wire: 0.0, stage }
}
