//! What one agent is to hold, what it may hold, and what it is to be sent next.
//!
//! There is no queue: an agent is sent one schedule at a time, made when its turn comes from what is
//! wanted then, and the next only when it has said that it applied this one. So what it may hold is
//! known at all times: what it applied last, and what is under way.

use std::collections::{BTreeMap, BTreeSet};

use covey_core::Time;
use covey_proto::{CodecName, Compressor, Entry, FlowKey, Grain, Schedule, Use};

/// Number of a connection; never used again.
pub type SessionId = u64;

/// A flow of an agent.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Place {
    /// Receiving port.
    pub dst: u32,
    /// Layer in the plan, and the one it was last sent.
    pub layer: u32,
    /// See `layer`.
    pub sent_layer: u32,
    /// What it is to be compressed with, and what was last sent.
    pub codec: Option<CodecName>,
    /// See `codec`.
    pub sent_codec: Option<CodecName>,
    /// Bytes per second that the plan gives it, what it was last sent, and the most it may hold.
    pub wanted: f64,
    /// See `wanted`.
    pub sent: f64,
    /// See `wanted`.
    pub most: f64,
}

impl Place {
    /// Whether the agent has been sent what is wanted.
    fn is_sent(&self) -> bool {
        let same = (self.layer, self.codec) == (self.sent_layer, self.sent_codec);
        self.wanted == self.sent && (same || self.wanted == 0.0)
    }
}

/// The coordinator's side of one agent.
#[derive(Debug, Default)]
pub struct Slot {
    /// The connection, while there is one.
    pub session: Option<SessionId>,
    /// When something was last heard, of a connection that lives.
    pub heard: Time,
    /// Whether its host is taken for lost.
    pub is_away: bool,
    /// Whether the agent is to be welcomed first.
    pub welcome: bool,
    /// The version of the messages that both sides speak.
    pub spoken: u16,
    /// Flows that are wanted, or may be held.
    pub flows: BTreeMap<FlowKey, Place>,
    /// Flows of which something else is wanted than was sent.
    pub dirty: BTreeSet<FlowKey>,
    /// Whether the next schedule must be a full one.
    pub full: bool,
    /// The last schedule: its version, and the flows in it while it has not been applied.
    pub version: u64,
    /// See `version`.
    pub under_way: Option<Vec<FlowKey>>,
    /// When the schedule under way was sent.
    pub sent_at: Time,
    /// What the agent has said it applied, with the time.
    pub applied: (u64, u64),
    /// Ends that are in the journal.
    pub settled: Vec<FlowKey>,
    /// When to report coflows, where that has changed.
    pub grains: BTreeMap<u64, f64>,
    /// How its flows are used, as far as it has said so, and coflows of which no other flow is open there.
    pub uses: BTreeMap<FlowKey, Use>,
    /// See `uses`.
    pub unopened: BTreeSet<u64>,
    /// Coflows of which nothing more needs to be said.
    pub over: Vec<u64>,
    /// When it was last told something, and whether it is to be told that there is nothing else.
    pub told: Time,
    /// See `told`.
    pub alive: bool,
    /// How its host compresses, as far as it has said so, and the share of a processor that is idle.
    pub compressor: Option<Compressor>,
    /// See `compressor`.
    pub idle: f64,
}

/// Bytes per second promised at each receiving port: the most that agents may hold together.
///
/// Sending ports need no such account: an agent takes a schedule over as a whole, and what it is sent
/// never exceeds what is wanted, which fits.
#[derive(Debug, Clone)]
pub struct Booked {
    capacity: Vec<f64>,
    bytes: Vec<f64>,
    flows: Vec<u32>,
    /// Agents with a flow that waits for the port.
    waiting: Vec<BTreeSet<u32>>,
}

/// More than the capacity, by more than rounding explains.
const TOLERANCE: f64 = 1.0 + 1e-6;

impl Booked {
    /// Nothing is promised. `capacity` is by receiving port.
    pub fn new(capacity: &[f64]) -> Booked {
        Booked {
            capacity: capacity.to_vec(),
            bytes: vec![0.0; capacity.len()],
            flows: vec![0; capacity.len()],
            waiting: vec![BTreeSet::new(); capacity.len()],
        }
    }

    /// Changes the most that may be held of a flow. Adds to `woken` the agents that wait for what is
    /// freed.
    fn change(&mut self, place: &mut Place, most: f64, woken: &mut BTreeSet<u32>) {
        let before = std::mem::replace(&mut place.most, most);
        let port = place.dst as usize;
        self.bytes[port] += most - before;
        self.flows[port] += u32::from(most > 0.0);
        self.flows[port] -= u32::from(before > 0.0);
        if self.flows[port] == 0 {
            // Rounding does not add up.
            self.bytes[port] = 0.0;
        }
        if most < before {
            woken.append(&mut self.waiting[port]);
        }
    }

    /// Whether the wanted rate of a flow may be promised. If not, its agent waits for the port.
    fn fits(&mut self, agent: u32, place: &Place) -> bool {
        let (more, port) = (place.wanted - place.most, place.dst as usize);
        if more <= 0.0 || self.bytes[port] + more <= self.capacity[port] * TOLERANCE {
            return true;
        }
        self.waiting[port].insert(agent);
        false
    }
}

impl Slot {
    /// Something else is wanted for a flow from now on; a rate of 0 is none.
    pub fn want(
        &mut self,
        key: FlowKey,
        dst: u32,
        layer: u32,
        rate: f64,
        codec: Option<CodecName>,
    ) {
        let place = self.flows.entry(key).or_default();
        (place.dst, place.layer, place.wanted, place.codec) = (dst, layer, rate, codec);
        if place.is_sent() && !self.full {
            self.dirty.remove(&key);
        } else {
            self.dirty.insert(key);
        }
        self.tidy(key);
    }

    /// Forgets a flow that is nowhere.
    fn tidy(&mut self, key: FlowKey) {
        let nowhere = |p: &Place| p.wanted == 0.0 && p.sent == 0.0 && p.most == 0.0;
        if self.flows.get(&key).is_some_and(nowhere) {
            self.flows.remove(&key);
            self.dirty.remove(&key);
        }
    }

    /// Whether there is anything to send now.
    pub fn has_news(&self) -> bool {
        self.session.is_some()
            && (self.welcome
                || self.alive
                || !self.over.is_empty()
                || !self.settled.is_empty()
                || !self.grains.is_empty()
                || self.under_way.is_none() && (self.full || !self.dirty.is_empty()))
    }

    /// The next schedule, of as much as fits beside what other agents may hold; the rest is sent when
    /// they have applied theirs.
    pub fn next_schedule(
        &mut self,
        port: u32,
        epoch: u64,
        booked: &mut Booked,
        now: Time,
    ) -> Option<Schedule> {
        if self.under_way.is_some() || (!self.full && self.dirty.is_empty()) {
            return None;
        }
        let is_full = self.full;
        let keys: Vec<FlowKey> = if is_full {
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
        for key in keys {
            let Some(place) = self.flows.get_mut(&key) else { continue };
            let fits = booked.fits(port, place);
            let before = place.sent;
            if fits {
                (place.sent, place.sent_layer) = (place.wanted, place.layer);
                place.sent_codec = place.codec;
                // Nothing is given back before the agent has applied it, and so nothing woken.
                booked.change(place, place.most.max(place.wanted), &mut BTreeSet::new());
            } else {
                self.dirty.insert(key);
                if !is_full {
                    continue;
                }
            }
            if place.sent > 0.0 {
                let Place { layer, sent: rate, codec, .. } = *place;
                schedule.set.push(Entry { key, layer, rate, codec });
            } else if before > 0.0 && !is_full {
                schedule.removed.push(key);
            }
            changed.push(key);
        }
        if is_full {
            self.full = false;
            let flows = &self.flows;
            self.dirty.retain(|key| flows.get(key).is_some_and(|place| !place.is_sent()));
        } else if schedule.set.is_empty() && schedule.removed.is_empty() {
            return None;
        }
        self.version += 1;
        self.under_way = Some(changed);
        self.sent_at = now;
        Some(schedule)
    }

    /// The agent holds the schedule under way and nothing else.
    pub fn settle_schedule(&mut self, booked: &mut Booked, woken: &mut BTreeSet<u32>) {
        for key in self.under_way.take().unwrap_or_default() {
            if let Some(place) = self.flows.get_mut(&key) {
                let most = place.sent;
                booked.change(place, most, woken);
                self.tidy(key);
            }
        }
    }

    /// The agent may hold something that is not known; it must be sent all.
    pub fn lose_track(&mut self) {
        self.under_way = None;
        self.full = true;
    }

    /// The agent holds nothing: it is new, or its host is lost.
    pub fn holds_nothing(&mut self, booked: &mut Booked, woken: &mut BTreeSet<u32>) {
        self.lose_track();
        for key in self.flows.keys().copied().collect::<Vec<_>>() {
            if let Some(place) = self.flows.get_mut(&key) {
                place.sent = 0.0;
                booked.change(place, 0.0, woken);
                self.dirty.insert(key);
                self.tidy(key);
            }
        }
    }

    /// The agent has said that a flow has ended: it holds it no more.
    pub fn flow_ended(&mut self, key: FlowKey, booked: &mut Booked, woken: &mut BTreeSet<u32>) {
        if let Some(place) = self.flows.get_mut(&key) {
            (place.wanted, place.sent) = (0.0, 0.0);
            booked.change(place, 0.0, woken);
            self.tidy(key);
        }
    }

    /// The agent has said that a flow needs nothing more, and holds it no longer; it is to hear that this has
    /// been heard, by a schedule that removes the flow.
    pub fn flow_written(&mut self, key: FlowKey, booked: &mut Booked, woken: &mut BTreeSet<u32>) {
        if let Some(place) = self.flows.get_mut(&key) {
            place.wanted = 0.0;
            booked.change(place, 0.0, woken);
            self.dirty.insert(key);
            self.tidy(key);
        }
    }

    /// A coflow is over, of which the agent has said something.
    pub fn over(&mut self, serial: u64) {
        // Who is not there says it again when it comes, and is told then.
        if self.session.is_some() && self.over.last() != Some(&serial) {
            self.over.push(serial);
        }
    }

    /// Forgets what was said of a coflow. Whether anything was.
    pub fn forget_uses(&mut self, serial: u64) -> bool {
        let all = FlowKey { coflow: serial, flow: 0 }..=FlowKey { coflow: serial, flow: u32::MAX };
        let keys: Vec<FlowKey> = self.uses.range(all).map(|(key, _)| *key).collect();
        keys.iter().for_each(|key| {
            self.uses.remove(key);
        });
        self.unopened.remove(&serial) || !keys.is_empty()
    }

    /// Forgets what was said of all. Whether anything was.
    pub fn forget_all_uses(&mut self) -> bool {
        let was_said = !self.uses.is_empty() || !self.unopened.is_empty();
        self.uses.clear();
        self.unopened.clear();
        was_said
    }

    /// What else there is to send.
    pub fn take_settled(&mut self) -> Vec<FlowKey> {
        std::mem::take(&mut self.settled)
    }

    /// See [`Slot::take_settled`].
    pub fn take_grains(&mut self) -> Vec<Grain> {
        let grains = std::mem::take(&mut self.grains);
        grains.into_iter().map(|(coflow, bytes)| Grain { coflow, bytes }).collect()
    }
}
