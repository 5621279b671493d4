//! Which flows can use a rate: what agents report of them, and whether their hosts are there.
//!
//! To the policy a flow that cannot is one that has not started. It stays registered, and is back
//! as soon as its agent reports that it moves, or somebody keeps its coflow. The journal does not
//! hold what agents report: they report all of it again when they join.

use std::collections::BTreeSet;

use covey_proto::{FlowKey, FlowName, IDS, Service, Use, Uses};

use super::agents::Agents;
use super::coflows::Coflow;
use super::coordinator::CoordinatorState;
use super::effects::Event;
use super::flows::{Flow, Stage, Unused};

impl CoordinatorState {
    /// An agent has reported how its flows are used.
    pub(super) fn uses(&mut self, port: u32, uses: &Uses) {
        let agent = self.agents.get_mut(port);
        let mut touched = BTreeSet::new();
        if uses.all {
            touched.extend(agent.usage.flows.keys().map(|key| key.coflow));
            touched.append(&mut agent.usage.unopened);
            agent.usage.flows.clear();
        }
        for &(name, of) in &uses.flows {
            // Of another name the coordinator announced the id in this session: the coflow has gone
            // since.
            let Some(key) = name.key() else { continue };
            match self.coflows.get(key.coflow) {
                None => agent.over(key.coflow),
                Some(coflow) if is_own(coflow, key.flow, port) => {
                    agent.usage.flows.insert(key, of);
                    touched.insert(key.coflow);
                }
                Some(_) => {}
            }
        }
        for &serial in &uses.unopened {
            match self.coflows.get(serial) {
                None => agent.over(serial),
                Some(coflow) if coflow.sends_from(port) => {
                    agent.usage.unopened.insert(serial);
                    touched.insert(serial);
                }
                Some(_) => {}
            }
        }
        self.agents.wake(port);
        touched.into_iter().for_each(|serial| self.follow(serial));
    }

    /// Brings the flows of a coflow in line with what is known of their hosts and their users.
    pub(super) fn follow(&mut self, serial: u64) {
        let now = self.now;
        let CoordinatorState { coflows, agents, effects, .. } = self;
        let followed = coflows.change(serial, |coflow, _| {
            let (was_stalled, was_unused) = (coflow.flows.stalled() > 0, coflow.flows.unused() > 0);
            let is_expired = coflow.lease.expired.is_some();
            let is_held = !coflow.waits_for.is_empty();
            let changes: Vec<(u32, Flow, Stage)> = coflow
                .flows
                .iter()
                .filter(|(_, flow)| !matches!(flow.stage, Stage::Written | Stage::Ended))
                .map(|(index, flow)| {
                    let key = FlowKey { coflow: serial, flow: index };
                    let first = coflow.flows.first_name(key);
                    let stage = match is_held {
                        true => Stage::Held,
                        false => stage_of(agents, (first, key), flow, is_expired),
                    };
                    (index, *flow, stage)
                })
                .filter(|(_, flow, stage)| flow.stage != *stage)
                .collect();
            let (mut gone, mut back) = (Vec::new(), Vec::new());
            for (index, Flow { src, dst, .. }, stage) in changes {
                match (coflow.flows.set_stage(index, stage, now), stage) {
                    (Some(Stage::Active), _) => {
                        let key = FlowKey { coflow: serial, flow: index };
                        let (id, name) = (coflow.flows.id_of(index), coflow.flows.first_name(key));
                        agents.want(src, id, name, dst, Service::NONE);
                        coflow.unserve(index);
                        gone.push(coflow.policy_flow(index));
                    }
                    (_, Stage::Active) => back.push(coflow.policy_flow(index)),
                    _ => {}
                }
            }
            let (is_stalled, is_unused) = (coflow.flows.stalled() > 0, coflow.flows.unused() > 0);
            if is_stalled && !was_stalled {
                effects.event(Event::Stalled { id: serial });
            }
            if let Some(why) = coflow.flows.why_unused().filter(|_| !was_unused) {
                effects.event(Event::Idle { id: serial, why });
            }
            if (was_stalled && !is_stalled) || (was_unused && !is_unused) {
                effects.event(Event::Resumed { id: serial });
            }
            (gone, back)
        });
        let Some((gone, back)) = followed else { return };
        if !(gone.is_empty() && back.is_empty()) {
            self.driver.suspend(&gone, now);
            self.driver.resume(&back, now);
            self.dirty.note_event();
        }
    }

    /// Stalls the flows of hosts that have gone, and lets those of hosts that have come go on.
    pub(super) fn follow_hosts(&mut self) {
        let ports = self.dirty.take_hosts().into_iter();
        let touched: BTreeSet<u64> = ports.flat_map(|port| self.coflows.at_port(port)).collect();
        touched.into_iter().for_each(|serial| self.follow(serial));
    }

    /// A coflow has gone: what agents have reported of it is forgotten, by them too.
    pub(super) fn forget_usage(&mut self, serial: u64, coflow: &Coflow) {
        let senders: BTreeSet<u32> = coflow.flows.iter().map(|(_, flow)| flow.src).collect();
        for port in senders {
            let agent = self.agents.get_mut(port);
            // An agent also keeps former names of flows.
            if agent.usage.forget(serial) || !coflow.flows.former().is_empty() {
                agent.over(serial);
                self.agents.wake(port);
            }
        }
    }
}

/// Whether an agent may report of a flow. The agent may know a flow before it is added here.
fn is_own(coflow: &Coflow, flow: u32, port: u32) -> bool {
    match coflow.flows.get(flow) {
        Some(flow) => flow.src == port && flow.stage != Stage::Ended,
        None => coflow.sends_from(port),
    }
}

/// The stage of a flow that is neither written nor ended, by its first and its present name.
fn stage_of(agents: &Agents, names: (FlowName, FlowKey), flow: &Flow, is_expired: bool) -> Stage {
    let (first, key) = names;
    let src = agents.get(flow.src);
    // An agent that does not know ids has not heard that a flow has changed its coflow.
    let knows_ids = src.connection.spoken >= IDS;
    let named = if knows_ids { Some(key.coflow) } else { first.coflow() };
    if src.is_away || agents.get(flow.dst).is_away {
        return Stage::Stalled;
    }
    match src.usage.flows.get(&key) {
        Some(Use::Idle) => Stage::Unused(Unused::Idle),
        Some(Use::Closed) => Stage::Unused(Unused::Closed),
        None if named.is_some_and(|coflow| src.usage.unopened.contains(&coflow)) => {
            Stage::Unused(Unused::Unopened)
        }
        _ if is_expired => Stage::Unused(Unused::Expired),
        _ => Stage::Active,
    }
}
