//! What clients read.

use std::borrow::Cow;

use covey_api::{
    AgentStatus, CoflowState, CoflowStatus, FlowRate, NearFlow, Page, Presence, UnnamedFlow,
};
use covey_core::{Lineage, Nearest};
use covey_proto::FlowKey;

use super::coordinator::CoordinatorState;
use super::flows::Served;
use crate::record::Summary;

impl CoordinatorState {
    pub(super) fn status(&self, id: u64) -> Option<CoflowStatus> {
        if let Some(coflow) = self.coflows.get(id) {
            return Some(CoflowStatus {
                id,
                name: coflow.about.name.clone(),
                owner: coflow.about.owner.as_ref().map(|owner| owner.token.clone()),
                tenant: coflow.about.owner.as_ref().map(|owner| owner.tenant.clone()),
                lineage: coflow.about.lineage.to_string(),
                state: if coflow.flows.stalled() > 0 {
                    CoflowState::Stalled
                } else {
                    CoflowState::Active
                },
                revision: coflow.revision,
                arrival_s: coflow.about.arrival_s,
                end_s: None,
                flows: coflow.flows.len(),
                flow_ids: coflow.flows.id_runs(),
                flows_ended: coflow.flows.ended(),
                flows_stalled: coflow.flows.stalled(),
                flows_idle: coflow.flows.unused(),
                idle_why: coflow.flows.why_unused().map(|why| Cow::Borrowed(why.name())),
                idle_s: coflow.flows.why_unused().map(|_| self.now - coflow.flows.unused_since()),
                kept_s: Some(coflow.lease.kept_until - self.now)
                    .filter(|left| left.is_finite())
                    .map(|left| left.max(0.0)),
                bytes_sent: coflow.flows.attained(),
                rate: coflow.served.values().fold(0.0, |sum, served| sum + served.rate),
            });
        }
        self.coflows.gone.get(id).map(of_gone)
    }

    pub(super) fn list(&self, from: u64, limit: usize, all: bool) -> Page<CoflowStatus> {
        let present = self.coflows.range(from).map(|(id, _)| id);
        let mut ids: Vec<u64> = present.take(limit + 1).collect();
        if all {
            ids.extend(self.coflows.gone.range(from).take(limit + 1));
            ids.sort_unstable();
        }
        let next = ids.get(limit).map(u64::to_string);
        let items = ids.iter().take(limit).filter_map(|&id| self.status(id)).collect();
        Page { items, next }
    }

    pub(super) fn rates(&self, from: (u64, u32), limit: usize) -> Page<FlowRate> {
        let mut items = Vec::new();
        for (serial, coflow) in self.coflows.range(from.0) {
            let first = if serial == from.0 { from.1 } else { 0 };
            for &Served { flow, rate, codec } in coflow.served.range(first..).map(|(_, it)| it) {
                if items.len() == limit {
                    return Page { items, next: Some(format!("{serial}.{flow}")) };
                }
                let Some(of) = coflow.flows.get(flow) else { continue };
                let codec = codec.map(|codec| Cow::Borrowed(codec.name()));
                let id = coflow.flows.id_of(flow).0;
                let (src, dst) = (of.src, of.dst);
                items.push(FlowRate { id, coflow: serial, flow, src, dst, rate, codec });
            }
        }
        Page { items, next: None }
    }

    pub(super) fn unnamed_flows(&self, from: u64, limit: usize, why: bool) -> Page<UnnamedFlow> {
        let mut items = Vec::new();
        for (id, flow) in self.announced.since(from) {
            if items.len() == limit {
                return Page { items, next: Some(id.0.to_string()) };
            }
            let key = self.coflows.ids.key(FlowKey::of_id(id));
            let group = key.and_then(|key| self.coflows.get(key.coflow));
            let rate = key.zip(group).map_or(0.0, |(key, group)| {
                group.served.get(&key.flow).map_or(0.0, |served| served.rate)
            });
            items.push(UnnamedFlow {
                id: id.0,
                found: group.map(|group| group.about.lineage.external),
                coflow: key.map(|key| key.coflow),
                src: flow.src,
                dst: flow.dst,
                from: flow.from,
                to: flow.to,
                protocol: flow.observed.protocol,
                start_s: flow.observed.start_s,
                bytes_sent: flow.sent,
                rate,
                near: key.filter(|_| why).and_then(|key| self.near(key)),
            });
        }
        Page { items, next: None }
    }

    /// The flow that is nearest to one of a coflow that the policy has found.
    fn near(&self, key: FlowKey) -> Option<NearFlow> {
        let Nearest { flow, distance, radius, shares } =
            self.driver.why(self.coflows.get(key.coflow)?.policy_flow(key.flow))?;
        let other = FlowKey { coflow: self.coflows.serial(flow.coflow), flow: flow.index };
        let id = self.coflows.get(other.coflow)?.flows.id_of(other.flow).0;
        let shares = shares.into_iter().map(|(name, share)| (Cow::Borrowed(name), share)).collect();
        Some(NearFlow { id, distance, radius, shares })
    }

    pub(super) fn list_agents(&self, from: u32, limit: usize) -> Page<AgentStatus> {
        let agents = self.agents.iter().skip(from as usize).take(limit);
        let items: Vec<AgentStatus> = agents
            .map(|(port, agent)| AgentStatus {
                port,
                state: match (agent.connection.session, agent.is_away) {
                    (Some(_), _) => Presence::Joined,
                    (None, false) => Presence::Awaited,
                    (None, true) => Presence::Lost,
                },
                version: agent.assignments.version(),
                applied: agent.assignments.applied(),
                draining: self.drained.contains(&port),
                flows: agent.assignments.wanted(),
                session: agent.connection.session,
                // The shell knows from where sessions come.
                peer: None,
                relay: None,
                protocol: Some(agent.connection.spoken).filter(|version| *version > 0),
                joined_s: agent.connection.session.map(|_| self.now - agent.connection.since),
                heard_s: (agent.connection.spoken > 0).then(|| self.now - agent.connection.heard),
                unapplied_s: agent.assignments.under_way_since().map(|since| self.now - since),
                other_sent: agent.links.other.map(|[sent, _]| sent),
                other_received: agent.links.other.map(|[_, received]| received),
            })
            .collect();
        let end = from as usize + items.len();
        let next = (end < self.agents.ports() as usize).then(|| end.to_string());
        Page { items, next }
    }
}

fn of_gone(summary: &Summary) -> CoflowStatus {
    let (external, internal) = summary.lineage;
    CoflowStatus {
        id: summary.id,
        name: summary.name.clone(),
        owner: summary.owner.as_ref().map(|owner| owner.token.clone()),
        tenant: summary.owner.as_ref().map(|owner| owner.tenant.clone()),
        lineage: Lineage { external, internal }.to_string(),
        state: if summary.removed { CoflowState::Removed } else { CoflowState::Ended },
        revision: 0,
        arrival_s: summary.arrival_s,
        end_s: Some(summary.end_s),
        flows: summary.flows,
        flow_ids: Vec::new(),
        flows_ended: summary.flows,
        flows_stalled: 0,
        flows_idle: 0,
        idle_why: None,
        idle_s: None,
        kept_s: None,
        bytes_sent: summary.bytes,
        rate: 0.0,
    }
}
