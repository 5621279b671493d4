//! Who uses what it is given: flows that do not, as their agents say, and coflows that nobody keeps.
//!
//! To the policy such a flow is one that has not started. It stays registered, and is back as soon as its agent says
//! that it moves, or somebody keeps its coflow. What agents say is not in the journal: they say all of it again when
//! they join. Nor are leases: each start of the coordinator renews them all.

use std::collections::BTreeSet;

use covey_core::{FlowId, Time};
use covey_proto::{FlowKey, Use, Uses};

use super::{Core, Event, Pending};
use crate::coflows::{Coflow, Flow, Stage, Unused};
use crate::record::Record;
use crate::slot::Slot;

impl Core {
    /// An agent has said how its flows are used.
    pub(super) fn uses(&mut self, port: u32, uses: &Uses) {
        let agent = &mut self.agents[port as usize];
        let mut touched = BTreeSet::new();
        if uses.all {
            touched.extend(agent.uses.keys().map(|key| key.coflow));
            touched.append(&mut agent.unopened);
            agent.uses.clear();
        }
        for &(key, of) in &uses.flows {
            match self.coflows.present.get(&key.coflow) {
                None => agent.over(key.coflow),
                Some(coflow) => {
                    let flow = coflow.flows.get(key.flow as usize);
                    if flow.is_some_and(|flow| flow.src == port && flow.stage != Stage::Ended) {
                        agent.uses.insert(key, of);
                        touched.insert(key.coflow);
                    }
                }
            }
        }
        for &serial in &uses.unopened {
            match self.coflows.present.get(&serial) {
                None => agent.over(serial),
                Some(coflow) if coflow.flows.iter().any(|flow| flow.src == port) => {
                    agent.unopened.insert(serial);
                    touched.insert(serial);
                }
                Some(_) => {}
            }
        }
        self.woken.insert(port);
        touched.into_iter().for_each(|serial| self.follow(serial));
    }

    /// Somebody stands behind a coflow for so many seconds from now on; for as long as by default, if nothing is said.
    pub(super) fn keep(&mut self, serial: u64, for_s: Option<f64>) {
        let Some(coflow) = self.coflows.present.get_mut(&serial) else { return };
        coflow.lease_s = for_s.unwrap_or(coflow.lease_s);
        coflow.kept_until = coflow.kept_until.max(self.now + coflow.lease_s);
        if coflow.expired.take().is_some() {
            self.follow(serial);
        }
    }

    /// All leases begin now.
    pub(super) fn keep_all(&mut self) {
        for coflow in self.coflows.present.values_mut() {
            coflow.kept_until = self.now + coflow.lease_s;
        }
    }

    /// Takes what nobody keeps out of what is served, and forgets it after a long time.
    pub(super) fn follow_leases(&mut self) {
        let (now, mut expired, mut forgotten) = (self.now, Vec::new(), Vec::new());
        for (&serial, coflow) in &mut self.coflows.present {
            match coflow.expired {
                None if coflow.kept_until.due(now) => {
                    coflow.expired = Some(now);
                    expired.push(serial);
                }
                Some(since) if (since + self.config.forget_after_s).due(now) => {
                    // It is tried again, should the journal fail.
                    coflow.expired = Some(now);
                    forgotten.push(serial);
                }
                _ => {}
            }
        }
        for serial in expired {
            self.outputs.push(super::Output::Event(Event::Expired { id: serial }));
            self.follow(serial);
        }
        for id in forgotten {
            let record = Record::Removed { id, at_s: now.as_secs() };
            let lsn = self.write(record.clone());
            self.pending.insert(lsn, Pending::Apply(record, Vec::new()));
        }
    }

    /// Brings the flows of a coflow in line with what is known of their hosts and their users.
    pub(super) fn follow(&mut self, serial: u64) {
        let Some(coflow) = self.coflows.present.get_mut(&serial) else { return };
        let (mut gone, mut back) = (Vec::new(), Vec::new());
        let (was_stalled, was_unused) = (coflow.stalled > 0, coflow.unused() > 0);
        let is_expired = coflow.expired.is_some();
        for (index, flow) in (0..).zip(&mut coflow.flows) {
            if matches!(flow.stage, Stage::Written | Stage::Ended) {
                continue;
            }
            let key = FlowKey { coflow: serial, flow: index };
            let stage = stage_of(&self.agents, key, flow, is_expired);
            let before = std::mem::replace(&mut flow.stage, stage);
            if before == stage {
                continue;
            }
            for (stage, more) in [(before, false), (stage, true)] {
                let count = match stage {
                    Stage::Stalled => &mut coflow.stalled,
                    Stage::Unused(why) => &mut coflow.unused[why as usize],
                    _ => continue,
                };
                *count = if more { *count + 1 } else { *count - 1 };
            }
            let id = FlowId { coflow: coflow.id, index };
            match (before, stage) {
                (Stage::Active, _) => {
                    coflow.served.retain(|served| served.flow != index);
                    self.agents[flow.src as usize].want(key, flow.dst, 0, 0.0, None);
                    self.woken.insert(flow.src);
                    gone.push(id);
                }
                (_, Stage::Active) => back.push(id),
                _ => {}
            }
        }
        if !was_unused {
            coflow.unused_since = self.now;
        }
        let (is_stalled, is_unused) = (coflow.stalled > 0, coflow.unused() > 0);
        if is_stalled && !was_stalled {
            self.outputs.push(super::Output::Event(Event::Stalled { id: serial }));
        }
        if let Some(why) = coflow.why_unused().filter(|_| !was_unused) {
            self.outputs.push(super::Output::Event(Event::Idle { id: serial, why }));
        }
        if (was_stalled && !is_stalled) || (was_unused && !is_unused) {
            self.outputs.push(super::Output::Event(Event::Resumed { id: serial }));
        }
        if gone.is_empty() && back.is_empty() {
            return;
        }
        self.driver.suspend(&gone, self.now);
        self.driver.resume(&back, self.now);
        self.stirred = true;
    }

    /// A coflow has gone: what agents have said of it is forgotten, there too.
    pub(super) fn forget_uses(&mut self, serial: u64, coflow: &Coflow) {
        for port in coflow.flows.iter().map(|flow| flow.src).collect::<BTreeSet<u32>>() {
            let agent = &mut self.agents[port as usize];
            if agent.forget_uses(serial) {
                agent.over(serial);
                self.woken.insert(port);
            }
        }
    }
}

/// Where a flow is that has not been written or ended.
pub(super) fn stage_of(agents: &[Slot], key: FlowKey, flow: &Flow, is_expired: bool) -> Stage {
    let src = &agents[flow.src as usize];
    if src.is_away || agents[flow.dst as usize].is_away {
        return Stage::Stalled;
    }
    match src.uses.get(&key) {
        Some(Use::Idle) => Stage::Unused(Unused::Idle),
        Some(Use::Closed) => Stage::Unused(Unused::Closed),
        None if src.unopened.contains(&key.coflow) => Stage::Unused(Unused::Unopened),
        _ if is_expired => Stage::Unused(Unused::Expired),
        _ => Stage::Active,
    }
}

/// Whether two moments differ by so many seconds, or more.
pub(super) fn is_past(now: Time, since: Time, seconds: f64) -> bool {
    (since + seconds).due(now)
}
