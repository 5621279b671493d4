//! Why coflows have no rate.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use covey_api::{FullLink, Page, Waiting};
use covey_core::Group;

use super::coflows::{Coflow, Present, range};
use super::coordinator::CoordinatorState;
use super::flows::Stage;
use crate::layers::LayerOf;

/// The most links that are named for a coflow.
const MAX_LINKS: usize = 4;
/// The most coflows that are named for a link.
const MAX_COFLOWS: usize = 4;
/// The most ports that are named because their agents are away.
const MAX_LOST: usize = 8;
/// The most flows of a coflow that are looked at.
const MAX_FLOWS: usize = 4096;
/// A link is full if so much of it is used.
const FULL: f64 = 0.95;

/// A direction of a port.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Link {
    Out(u32),
    In(u32),
}

/// Links that are full, each with the used part of it.
pub(super) type FullLinks = BTreeMap<Link, (f64, FullLink)>;

/// What is known of the plan and the rates in force, for all coflows.
pub(super) struct InForce {
    pub present: Present,
    /// The places of coflows in the order of the plan, by what the policy calls them; `usize::MAX`:
    /// none.
    places: Vec<usize>,
    layers: LayerOf,
    /// Bytes per second of each link, those out of all ports first.
    capacity: Vec<f64>,
    /// Ports whose agents are away.
    away: BTreeSet<u32>,
}

impl CoordinatorState {
    /// A copy of what decides which coflows wait.
    pub(super) fn in_force(&self) -> InForce {
        let mut places = vec![usize::MAX; self.driver.state().slots()];
        for (place, (_, entry)) in self.driver.ranking().entries.iter().enumerate() {
            let id = match entry.group {
                Group::AllFlows => continue,
                Group::Coflow(id) | Group::CoflowAt(id, _) => id,
                Group::Flow(flow) => flow.coflow,
            };
            // The plan may still name a coflow that has left.
            if self.driver.state().is_present(id) {
                places[id.index()] = place.min(places[id.index()]);
            }
        }
        let away = self.agents.iter().filter(|(_, agent)| agent.is_away);
        InForce {
            present: self.coflows.present(),
            places,
            layers: self.driver.layers().clone(),
            capacity: self.driver.state().fabric().capacity().to_vec(),
            away: away.map(|(port, _)| port).collect(),
        }
    }
}

impl InForce {
    /// Coflows that have no rate, with numbers from `from` on. This looks at all rates.
    pub fn waiting(&self, from: u64, limit: usize) -> Page<Waiting> {
        let waiting = range(&self.present, from).filter(|(_, coflow)| coflow.served.is_empty());
        let waiting: Vec<(u64, &Coflow)> = waiting.take(limit + 1).collect();
        let next = waiting.get(limit).map(|(serial, _)| serial.to_string());
        let full = if waiting.is_empty() { BTreeMap::new() } else { self.full_links() };
        let items = waiting.into_iter().take(limit);
        let items = items.map(|(serial, coflow)| self.why(serial, coflow, &full)).collect();
        Page { items, next }
    }

    /// The links that are full. This looks at all rates.
    pub fn full_links(&self) -> FullLinks {
        // What uses each link: the rates of coflows there.
        let mut all: BTreeMap<Link, BTreeMap<u64, f64>> = BTreeMap::new();
        for (serial, coflow) in range(&self.present, 0) {
            for served in coflow.served.values() {
                let Some(flow) = coflow.flows.get(served.flow) else { continue };
                for link in [Link::Out(flow.src), Link::In(flow.dst)] {
                    *all.entry(link).or_default().entry(serial).or_default() += served.rate;
                }
            }
        }
        let used = |(link, users): (Link, BTreeMap<u64, f64>)| {
            let part = users.values().sum::<f64>() / self.capacity(link);
            (part >= FULL).then(|| (link, (part, self.full_link(link, users))))
        };
        all.into_iter().filter_map(used).collect()
    }

    /// A link that is full, with the coflows that have the highest rates there.
    fn full_link(&self, link: Link, users: BTreeMap<u64, f64>) -> FullLink {
        let served = users.len();
        let mut most: Vec<(u64, f64)> = users.into_iter().collect();
        most.sort_by(|a, b| b.1.total_cmp(&a.1));
        let mut coflows: Vec<u64> = most.iter().take(MAX_COFLOWS).map(|(id, _)| *id).collect();
        let place = |id: u64| self.present.get(&id).map(|coflow| self.place(coflow));
        coflows.sort_by_key(|&id| (place(id), id));
        let (port, direction) = match link {
            Link::Out(port) => (port, "out"),
            Link::In(port) => (port, "in"),
        };
        FullLink { port, direction: Cow::Borrowed(direction), coflows, served }
    }

    /// The place of a coflow; the last of all if it has none.
    fn place(&self, coflow: &Coflow) -> usize {
        self.places.get(coflow.id.index()).copied().unwrap_or(usize::MAX)
    }

    /// The layer of a coflow's first flow.
    pub fn layer(&self, coflow: &Coflow) -> u32 {
        let first = coflow.flows.unfinished().next();
        first.map_or(0, |(index, _)| self.layers.of(coflow.policy_flow(index)))
    }

    /// Why a coflow has no rate; `full` are the links that are.
    pub fn why(&self, serial: u64, coflow: &Coflow, full: &FullLinks) -> Waiting {
        let first = coflow.flows.unfinished().next();
        let layer = self.layer(coflow);
        let place = Some(self.place(coflow)).filter(|place| *place < usize::MAX);
        let stages = || coflow.flows.unfinished().map(|(_, flow)| flow.stage);
        let mut waiting =
            Waiting { coflow: serial, why: "".into(), layer, place, behind: vec![], lost: vec![] };
        waiting.why = if first.is_none() {
            "open".into()
        } else if !coflow.waits_for.is_empty() {
            "parents".into()
        } else if stages().any(|stage| stage == Stage::Active) {
            waiting.behind = full_of(coflow, full);
            if waiting.behind.is_empty() { "policy".into() } else { "behind".into() }
        } else if stages().any(|stage| stage == Stage::Stalled) {
            waiting.lost = self.lost_ports(coflow);
            "stalled".into()
        } else {
            coflow.flows.why_unused().map_or("written".into(), |why| why.name().into())
        };
        waiting
    }

    /// Bytes per second of a link.
    fn capacity(&self, link: Link) -> f64 {
        match link {
            Link::Out(port) => self.capacity[port as usize],
            Link::In(port) => self.capacity[self.capacity.len() / 2 + port as usize],
        }
    }

    /// Ports of a coflow's stalled flows whose agents are away, ascending.
    fn lost_ports(&self, coflow: &Coflow) -> Vec<u32> {
        let stalled = coflow.flows.unfinished().filter(|(_, flow)| flow.stage == Stage::Stalled);
        let ports = stalled.take(MAX_FLOWS).flat_map(|(_, flow)| [flow.src, flow.dst]);
        let mut ports: Vec<u32> = ports.filter(|port| self.away.contains(port)).collect();
        ports.sort_unstable();
        ports.dedup();
        ports.truncate(MAX_LOST);
        ports
    }
}

/// The fullest links of a coflow that others fill, fullest first; then by port.
fn full_of(coflow: &Coflow, full: &FullLinks) -> Vec<FullLink> {
    let active = coflow.flows.unfinished().filter(|(_, flow)| flow.stage == Stage::Active);
    let links =
        active.take(MAX_FLOWS).flat_map(|(_, flow)| [Link::Out(flow.src), Link::In(flow.dst)]);
    let links: BTreeSet<Link> = links.collect();
    let mut found: Vec<&(f64, FullLink)> = links.iter().filter_map(|link| full.get(link)).collect();
    // The sort is stable: equals stay in the order of links.
    found.sort_by(|a, b| b.0.total_cmp(&a.0));
    found.into_iter().take(MAX_LINKS).map(|(_, link)| link.clone()).collect()
}
