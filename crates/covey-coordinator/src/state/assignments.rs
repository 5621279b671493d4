//! The schedule of one agent: what it should hold, what it may hold, and what it is sent next.
//!
//! There is no queue. An agent is sent one schedule at a time, made when its turn comes from what
//! is wanted then, and the next only when it has applied this one. So the coordinator always knows
//! what an agent may hold: what it applied last, and what is under way.

use std::collections::{BTreeMap, BTreeSet};

use covey_core::Time;
use covey_proto::{Entry, FlowAnnouncement, FlowId, FlowName, Schedule, Service};

use super::reservations::IngressReservations;

/// Whether an agent that serves a flow in one way need not be told the other.
fn is_like(one: Service, other: Service) -> bool {
    let same = (one.layer, one.codec) == (other.layer, other.codec);
    one.rate == other.rate && (same || one.rate == 0.0)
}

/// A flow of an agent.
#[derive(Debug, Clone, Copy, PartialEq)]
struct FlowAssignment {
    /// The name that it had first.
    name: FlowName,
    /// Receiving port.
    dst: u32,
    /// What the plan gives it.
    wanted: Service,
    /// What the agent was last sent.
    sent: Service,
    /// The most that it may hold, in bytes per second: reserved at the receiving port.
    reserved: f64,
    /// Whether the agent knows its id, and to which coflow it belongs.
    is_announced: bool,
    /// Whether the flow must be listed again, because it belongs to another coflow.
    is_renamed: bool,
    /// Whether it has rates of flows that have ended, which the next schedule confirms or takes
    /// back.
    has_more: bool,
}

impl FlowAssignment {
    /// A flow without a rate.
    fn new(name: FlowName, dst: u32) -> FlowAssignment {
        FlowAssignment {
            name,
            dst,
            wanted: Service::NONE,
            sent: Service::NONE,
            reserved: 0.0,
            is_announced: false,
            is_renamed: false,
            has_more: false,
        }
    }

    fn is_sent(&self) -> bool {
        !self.is_renamed && !self.has_more && is_like(self.wanted, self.sent)
    }

    fn is_nothing(&self) -> bool {
        let has_rate = [self.wanted.rate, self.sent.rate, self.reserved].iter().any(|it| *it > 0.0);
        !has_rate && !self.has_more
    }
}

/// What one agent is to hold.
#[derive(Debug)]
pub(super) struct Assignments {
    /// Flows that are wanted, or that it may hold.
    flows: BTreeMap<FlowId, FlowAssignment>,
    /// Flows for which something else is wanted than was sent.
    dirty: BTreeSet<FlowId>,
    /// Whether the next schedule must be a full one.
    full: bool,
    /// The version of the last schedule.
    version: u64,
    /// The flows in it, while it has not been applied.
    under_way: Option<Vec<FlowId>>,
    /// When it was sent.
    sent_at: Time,
    /// The version of the schedule that the agent has applied last.
    applied: u64,
    /// Flows that have ended or need nothing more, with the flows that have their rates until the
    /// next schedule, and the first names of those.
    passed: BTreeMap<FlowId, (FlowId, FlowName)>,
}

/// A flow is sent no smaller part of its rate than this while others may hold the rest: it is not
/// worth a schedule.
const LEAST_PART: f64 = 0.02;

impl Default for Assignments {
    /// Nothing is known of what the agent holds.
    fn default() -> Assignments {
        Assignments {
            flows: BTreeMap::new(),
            dirty: BTreeSet::new(),
            full: true,
            version: 0,
            under_way: None,
            sent_at: Time::ZERO,
            applied: 0,
            passed: BTreeMap::new(),
        }
    }
}

impl Assignments {
    /// Wants a flow to be served so from now on.
    pub fn want(&mut self, id: FlowId, name: FlowName, dst: u32, wanted: Service) {
        let flow = self.flows.entry(id).or_insert(FlowAssignment::new(name, dst));
        flow.wanted = wanted;
        if flow.is_sent() && !self.full {
            self.dirty.remove(&id);
        } else {
            self.dirty.insert(id);
        }
        self.tidy(id);
    }

    /// Forgets a flow that is neither wanted nor held.
    fn tidy(&mut self, id: FlowId) {
        if self.flows.get(&id).is_some_and(FlowAssignment::is_nothing) {
            self.flows.remove(&id);
            self.dirty.remove(&id);
        }
    }

    /// Whether there is a schedule to send now.
    pub fn has_news(&self) -> bool {
        self.under_way.is_none() && (self.full || !self.dirty.is_empty())
    }

    /// The version of the last schedule.
    pub fn version(&self) -> u64 {
        self.version
    }

    /// The version of the schedule that the agent has applied last.
    pub fn applied(&self) -> u64 {
        self.applied
    }

    /// Whether the agent may hold a flow.
    pub fn has(&self, id: FlowId) -> bool {
        self.flows.contains_key(&id)
    }

    /// Flows that are wanted.
    pub fn wanted(&self) -> usize {
        self.flows.values().filter(|flow| flow.wanted.rate > 0.0).count()
    }

    /// When the schedule under way was sent, if there is one.
    pub fn under_way_since(&self) -> Option<Time> {
        self.under_way.as_ref().map(|_| self.sent_at)
    }

    /// The next schedule for `port`, of as much as fits beside what other agents may hold: of each
    /// flow its rate, or the part of it that is left. The rest is sent when they have applied
    /// theirs.
    pub fn next_schedule(
        &mut self,
        port: u32,
        epoch: u64,
        reservations: &mut IngressReservations,
        now: Time,
    ) -> Option<Schedule> {
        if !self.has_news() {
            return None;
        }
        self.settle_passed(reservations);
        let is_full = self.full;
        let ids: Vec<FlowId> = if is_full {
            self.flows.keys().copied().collect()
        } else {
            std::mem::take(&mut self.dirty).into_iter().collect()
        };
        let mut schedule = Schedule {
            epoch,
            version: self.version + 1,
            base: if is_full { 0 } else { self.version },
            ..Schedule::default()
        };
        let mut changed = Vec::new();
        for id in ids {
            let Some(flow) = self.flows.get_mut(&id) else { continue };
            let before = flow.sent.rate;
            let more = flow.wanted.rate - flow.reserved;
            let room = reservations.room(port, flow.dst, more);
            let is_whole = room >= more;
            if is_whole || room >= LEAST_PART * flow.wanted.rate {
                let rate = if is_whole { flow.wanted.rate } else { flow.reserved + room };
                flow.sent = Service { rate, ..flow.wanted };
                flow.is_renamed = false;
                flow.has_more = false;
                let reserved = flow.reserved.max(rate);
                // The agent gives nothing back before it has applied the schedule: nobody is woken.
                reservations.replace(flow.dst, flow.reserved, reserved, &mut BTreeSet::new());
                flow.reserved = reserved;
            }
            if !is_whole {
                self.dirty.insert(id);
                if !is_full && flow.sent.rate == before {
                    continue;
                }
            }
            // An agent forgets the ids of flows that a full schedule does not list, or that one
            // removes.
            flow.is_announced &= !is_full;
            if flow.sent.rate > 0.0 {
                schedule.set.push(Entry { key: flow.name, service: flow.sent });
            } else if before > 0.0 && !is_full {
                schedule.removed.push(flow.name);
            }
            changed.push(id);
        }
        if is_full {
            self.full = false;
            let flows = &self.flows;
            self.dirty.retain(|id| flows.get(id).is_some_and(|flow| !flow.is_sent()));
        } else if schedule.set.is_empty() && schedule.removed.is_empty() {
            return None;
        }
        self.version += 1;
        self.under_way = Some(changed);
        self.sent_at = now;
        Some(schedule)
    }

    /// A flow belongs to another coflow: an agent that holds it is sent it again, with its new
    /// name.
    pub fn renamed(&mut self, id: FlowId) {
        if let Some(flow) = self.flows.get_mut(&id).filter(|flow| flow.sent.rate > 0.0) {
            flow.is_announced = false;
            flow.is_renamed = true;
            self.dirty.insert(id);
        }
    }

    /// Has a schedule that was just made name flows by their ids. Returns the
    /// `announcements` of those that the agent has to learn first.
    pub fn name_by_id(
        &mut self,
        schedule: &mut Schedule,
        announcements: impl Fn(FlowId) -> Vec<FlowAnnouncement>,
    ) -> Vec<FlowAnnouncement> {
        let mut new = Vec::new();
        let ids: BTreeMap<FlowName, FlowId> = match &self.under_way {
            None => BTreeMap::new(),
            Some(changed) => {
                let key = |id: &FlowId| Some((self.flows.get(id)?.name, *id));
                changed.iter().filter_map(key).collect()
            }
        };
        for entry in &mut schedule.set {
            let Some(id) = ids.get(&entry.key) else { continue };
            if let Some(flow) = self.flows.get_mut(id).filter(|flow| !flow.is_announced) {
                flow.is_announced = true;
                new.extend(announcements(*id));
            }
            entry.key = FlowName::Id(*id);
        }
        for key in &mut schedule.removed {
            let Some(id) = ids.get(key) else { continue };
            if let Some(flow) = self.flows.get_mut(id)
                && std::mem::take(&mut flow.is_announced)
            {
                *key = FlowName::Id(*id);
            }
        }
        new
    }

    /// The agent has applied the schedule of this version: it holds that and nothing else. Returns
    /// whether it was under way.
    pub fn apply(
        &mut self,
        version: u64,
        reservations: &mut IngressReservations,
        woken: &mut BTreeSet<u32>,
    ) -> bool {
        let is_expected = version == self.version && self.under_way.is_some();
        if is_expected {
            self.acknowledge(version, reservations, woken);
        }
        is_expected
    }

    /// An agent that joins says that it holds the schedule of this version. Returns whether that is
    /// the last one of this epoch; otherwise it must be sent all.
    pub fn rejoin(
        &mut self,
        version: u64,
        reservations: &mut IngressReservations,
        woken: &mut BTreeSet<u32>,
    ) -> bool {
        let is_last = version == self.version;
        if is_last {
            self.acknowledge(version, reservations, woken);
        }
        is_last
    }

    fn acknowledge(
        &mut self,
        version: u64,
        reservations: &mut IngressReservations,
        woken: &mut BTreeSet<u32>,
    ) {
        self.applied = version;
        for id in self.under_way.take().unwrap_or_default() {
            if let Some(flow) = self.flows.get_mut(&id) {
                reservations.replace(flow.dst, flow.reserved, flow.sent.rate, woken);
                flow.reserved = flow.sent.rate;
                self.tidy(id);
            }
        }
    }

    /// A new session knows no ids.
    pub fn forget_announcements(&mut self) {
        self.flows.values_mut().for_each(|flow| flow.is_announced = false);
    }

    /// Nobody knows what the agent holds: it must be sent all.
    pub fn lose_track(&mut self) {
        self.under_way = None;
        self.full = true;
    }

    /// The agent holds nothing: it is new, or its host is lost.
    pub fn holds_nothing(
        &mut self,
        reservations: &mut IngressReservations,
        woken: &mut BTreeSet<u32>,
    ) {
        self.lose_track();
        self.passed.clear();
        for id in self.flows.keys().copied().collect::<Vec<_>>() {
            if let Some(flow) = self.flows.get_mut(&id) {
                flow.sent.rate = 0.0;
                reservations.replace(flow.dst, flow.reserved, 0.0, woken);
                flow.reserved = 0.0;
                self.dirty.insert(id);
                self.tidy(id);
            }
        }
    }

    /// The agent has reported that a flow has ended: it holds it no more.
    pub fn flow_ended(
        &mut self,
        id: FlowId,
        reservations: &mut IngressReservations,
        woken: &mut BTreeSet<u32>,
    ) {
        if self.keep_passed(id, reservations, woken) {
            return;
        }
        if let Some(flow) = self.flows.get_mut(&id) {
            (flow.wanted.rate, flow.sent.rate) = (0.0, 0.0);
            reservations.replace(flow.dst, flow.reserved, 0.0, woken);
            flow.reserved = 0.0;
            flow.has_more = false;
            self.tidy(id);
        }
    }

    /// The agent has reported that a flow needs nothing more, and holds it no longer. It has to
    /// learn that the coordinator knows, by a schedule that removes the flow.
    pub fn flow_written(
        &mut self,
        id: FlowId,
        reservations: &mut IngressReservations,
        woken: &mut BTreeSet<u32>,
    ) {
        if self.keep_passed(id, reservations, woken) {
            return;
        }
        if let Some(flow) = self.flows.get_mut(&id) {
            flow.wanted.rate = 0.0;
            reservations.replace(flow.dst, flow.reserved, 0.0, woken);
            flow.reserved = 0.0;
            flow.has_more = false;
            self.dirty.insert(id);
            self.tidy(id);
        }
    }

    /// The agent has passed the rate of a flow on to another one with the same receiver, whose
    /// first name is `name`.
    pub fn pass(&mut self, from: FlowId, to: FlowId, name: FlowName) {
        let Some(flow) = self.flows.get(&from) else { return };
        let is_elsewhere = self.flows.get(&to).is_some_and(|it| it.dst != flow.dst);
        // The agent repeats what it has passed on when it joins: some of it is settled.
        if from != to && !is_elsewhere && (flow.sent.rate > 0.0 || flow.reserved > 0.0) {
            self.passed.insert(from, (to, name));
        }
    }

    /// A flow has ended, or needs nothing more. If its rate is passed on, the agent holds it, and
    /// what is reserved stays so until a schedule removes the flow. If not, nobody has the rates
    /// that were passed on to this flow. Returns whether it is passed on.
    fn keep_passed(
        &mut self,
        id: FlowId,
        reservations: &mut IngressReservations,
        woken: &mut BTreeSet<u32>,
    ) -> bool {
        if self.passed.contains_key(&id) {
            if let Some(flow) = self.flows.get_mut(&id) {
                flow.wanted.rate = 0.0;
                self.dirty.insert(id);
            }
            return true;
        }
        let mut ends = vec![id];
        while let Some(end) = ends.pop() {
            let leading = self.passed.iter().filter(|(_, (to, _))| *to == end);
            for from in leading.map(|(from, _)| *from).collect::<Vec<_>>() {
                self.passed.remove(&from);
                ends.push(from);
                if let Some(flow) = self.flows.get_mut(&from) {
                    reservations.replace(flow.dst, flow.reserved, 0.0, woken);
                    flow.reserved = 0.0;
                }
            }
        }
        false
    }

    /// Has what is reserved for flows that have passed their rates on be that of the flows that
    /// have these. The schedule that is made now removes the former, and says what the latter have.
    fn settle_passed(&mut self, reservations: &mut IngressReservations) {
        let passed = std::mem::take(&mut self.passed);
        for (from, first) in &passed {
            let (mut to, mut name) = *first;
            // A chain is no longer than the list, whatever the agent has said.
            for _ in 0..passed.len() {
                let Some(next) = passed.get(&to) else { break };
                (to, name) = *next;
            }
            let Some(flow) = self.flows.get_mut(from).filter(|flow| flow.reserved > 0.0) else {
                continue;
            };
            let (dst, reserved) = (flow.dst, std::mem::take(&mut flow.reserved));
            let heir = self.flows.entry(to).or_insert(FlowAssignment::new(name, dst));
            reservations.hand_over(dst, heir.reserved);
            heir.reserved += reserved;
            heir.has_more = true;
            self.dirty.insert(to);
        }
    }

    /// Flows by coflow and index, in the order of their ids.
    #[cfg(test)]
    pub fn keys(&self) -> impl Iterator<Item = FlowName> {
        self.flows.values().map(|flow| flow.name)
    }

    /// How many entries there are.
    #[cfg(test)]
    pub fn entries(&self) -> usize {
        self.flows.len() + self.dirty.len()
    }
}
