//! The coflows that are registered, by their serial numbers, and those that have gone.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use covey_core::{CoflowId, Compression, Lineage, Time};
use covey_proto::{FlowAnnouncement, FlowId, FlowKey, FlowName};
use imbl::OrdMap;

use super::flow_ids::FlowIds;
use super::flows::{Flow, Flows, Served, Stage, ports};
use super::held::{Held, Holdings};
use super::leases::{Lease, Leases};
use super::memory::{Dags, Gone};
use crate::record::{Digest, Key, Registrant, Summary};
use covey_api::Limits;

/// What a client has said of a coflow when it registered it.
#[derive(Debug)]
pub(super) struct About {
    pub name: Option<String>,
    pub key: Option<Key>,
    pub owner: Option<Registrant>,
    pub parents: Vec<u64>,
    /// Whether its flows wait until its parents have gone.
    pub barrier: bool,
    pub weight: f64,
    pub deadline_s: Option<f64>,
    /// Whether it may be compressed.
    pub compress: bool,
    /// Compressed bytes for each raw byte, if that is known.
    pub ratio: Option<f64>,
    pub lineage: Lineage,
    pub arrival_s: f64,
}

/// A key, among those of the token that registered with it; of no token in old journals.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct OwnKey {
    token: Option<String>,
    key: String,
}

impl OwnKey {
    pub fn of(owner: &Option<Registrant>, key: &Key) -> OwnKey {
        let token = owner.as_ref().map(|owner| owner.token.clone());
        OwnKey { token, key: key.key.clone() }
    }
}

/// A coflow that is present.
#[derive(Debug, Clone)]
pub(super) struct Coflow {
    /// What the policy calls it.
    pub id: CoflowId,
    pub about: Arc<About>,
    /// Whether more flows are to come.
    pub open: bool,
    /// Grows with each update: the entity tag.
    pub revision: u64,
    pub flows: Flows,
    pub lease: Lease,
    /// Flows with a rate, by index.
    pub served: BTreeMap<u32, Served>,
    /// How it is compressed, if it is.
    pub compression: Option<Compression>,
    /// Bytes per second that coflows before leave of each of its links, by local link, if its
    /// compression is compared with that; as of the last plan.
    pub remaining: Vec<f64>,
    /// Bytes after which each of its agents reports it; infinite if none has to.
    pub report_threshold: f64,
    /// Whether its flows have sent something since the policy was last told what is left of them.
    pub is_stale: bool,
    /// Ports at which flows are open that are not added yet.
    pub early: BTreeSet<u32>,
    /// Ports whose agents hear when it has its turn.
    pub followers: BTreeSet<u32>,
    /// Parents that are present, if its flows wait for them.
    pub waits_for: BTreeSet<u64>,
}

impl Coflow {
    /// A flow, as the policy names it.
    pub fn policy_flow(&self, index: u32) -> covey_core::FlowId {
        covey_core::FlowId { coflow: self.id, index }
    }

    /// Whether it has a flow that a port sends.
    pub fn sends_from(&self, port: u32) -> bool {
        self.flows.iter().any(|(_, flow)| flow.src == port)
    }

    /// Takes a flow's rate away.
    pub fn unserve(&mut self, flow: u32) {
        self.served.remove(&flow);
    }

    /// What it counts as.
    pub fn tally(&self) -> Tally {
        Tally {
            stalled: usize::from(self.flows.stalled() > 0),
            idle: usize::from(self.flows.unused() > 0),
            expired: usize::from(self.lease.expired.is_some()),
            unused: self.flows.unused_by_reason(),
        }
    }
}

/// How many coflows and flows there are that need somebody's attention.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Tally {
    /// Coflows with a stalled flow.
    pub stalled: usize,
    /// Coflows with a flow that does not use its rate.
    pub idle: usize,
    /// Coflows that nobody keeps.
    pub expired: usize,
    /// Flows that do not use their rates, by [`Unused`](super::flows::Unused).
    pub unused: [usize; 4],
}

impl Tally {
    /// A coflow counts as `after` now, and did as `before`.
    pub fn replace(&mut self, before: Tally, after: Tally) {
        self.stalled = self.stalled + after.stalled - before.stalled;
        self.idle = self.idle + after.idle - before.idle;
        self.expired = self.expired + after.expired - before.expired;
        for (k, all) in self.unused.iter_mut().enumerate() {
            *all = *all + after.unused[k] - before.unused[k];
        }
    }
}

/// Coflows that are present, by number. A copy shares them until they change.
pub(super) type Present = OrdMap<u64, Arc<Coflow>>;

/// All coflows that the coordinator knows.
#[derive(Debug, Default)]
pub(super) struct Coflows {
    present: Present,
    pub gone: Gone,
    pub dags: Dags,
    /// DAGs of groups of the policy's own making, which numbers them by itself.
    own_dags: Dags,
    pub leases: Leases,
    pub ids: FlowIds,
    /// Serial numbers by [`CoflowId`].
    serials: Vec<u64>,
    /// Registrations by the token that registered and its key: the coflow's number, and the digest
    /// of the request. Present and gone ones.
    keys: BTreeMap<OwnKey, (u64, Digest)>,
    /// The number of the next coflow.
    pub next_id: u64,
    /// Present coflows that have, or had, a flow at a port.
    by_port: Vec<BTreeSet<u64>>,
    /// Coflows that wait for a coflow to go, by the number of that.
    waiting_for: BTreeMap<u64, BTreeSet<u64>>,
    /// What the present ones count as together.
    tally: Tally,
    /// What tokens have of the present ones.
    pub held: Holdings,
}

impl Coflows {
    pub fn get(&self, serial: u64) -> Option<&Coflow> {
        self.present.get(&serial).map(Arc::as_ref)
    }

    /// A copy of the present ones.
    pub fn present(&self) -> Present {
        self.present.clone()
    }

    pub fn contains(&self, serial: u64) -> bool {
        self.present.contains_key(&serial)
    }

    /// Whether the coordinator knows a coflow, present or gone.
    pub fn knows(&self, serial: u64) -> bool {
        self.contains(serial) || self.gone.contains(serial)
    }

    /// Changes a coflow, but not what it counts as: for that there is [`Coflows::change`].
    pub fn get_mut(&mut self, serial: u64) -> Option<&mut Coflow> {
        get_mut(&mut self.present, serial)
    }

    /// Changes a coflow, and what it counts as.
    pub fn change<T>(
        &mut self,
        serial: u64,
        change: impl FnOnce(&mut Coflow, &mut Leases) -> T,
    ) -> Option<T> {
        let coflow = get_mut(&mut self.present, serial)?;
        let before = coflow.tally();
        let result = change(coflow, &mut self.leases);
        self.tally.replace(before, coflow.tally());
        Some(result)
    }

    /// The coflow's lease is to be looked at then.
    pub fn look_at(&mut self, serial: u64, at: Time) {
        if let Some(coflow) = get_mut(&mut self.present, serial) {
            self.leases.look_at(serial, &mut coflow.lease, at);
        }
    }

    /// The DAGs of groups of the policy's own making (true), or of named coflows.
    pub fn dags(&self, own: bool) -> &Dags {
        if own { &self.own_dags } else { &self.dags }
    }

    fn dags_mut(&mut self, own: bool) -> &mut Dags {
        if own { &mut self.own_dags } else { &mut self.dags }
    }

    pub fn len(&self) -> usize {
        self.present.len()
    }

    pub fn tally(&self) -> Tally {
        self.tally
    }

    /// The present ones from this number on, ascending.
    pub fn range(&self, from: u64) -> impl Iterator<Item = (u64, &Coflow)> {
        range(&self.present, from)
    }

    /// The numbers of the present ones, ascending.
    pub fn serials(&self) -> Vec<u64> {
        self.present.keys().copied().collect()
    }

    /// The serial number of the coflow that has this id for the policy.
    pub fn serial(&self, id: CoflowId) -> u64 {
        self.serials[id.index()]
    }

    /// The present coflow that has this id for the policy.
    pub fn of(&self, id: CoflowId) -> Option<&Coflow> {
        self.get(*self.serials.get(id.index())?)
    }

    /// The lineage of a coflow, present or remembered.
    pub fn lineage(&self, serial: u64) -> Option<Lineage> {
        let present = self.present.get(&serial).map(|coflow| coflow.about.lineage);
        present.or_else(|| self.gone.lineage(serial))
    }

    /// The registration with this key: the coflow's number, and the digest of the request.
    pub fn registered_with(&self, key: &OwnKey) -> Option<(u64, &Digest)> {
        // A key of a coflow that belongs to nobody counts for everybody.
        let of_nobody = || self.keys.get(&OwnKey { token: None, key: key.key.clone() });
        let (serial, digest) = self.keys.get(key).or_else(of_nobody)?;
        Some((*serial, digest))
    }

    /// The owner of a coflow, present or remembered. A coflow of nobody, or that is not known, has
    /// none.
    pub fn owner(&self, serial: u64) -> Option<&Registrant> {
        match self.present.get(&serial) {
            Some(coflow) => coflow.about.owner.as_ref(),
            None => self.gone.get(serial)?.owner.as_ref(),
        }
    }

    /// Adds a coflow that has no flows yet and whose lease runs: the tally stays as it is.
    /// [`Coflows::extend`] adds its flows, and [`Coflows::wait_for`] its parents.
    pub fn insert(&mut self, serial: u64, coflow: Coflow) {
        let slot = coflow.id.index();
        if self.serials.len() <= slot {
            // No coflow has this number.
            self.serials.resize(slot + 1, u64::MAX);
        }
        self.serials[slot] = serial;
        self.next_id = self.next_id.max(serial + 1);
        self.dags_mut(coflow.flows.is_own()).join(coflow.about.lineage.external, serial);
        self.note_key(&coflow.about.owner, coflow.about.key.as_ref(), serial);
        self.leases.insert(serial, &coflow.lease);
        if let Some(owner) = &coflow.about.owner {
            let keys = usize::from(coflow.about.key.is_some());
            self.held.add(&owner.token, Held { coflows: 1, flows: 0, keys });
        }
        self.present.insert(serial, Arc::new(coflow));
    }

    /// Notes the key with which a coflow was registered, if it has one.
    fn note_key(&mut self, owner: &Option<Registrant>, key: Option<&Key>, serial: u64) {
        if let Some(key) = key {
            self.keys.insert(OwnKey::of(owner, key), (serial, key.digest.clone()));
        }
    }

    /// The flows of a coflow wait until those of its parents that are present have gone.
    pub fn wait_for(&mut self, serial: u64, parents: &[u64]) {
        let there = parents.iter().copied().filter(|parent| self.contains(*parent));
        let there: BTreeSet<u64> = there.filter(|parent| *parent != serial).collect();
        for &parent in &there {
            self.waiting_for.entry(parent).or_default().insert(serial);
        }
        if let Some(coflow) = self.get_mut(serial) {
            coflow.waits_for = there;
        }
    }

    /// A coflow has gone. Returns those whose flows need not wait any more.
    pub fn release_children(&mut self, parent: u64) -> Vec<u64> {
        let children = self.waiting_for.remove(&parent).unwrap_or_default();
        let present = &mut self.present;
        let is_free = |child: &u64| {
            get_mut(present, *child).is_some_and(|coflow| {
                coflow.waits_for.remove(&parent) && coflow.waits_for.is_empty()
            })
        };
        children.into_iter().filter(is_free).collect()
    }

    /// Adds flows to a coflow, with their ids.
    pub fn extend(&mut self, serial: u64, flows: Vec<Flow>, ids: &[u64]) {
        self.note_ports(serial, &flows);
        let Some(coflow) = get_mut(&mut self.present, serial) else { return };
        if let Some(owner) = &coflow.about.owner {
            self.held.add(&owner.token, Held { flows: flows.len(), ..Held::default() });
        }
        let runs = self.ids.insert(serial, coflow.flows.len() as u32, ids);
        coflow.flows.extend(flows, runs);
    }

    fn note_ports(&mut self, serial: u64, flows: &[Flow]) {
        for port in ports(flows) {
            let port = port as usize;
            if self.by_port.len() <= port {
                self.by_port.resize_with(port + 1, BTreeSet::new);
            }
            self.by_port[port].insert(serial);
        }
    }

    /// Moves a flow to another coflow that is present, with what it has sent. Its former coflow
    /// keeps an ended flow in its place, with the id `rest`. Returns the new name.
    pub fn move_flow(
        &mut self,
        id: FlowId,
        from: FlowKey,
        to: u64,
        rest: u64,
        now: Time,
    ) -> Option<FlowKey> {
        let index = self.get(to)?.flows.len() as u32;
        let left = self.change(from.coflow, |coflow, _| {
            coflow.unserve(from.flow);
            coflow.flows.leave(from.flow, now)
        });
        let (mut flow, mut names) = left??;
        let coflow = get_mut(&mut self.present, from.coflow)?;
        // Its data are what they were.
        flow.ratio = flow.ratio.or(coflow.about.ratio);
        self.ids.replace(from.coflow, coflow.flows.ids_mut(), from.flow, rest);
        self.ids.add_former(from.into(), id);
        names.push(from.into());
        if !matches!(flow.stage, Stage::Written | Stage::Ended) {
            // Whether it can use a rate is found out again.
            flow.stage = Stage::Active;
        }
        self.extend(to, vec![flow], &[id.0]);
        let coflow = self.get_mut(to)?;
        coflow.flows.note_joined(names);
        // The rate of 0 differs from the next plan's, so the flow's agent is told the new rate.
        coflow.served.insert(index, Served { flow: index, rate: 0.0, codec: None });
        Some(FlowKey { coflow: to, flow: index })
    }

    /// A group of the policy's own making has begun: it is a coflow without a lease, and the
    /// journal hears nothing of it.
    pub fn begin_group(&mut self, serial: u64, id: CoflowId, lineage: Lineage, now: Time) {
        let about = About {
            name: None,
            key: None,
            owner: None,
            parents: Vec::new(),
            barrier: false,
            weight: 1.0,
            deadline_s: None,
            compress: true,
            ratio: None,
            lineage,
            arrival_s: now.as_secs(),
        };
        let coflow = Coflow {
            id,
            about: Arc::new(about),
            open: false,
            revision: 0,
            flows: Flows::of_group(now),
            lease: Lease::new(Some(f64::INFINITY), f64::INFINITY, now),
            served: BTreeMap::new(),
            compression: None,
            remaining: Vec::new(),
            report_threshold: f64::INFINITY,
            is_stale: false,
            early: BTreeSet::new(),
            followers: BTreeSet::new(),
            waits_for: BTreeSet::new(),
        };
        let next_id = self.next_id;
        self.insert(serial, coflow);
        self.next_id = next_id;
    }

    /// Takes a flow out of its place in a group, which stays empty and has the id `rest` from now
    /// on. Returns the flow and its former names.
    pub fn take_out(
        &mut self,
        from: FlowKey,
        rest: FlowId,
        now: Time,
    ) -> Option<(Flow, Vec<FlowName>)> {
        let taken = self.change(from.coflow, |coflow, _| {
            coflow.unserve(from.flow);
            coflow.flows.leave(from.flow, now)
        });
        let coflow = get_mut(&mut self.present, from.coflow)?;
        self.ids.replace(from.coflow, coflow.flows.ids_mut(), from.flow, rest.0);
        taken?
    }

    /// Puts a flow into an empty place of a group. Places before it that are not there yet are
    /// empty, with ids that `give` gives.
    pub fn put(
        &mut self,
        to: FlowKey,
        id: FlowId,
        (flow, names): (Flow, Vec<FlowName>),
        mut give: impl FnMut() -> FlowId,
        now: Time,
    ) {
        let Some(coflow) = get_mut(&mut self.present, to.coflow) else { return };
        let there = coflow.flows.len() as u32;
        let empty = Flow { stage: Stage::Ended, sent: 0.0, wire: 0.0, ..flow };
        if to.flow >= there {
            let mut ids: Vec<u64> = (there..to.flow).map(|_| give().0).collect();
            ids.push(id.0);
            self.extend(to.coflow, vec![empty; ids.len()], &ids);
        } else {
            self.ids.replace(to.coflow, coflow.flows.ids_mut(), to.flow, id.0);
            self.note_ports(to.coflow, &[flow]);
        }
        self.change(to.coflow, |coflow, _| {
            coflow.flows.put(to.flow, flow, names, now);
            // The rate of 0 differs from the next plan's, so the flow's agent is told the new rate.
            coflow.served.insert(to.flow, Served { flow: to.flow, rate: 0.0, codec: None });
        });
    }

    /// A group of the policy's own making has gone. Nothing is remembered of it.
    pub fn end_group(&mut self, serial: u64) -> Option<Arc<Coflow>> {
        let coflow = self.remove(serial)?;
        self.own_dags.forget(coflow.about.lineage.external);
        Some(coflow)
    }

    /// What announces a flow of a coflow that is present: all names that it has had, oldest first.
    /// A flow that no application has named is known by the number that its agent has given to it,
    /// whatever its group.
    pub fn announcements(&self, id: FlowId) -> Vec<FlowAnnouncement> {
        let Some(key) = self.ids.key(id) else { return Vec::new() };
        let Some(coflow) = self.get(key.coflow) else { return Vec::new() };
        let names = coflow
            .flows
            .names(key)
            .filter(|name| !coflow.flows.is_own() || *name != FlowName::Key(key));
        names.map(|name| FlowAnnouncement { id, member: Some(name) }).collect()
    }

    /// These are the former names of a flow, oldest first.
    pub fn set_former(&mut self, id: FlowId, names: Vec<FlowName>) {
        let Some(key) = self.ids.key(id) else { return };
        let Some(coflow) = get_mut(&mut self.present, key.coflow) else { return };
        names.iter().for_each(|name| self.ids.add_former(*name, id));
        coflow.flows.set_former(key.flow, names);
    }

    /// Coflows that have, or had, a flow at a port.
    pub fn at_port(&self, port: u32) -> impl Iterator<Item = u64> {
        self.by_port.get(port as usize).into_iter().flatten().copied()
    }

    /// Whether a coflow that is present has, or had, a flow at a port.
    pub fn is_at_port(&self, serial: u64, port: u32) -> bool {
        self.by_port.get(port as usize).is_some_and(|coflows| coflows.contains(&serial))
    }

    /// A coflow that is present has been changed so often.
    pub fn set_revision(&mut self, serial: u64, revision: u64) {
        if let Some(coflow) = self.get_mut(serial) {
            coflow.revision = revision;
        }
    }

    /// A flow of a coflow that is present.
    pub fn flow(&self, key: FlowKey) -> Option<Flow> {
        self.get(key.coflow)?.flows.get(key.flow)
    }

    /// The id of a flow of a coflow that is present.
    pub fn id_of(&self, key: FlowKey) -> Option<FlowId> {
        Some(self.get(key.coflow)?.flows.id_of(key.flow))
    }

    /// A coflow has gone: only its summary stays, and not for ever.
    pub fn retire(&mut self, serial: u64, end_s: f64, removed: bool) -> Option<Arc<Coflow>> {
        let coflow = self.remove(serial)?;
        let Coflow { about, flows, .. } = &*coflow;
        self.gone.insert(Summary {
            id: serial,
            name: about.name.clone(),
            lineage: (about.lineage.external, about.lineage.internal),
            arrival_s: about.arrival_s,
            end_s,
            flows: flows.len(),
            bytes: flows.attained(),
            removed,
            key: about.key.clone(),
            owner: about.owner.clone(),
        });
        Some(coflow)
    }

    fn remove(&mut self, serial: u64) -> Option<Arc<Coflow>> {
        let coflow = self.present.remove(&serial)?;
        let Coflow { about, flows, lease, waits_for, .. } = &*coflow;
        for parent in waits_for {
            if let Some(children) = self.waiting_for.get_mut(parent) {
                children.remove(&serial);
            }
        }
        self.leases.remove(serial, lease);
        if let Some(owner) = &about.owner {
            let keys = usize::from(about.key.is_some());
            self.held.remove(&owner.token, Held { coflows: 1, flows: flows.len(), keys });
        }
        self.ids.remove(flows.ids(), flows.former().values().flatten().copied());
        self.tally.replace(coflow.tally(), Tally::default());
        for port in flows.ports() {
            self.by_port[port as usize].remove(&serial);
        }
        self.dags_mut(flows.is_own()).leave(about.lineage.external, serial, flows.attained());
        Some(coflow)
    }

    /// Takes over what a compacted journal remembers.
    pub fn remember(&mut self, summary: Summary) {
        self.note_key(&summary.owner, summary.key.as_ref(), summary.id);
        self.dags.remember(summary.lineage.0);
        self.next_id = self.next_id.max(summary.id + 1);
        self.gone.insert(summary);
    }

    /// Forgets coflows, until at most `max` are remembered, of each token as many as its limits
    /// say, and none that went before that time. Of too many, the tenant that has most loses the
    /// one that went first.
    pub fn forget_gone(&mut self, max: usize, before: Time, limits: &BTreeMap<String, Limits>) {
        for (token, limits) in limits {
            while let Some(keys) = limits.keys
                && self.held.of(token).keys + self.gone.of_token(token).1 > keys
                && let Some((owner, key)) = self.gone.pop_key(token)
            {
                self.keys.remove(&OwnKey::of(&owner, &key));
            }
        }
        while let Some(summary) = self.gone.pop(max, before, limits) {
            if let Some(key) = &summary.key {
                self.keys.remove(&OwnKey::of(&summary.owner, key));
            }
            self.dags.forget(summary.lineage.0);
        }
    }

    /// How many entries there are, of everything.
    #[cfg(test)]
    pub fn entries(&self) -> usize {
        let memory = self.gone.len()
            + self.dags.len()
            + self.own_dags.len()
            + self.keys.len()
            + self.ids.len();
        let memory = memory + self.held.len();
        let waiting: usize = self.waiting_for.values().map(BTreeSet::len).sum();
        self.present.len() + self.serials.len() + self.leases.len() + memory + waiting
    }
}

/// Coflows from this number on, ascending.
pub(super) fn range(present: &Present, from: u64) -> impl Iterator<Item = (u64, &Coflow)> {
    present.range(from..).map(|(serial, coflow)| (*serial, &**coflow))
}

/// Changes a coflow. Whoever has a copy of all still has it as it was.
fn get_mut(present: &mut Present, serial: u64) -> Option<&mut Coflow> {
    present.get_mut(&serial).map(Arc::make_mut)
}
