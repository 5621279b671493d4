//! What clients read.
//!
//! A list may be long. The coordinator takes a copy, which shares with it whatever does not change
//! meanwhile, and the page is made from that elsewhere.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::net::SocketAddr;

use covey_api::{
    AgentStatus, CoflowState, CoflowStatus, FlowRate, NearFlow, Page, Presence, UnnamedFlow,
};
use covey_core::{Lineage, Nearest, Time};
use covey_proto::{FlowId, FlowKey};

use super::announced::AnnouncedFlows;
use super::coflows::{Coflow, Present, range};
use super::coordinator::CoordinatorState;
use super::effects::SessionId;
use super::flow_ids::FlowIds;
use super::flows::Served;
use super::memory::Summaries;
use crate::record::Summary;
use crate::request::{List, MakePage, Reply};

impl CoordinatorState {
    /// Prepares a page of a list. `peer` tells where a session's agent connects from: its address,
    /// or that of its relay, and the relay's session if it has one.
    pub fn list(
        &self,
        list: &List,
        peer: impl Fn(SessionId) -> Option<(SocketAddr, Option<SessionId>)>,
    ) -> MakePage {
        let (present, now) = (self.coflows.present(), self.now);
        match *list {
            List::Coflows { from, limit, all } => {
                let gone = if all { self.coflows.gone.summaries() } else { Summaries::new() };
                Box::new(move || Reply::Coflows(coflows((&present, &gone), from, limit, now)))
            }
            List::Schedule { from, limit } => {
                Box::new(move || Reply::Schedule(rates(&present, from, limit)))
            }
            List::Flows { from, limit, why } => {
                let (flows, ids) = (self.announced.flows(), self.coflows.ids.clone());
                let asked = flows.range(from..).take(if why { limit } else { 0 });
                let near = asked.filter_map(|(id, _)| Some((*id, self.near(FlowId(*id))?)));
                let near = near.collect();
                let known = (present, flows, ids, near);
                Box::new(move || Reply::Flows(unnamed_flows(known, from, limit)))
            }
            List::Waiting { from, limit } => {
                let in_force = self.in_force();
                Box::new(move || Reply::Waiting(in_force.waiting(from, limit)))
            }
            List::Agents { from, limit } => {
                let page = self.list_agents(from, limit, peer);
                Box::new(move || Reply::Agents(page))
            }
        }
    }

    pub(super) fn status(&self, id: u64) -> Option<CoflowStatus> {
        let present = self.coflows.get(id).map(|coflow| of_present(id, coflow, self.now));
        present.or_else(|| self.coflows.gone.get(id).map(of_gone))
    }

    /// The flow that is nearest to one of a coflow that the policy has found.
    fn near(&self, id: FlowId) -> Option<NearFlow> {
        let key = self.coflows.ids.key(id)?;
        let Nearest { flow, distance, radius, shares } =
            self.driver.why(self.coflows.get(key.coflow)?.policy_flow(key.flow))?;
        let other = FlowKey { coflow: self.coflows.serial(flow.coflow), flow: flow.index };
        let id = self.coflows.get(other.coflow)?.flows.id_of(other.flow).0;
        let shares = shares.into_iter().map(|(name, share)| (Cow::Borrowed(name), share)).collect();
        Some(NearFlow { id, distance, radius, shares })
    }

    fn list_agents(
        &self,
        from: u32,
        limit: usize,
        peer: impl Fn(SessionId) -> Option<(SocketAddr, Option<SessionId>)>,
    ) -> Page<AgentStatus> {
        let agents = self.agents.iter().skip(from as usize).take(limit);
        let items: Vec<AgentStatus> = agents
            .map(|(port, agent)| (port, agent, agent.connection.session.and_then(&peer)))
            .map(|(port, agent, peer)| AgentStatus {
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
                peer: peer.map(|(address, _)| address),
                relay: peer.and_then(|(_, relay)| relay),
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

fn coflows(
    (present, gone): (&Present, &Summaries),
    from: u64,
    limit: usize,
    now: Time,
) -> Page<CoflowStatus> {
    let mut ids: Vec<u64> = range(present, from).map(|(id, _)| id).take(limit + 1).collect();
    ids.extend(gone.range(from..).map(|(id, _)| *id).take(limit + 1));
    ids.sort_unstable();
    let next = ids.get(limit).map(u64::to_string);
    let status = |id: &u64| match present.get(id) {
        Some(coflow) => Some(of_present(*id, coflow, now)),
        None => gone.get(id).map(|summary| of_gone(summary)),
    };
    Page { items: ids.iter().take(limit).filter_map(status).collect(), next }
}

fn rates(present: &Present, from: (u64, u32), limit: usize) -> Page<FlowRate> {
    let mut items = Vec::new();
    for (serial, coflow) in range(present, from.0) {
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

/// The flows that no application has named, with what is nearest to each.
fn unnamed_flows(
    (present, flows, ids, mut near): (Present, AnnouncedFlows, FlowIds, BTreeMap<u64, NearFlow>),
    from: u64,
    limit: usize,
) -> Page<UnnamedFlow> {
    let mut items = Vec::new();
    for (&id, flow) in flows.range(from..) {
        if items.len() == limit {
            return Page { items, next: Some(id.to_string()) };
        }
        let key = ids.key(FlowId(id));
        let group = key.and_then(|key| present.get(&key.coflow));
        let rate = key.zip(group).map_or(0.0, |(key, group)| {
            group.served.get(&key.flow).map_or(0.0, |served| served.rate)
        });
        items.push(UnnamedFlow {
            id,
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
            near: near.remove(&id),
        });
    }
    Page { items, next: None }
}

fn of_present(id: u64, coflow: &Coflow, now: Time) -> CoflowStatus {
    let Coflow { about, flows, .. } = coflow;
    CoflowStatus {
        id,
        name: about.name.clone(),
        owner: about.owner.as_ref().map(|owner| owner.token.clone()),
        tenant: about.owner.as_ref().map(|owner| owner.tenant.clone()),
        lineage: about.lineage.to_string(),
        state: if flows.stalled() > 0 { CoflowState::Stalled } else { CoflowState::Active },
        revision: coflow.revision,
        arrival_s: about.arrival_s,
        end_s: None,
        flows: flows.len(),
        flow_ids: flows.id_runs(),
        flows_ended: flows.ended(),
        flows_stalled: flows.stalled(),
        flows_idle: flows.unused(),
        idle_why: flows.why_unused().map(|why| Cow::Borrowed(why.name())),
        idle_s: flows.why_unused().map(|_| now - flows.unused_since()),
        kept_s: Some(coflow.lease.kept_until - now)
            .filter(|left| left.is_finite())
            .map(|left| left.max(0.0)),
        bytes_sent: flows.attained(),
        rate: coflow.served.values().fold(0.0, |sum, served| sum + served.rate),
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
