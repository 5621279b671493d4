//! `philae`: learn a coflow's size by sending a few of its flows first (Philae, USENIX ATC 2019).
//!
//! A thin coflow (at most `thin` flows) is served at once, least contention first. Next, in order
//! of arrival, come pilot flows of wider coflows, at the least busy ports. The mean size of a
//! coflow's pilots is taken as the length of all its flows (§4.2). From then on a key puts the
//! coflow in one of `K` queues (§4.4). Inside a queue, the coflow that joined first goes first
//! (§4.3). Under order D coflows change queues as contention changes; order of arrival would cost
//! 13 % of the mean completion time there. A coflow whose key is its remaining size (order B, or
//! order A with `size=left`) changes queue when that size falls to a limit. The keys of C and D
//! change with contention only; D with `size=left` reads the remaining size at those changes.
//! Queues are served strictly, or each in turn goes first for a number of time slots that falls by
//! `E` from queue to queue (§4.5). Last, coflows whose pilots have not ended get what is left over,
//! in order of arrival (§4.6).
//!
//! A coflow may grow, by flows of later waves or restarted ones. A thin coflow is sampled as soon
//! as it is no longer thin. A coflow that has been sampled keeps its estimate of a flow's length.
//! Flows that have ended are samples too, so pilots are chosen only for a coflow without any.
//!
//! Where lengths come from is a parameter of the type ([`Lengths`]): [`Pilots`] here, true sizes in
//! [`philae_oracle`](crate::philae_oracle).

use covey_core::{
    Answer, AnyPolicy, Backfill, CoflowId, Criterion, FlowId, Group, Knowledge, LinkId, Plan,
    Policy, PortLoad, Promises, Share, View, Wants,
};

use crate::contention::Contention;
use crate::info::Info;
use crate::queues::{self, Queues};
use crate::sampling::{PILOTS, PilotCount, PilotLoad, PilotPorts};
use crate::settings::Settings;
use crate::slots::Slots;
use crate::spec::{Param, SpecError};

/// Length of a time slot in seconds: the interval δ of §8.
const SLOT_S: f64 = 0.008;

pub(crate) const INFO: Info = Info {
    name: "philae",
    knows: "unsized",
    summary: "sizes estimated from pilot flows, then queues by length-weighted contention",
    params: &[
        PILOTS,
        Param {
            name: "thin",
            default: "7",
            help: "coflows of at most this many flows are not sampled",
        },
        ORDER,
        queues::K,
        queues::E,
        queues::Q1,
        QUEUES,
        Param {
            name: "work_conservation",
            default: "true",
            help: "serve other flows of coflows under sampling with what is left over: true or false",
        },
        Param {
            name: "ports",
            default: "least-busy",
            help: "where pilots go: least-busy (fewest pilots under way) or random",
        },
        Param { name: "seed", default: "1", help: "of ports=random, a whole number" },
        SHARE,
        Param {
            name: "size",
            default: "estimate",
            help: "what keys go by: estimate (l n), or left (l n less what has been sent)",
        },
        CONTENTION,
    ],
    source: "Philae (USENIX ATC 2019) 4, 8",
    promises: |settings| {
        let is_equal = settings.choice(SHARE.name, SHARES)?;
        let conserves_work = settings.choice("work_conservation", WORK_CONSERVATION)? && !is_equal;
        Ok(Promises { conserves_work, ..Promises::default() })
    },
    make: |settings| {
        let size_left = settings.choice("size", &[("estimate", false), ("left", true)])?;
        let pilots = Pilots::from_settings(settings)?;
        Ok(AnyPolicy::NonClairvoyant(Box::new(Philae::new(settings, size_left, pilots)?)))
    },
};

/// The parameter `order`.
pub(crate) const ORDER: Param = Param {
    name: "order",
    default: "D",
    help: "A size, B remaining size (looked at whenever it falls to a limit), C contention, D length-weighted total-port contention",
};

/// The parameter `queues`.
pub(crate) const QUEUES: Param = Param {
    name: "queues",
    default: "weighted",
    help: "weighted (by time slots of 8 ms) or strict",
};

/// The parameter `share`.
pub(crate) const SHARE: Param = Param {
    name: "share",
    default: "matching",
    help: "matching (one flow per port at full rate) or equal (the slowest flow's max-min rate for all; who gets nothing shares the rest)",
};

/// Values of [`SHARE`]: whether the flows of a coflow get equal rates.
pub(crate) const SHARES: &[(&str, bool)] = &[("matching", false), ("equal", true)];

/// Values of the parameter `work_conservation`.
const WORK_CONSERVATION: &[(&str, bool)] = &[("true", true), ("false", false)];

/// The parameter `contention`.
pub(crate) const CONTENTION: Param = Param {
    name: "contention",
    default: "unfinished",
    help: "coflows count at ports with unfinished flows, or at all their ports: unfinished or all",
};

/// The source of the length of a coflow's flows, for a policy with knowledge `K`.
pub(crate) trait Lengths<K: Knowledge>: Send {
    /// Whether flows are sampled, so that coflows may be in [`Phase::Sampling`].
    const SAMPLES: bool;

    /// Whether the flows of a sampled coflow that are not pilots are served with what is left over.
    fn conserve_work(&self) -> bool;

    /// The mean length in bytes of the coflow's flows that have started. If it is not known yet,
    /// `None`; then `pilots` gets the flows that will show it.
    fn of(&mut self, coflow: CoflowId, view: &View<'_, K>, pilots: &mut Vec<FlowId>)
    -> Option<f64>;

    /// Notes that a pilot has ended.
    fn pilot_ended(&mut self, _pilot: FlowId, _view: &View<'_, K>) {}
}

/// Lengths learned from pilot flows (§4.2).
struct Pilots {
    count: PilotCount,
    load: PilotLoad,
    conserve_work: bool,
}

impl Pilots {
    fn from_settings(settings: &Settings) -> Result<Pilots, SpecError> {
        let ports = settings.choice(
            "ports",
            &[("least-busy", PilotPorts::LeastBusy), ("random", PilotPorts::Random)],
        )?;
        let seed = settings.integer("seed", 0, u32::MAX)?;
        Ok(Pilots {
            count: PilotCount::from_settings(settings)?,
            load: PilotLoad::new(ports, u64::from(seed)),
            conserve_work: settings.choice("work_conservation", WORK_CONSERVATION)?,
        })
    }
}

impl<K: Knowledge> Lengths<K> for Pilots {
    const SAMPLES: bool = true;

    fn conserve_work(&self) -> bool {
        self.conserve_work
    }

    fn of(
        &mut self,
        coflow: CoflowId,
        view: &View<'_, K>,
        pilots: &mut Vec<FlowId>,
    ) -> Option<f64> {
        let (ended, bytes) = view.finished(coflow);
        if bytes > 0.0 {
            return Some(bytes / ended as f64);
        }
        let count = self.count.pilots(view.senders(coflow), view.width(coflow));
        self.load.choose(coflow, count, view, pilots);
        // If there is no flow to sample, all flows so far had no bytes.
        pilots.is_empty().then_some(0.0)
    }

    fn pilot_ended(&mut self, pilot: FlowId, view: &View<'_, K>) {
        self.load.ended(pilot, view);
    }
}

/// The key that assigns a queue (§4.4).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Order {
    /// Estimated size `l n`.
    A,
    /// Estimated remaining size `l n - d`.
    B,
    /// Number of other coflows met at any port.
    C,
    /// Sum over ports of contention times estimated length.
    D,
}

#[derive(Debug, Clone, Copy, Default, PartialEq)]
enum Phase {
    /// The coflow is thin: all its flows are served at once.
    #[default]
    Thin,
    /// Pilots have not all ended.
    Sampling,
    /// Flow lengths are estimated, in bytes.
    Known { length: f64 },
}

/// What is known of a coflow.
#[derive(Debug, Default)]
struct Track {
    phase: Phase,
    pilots: Vec<FlowId>,
    /// Number of pilots that have not ended.
    under_way: usize,
    /// The queue that the coflow is in, and the serial number of its joining that queue.
    queue: Option<u32>,
    joined: u64,
    /// The largest number of bytes that a wake-up reported as sent. The view's sum may be smaller
    /// by rounding.
    reached: f64,
}

/// The parameters that all sources of lengths have in common.
struct Rules {
    thin: usize,
    order: Order,
    queues: Queues,
    /// Whether all flows of a coflow get the same rate (§4.5).
    equal: bool,
    /// Whether keys use what is left of the estimate (§4.6, 1).
    size_left: bool,
    /// Whether a coflow also counts at ports where all its flows have ended (against §4.6, 2).
    at_all_ports: bool,
}

/// The policy; `L` is the source of lengths.
pub(crate) struct Philae<L> {
    rules: Rules,
    lengths: L,
    slots: Option<Slots>,
    /// By coflow.
    tracks: Vec<Track>,
    /// Coflows at each link, and the number of other thin coflows that each thin one meets.
    contention: Contention,
    /// For order C, the number of others that each coflow meets.
    meetings: Option<Contention>,
    /// Whether any event could have changed the plan.
    stale: bool,
    thin_coflows: Vec<(u32, CoflowId)>,
    /// Coflows with a known length: queue, serial number of joining it, id.
    ranked: Vec<(u32, u64, CoflowId)>,
    /// Serial number of the last coflow to join a queue.
    last_joined: u64,
}

impl<L> Philae<L> {
    /// Reads the parameters that all sources of lengths have in common.
    pub(crate) fn new(
        settings: &Settings,
        size_left: bool,
        lengths: L,
    ) -> Result<Philae<L>, SpecError> {
        let orders = [("A", Order::A), ("B", Order::B), ("C", Order::C), ("D", Order::D)];
        let rules = Rules {
            thin: settings.integer("thin", 0, u32::MAX)? as usize,
            order: settings.choice(ORDER.name, &orders)?,
            queues: Queues::from_settings(settings)?,
            equal: settings.choice(SHARE.name, SHARES)?,
            size_left,
            at_all_ports: settings
                .choice(CONTENTION.name, &[("unfinished", false), ("all", true)])?,
        };
        let has_slots = settings.choice(QUEUES.name, &[("weighted", true), ("strict", false)])?;
        Ok(Philae {
            lengths,
            slots: has_slots.then(|| Slots::new(SLOT_S, rules.queues.factor)),
            tracks: Vec::new(),
            contention: Contention::default(),
            meetings: (rules.order == Order::C).then(Contention::default),
            stale: true,
            thin_coflows: Vec::new(),
            ranked: Vec::new(),
            last_joined: 0,
            rules,
        })
    }

    /// Whether the key of a coflow is what is left of its estimated size.
    fn keyed_by_left(&self) -> bool {
        self.rules.order == Order::B || self.rules.order == Order::A && self.rules.size_left
    }

    /// The queue of a coflow whose flows are estimated at `length` bytes. If sending alone moves
    /// the coflow up, also the number of bytes sent at which it moves to the queue before.
    fn queue_of<K: Knowledge>(
        &self,
        coflow: CoflowId,
        length: f64,
        view: &View<'_, K>,
    ) -> (u32, Option<f64>) {
        if !self.keyed_by_left() {
            return (self.rules.queues.queue_of(self.key(coflow, length, view)), None);
        }
        let size = length * view.width(coflow) as f64;
        let sent = view.attained(coflow).bytes.max(self.tracks[coflow.index()].reached);
        let is_within = |queue: &u32| sent >= size - self.rules.queues.greatest(*queue);
        let queue =
            (0..self.rules.queues.count).find(is_within).unwrap_or(self.rules.queues.count - 1);
        let needed = |above| size - self.rules.queues.limit(above);
        (queue, queue.checked_sub(1).map(needed))
    }

    /// The key of a coflow whose flows are estimated at `length` bytes.
    fn key<K: Knowledge>(&self, coflow: CoflowId, length: f64, view: &View<'_, K>) -> f64 {
        let size = length * view.width(coflow) as f64;
        let left = (size - view.attained(coflow).bytes).max(0.0);
        match self.rules.order {
            Order::A => size,
            Order::B => left,
            Order::C => f64::from(self.meetings.as_ref().map_or(0, |all| all.met(coflow))),
            Order::D => {
                let length = if self.rules.size_left {
                    left / view.unfinished(coflow).max(1) as f64
                } else {
                    length
                };
                // The coflow itself is counted at each of its ports.
                let others = |link| f64::from(self.contention.at(link).saturating_sub(1));
                let counts = |load: &PortLoad| self.rules.at_all_ports || load.unfinished > 0;
                let ports = view.loads(coflow).filter(counts);
                ports.map(|load| others(load.link) * length).sum()
            }
        }
    }

    /// Finds the length of a coflow's flows from those that have started, or decides how to find
    /// it.
    fn assess<K: Knowledge>(&mut self, coflow: CoflowId, view: &View<'_, K>)
    where
        L: Lengths<K>,
    {
        let track = &mut self.tracks[coflow.index()];
        track.phase = if view.width(coflow) <= self.rules.thin {
            Phase::Thin
        } else if self.rules.order == Order::C {
            // Contention needs no size.
            Phase::Known { length: 0.0 }
        } else {
            let length = self.lengths.of(coflow, view, &mut track.pilots);
            length.map_or(Phase::Sampling, |length| Phase::Known { length })
        };
        track.under_way = track.pilots.len();
        if track.phase == Phase::Thin {
            self.contention.join(coflow, 0);
        } else {
            self.contention.leave(coflow);
        }
    }

    /// Counts a coflow where it has unfinished flows.
    fn count<K: Knowledge>(&mut self, coflow: CoflowId, view: &View<'_, K>) {
        self.contention.add(coflow, view);
        if let Some(meetings) = &mut self.meetings {
            meetings.add(coflow, view);
            meetings.join(coflow, 0);
        }
    }

    fn counted(&mut self) -> impl Iterator<Item = &mut Contention> {
        [&mut self.contention].into_iter().chain(&mut self.meetings)
    }

    /// Fills `thin_coflows` and `ranked`, and requests wake-ups where sending changes a queue.
    fn rank<K: Knowledge>(&mut self, view: &View<'_, K>, plan: &mut Plan<K>) {
        self.thin_coflows.clear();
        self.ranked.clear();
        for &coflow in view.coflows() {
            match self.tracks[coflow.index()].phase {
                Phase::Thin => self.thin_coflows.push((self.contention.met(coflow), coflow)),
                Phase::Sampling => {}
                Phase::Known { length } => {
                    let (mut queue, wake_at_bytes) = self.queue_of(coflow, length, view);
                    if let Some(bytes) = wake_at_bytes {
                        plan.wake_when_sent(coflow, bytes);
                    }
                    let track = &mut self.tracks[coflow.index()];
                    // Without an event among those it meets, a coflow stays in its queue.
                    if !view.is_dirty(coflow) {
                        queue = track.queue.unwrap_or(queue);
                    }
                    if track.queue != Some(queue) {
                        track.queue = Some(queue);
                        self.last_joined += 1;
                        track.joined = self.last_joined;
                    }
                    self.ranked.push((queue, track.joined, coflow));
                }
            }
        }
        // The sort is stable: ties stay in order of arrival.
        self.thin_coflows.sort_by_key(|&(contention, _)| contention);
        self.ranked.sort_unstable();
    }
}

impl<K: Knowledge, L: Lengths<K>> Policy<K> for Philae<L> {
    fn wants(&self) -> Wants {
        let attained = self.rules.order == Order::B || self.rules.size_left;
        Wants { flow_ends: L::SAMPLES, port_drains: true, attained, ..Wants::default() }
    }

    fn ranked_by(&self, flow: FlowId, _: LinkId, view: &View<'_, K>) -> Vec<Criterion> {
        let Some(track) = self.tracks.get(flow.coflow.index()) else { return Vec::new() };
        let arrival = Criterion::seconds("arrival", view.arrival(flow.coflow).as_secs());
        match track.phase {
            Phase::Thin => {
                let met = self.contention.met(flow.coflow);
                vec![Criterion::property("few flows"), Criterion::number("contention", met)]
            }
            _ if track.pilots.contains(&flow) => vec![Criterion::property("pilot flow"), arrival],
            Phase::Known { .. } => {
                let queue = track.queue.map(queues::criterion).into_iter();
                queue.chain([Criterion::number("turn in the queue", track.joined as f64)]).collect()
            }
            Phase::Sampling => vec![Criterion::property("waits for its pilot flows"), arrival],
        }
    }

    fn coflow_arrived(&mut self, coflow: CoflowId, view: &View<'_, K>) {
        self.stale = true;
        self.count(coflow, view);
        self.tracks.resize_with(view.slots(), Track::default);
        let track = &mut self.tracks[coflow.index()];
        track.pilots.clear();
        track.queue = None;
        track.reached = 0.0;
        self.assess(coflow, view);
    }

    fn flows_started(&mut self, coflow: CoflowId, view: &View<'_, K>) {
        self.stale = true;
        self.count(coflow, view);
        let track = &mut self.tracks[coflow.index()];
        track.reached = 0.0; // Flows may have been restarted, and what they sent be lost.
        let unsampled = track.phase == Phase::Known { length: 0.0 } && track.pilots.is_empty();
        if track.phase == Phase::Thin || unsampled || !L::SAMPLES {
            self.assess(coflow, view);
        }
    }

    fn flow_ended(&mut self, flow: FlowId, view: &View<'_, K>) {
        let track = &mut self.tracks[flow.coflow.index()];
        if track.phase != Phase::Sampling || !track.pilots.contains(&flow) {
            return;
        }
        self.lengths.pilot_ended(flow, view);
        track.under_way -= 1;
        if track.under_way == 0 {
            let sizes = track.pilots.iter().filter_map(|&pilot| view.finished_size(pilot));
            let length = sizes.sum::<f64>() / track.pilots.len() as f64;
            track.phase = Phase::Known { length };
            self.stale = true;
        }
    }

    fn port_drained(&mut self, coflow: CoflowId, link: LinkId, _: &View<'_, K>) {
        if !self.rules.at_all_ports {
            self.counted().for_each(|counted| counted.drained(coflow, link));
            self.stale = true;
        }
    }

    fn coflow_ended(&mut self, coflow: CoflowId, _: &View<'_, K>) {
        self.counted().for_each(|counted| counted.remove(coflow));
        self.stale = true;
    }

    fn bytes_reached(&mut self, coflow: CoflowId, bytes: f64, _: &View<'_, K>) {
        self.tracks[coflow.index()].reached = bytes;
        self.stale = true;
    }

    fn woke(&mut self, _: &View<'_, K>) {
        self.stale = true;
    }

    fn plan(&mut self, view: &View<'_, K>, plan: &mut Plan<K>) -> Answer {
        if !std::mem::take(&mut self.stale) {
            return Answer::Unchanged;
        }
        plan.clear();
        self.rank(view, plan);
        let share = if self.rules.equal { Share::ALL_OR_NONE } else { Share::MATCHING };
        if self.rules.equal {
            plan.set_backfill(Backfill::Skipped);
        }
        for &(_, coflow) in &self.thin_coflows {
            plan.push(Group::Coflow(coflow), share);
        }
        plan.open_layer(1.0);
        for &coflow in view.coflows() {
            let track = &self.tracks[coflow.index()];
            for &pilot in track.pilots.iter().filter(|&&p| view.is_active(p)) {
                plan.push(Group::Flow(pilot), Share::MATCHING);
            }
        }
        let ranked = &self.ranked;
        let waiting = |queue| ranked.iter().any(|&(q, ..)| q == queue);
        let slot = self
            .slots
            .as_mut()
            .and_then(|slots| slots.at(view.now(), self.rules.queues.count, waiting));
        if let Some((queue, until)) = slot {
            plan.open_layer(1.0);
            for &(.., coflow) in ranked.iter().filter(|&&(q, ..)| q == queue) {
                plan.push(Group::Coflow(coflow), share);
            }
            plan.wake_at(until);
        }
        let first = slot.map(|(queue, _)| queue);
        for queue in ranked.chunk_by(|a, b| a.0 == b.0).filter(|queue| Some(queue[0].0) != first) {
            plan.open_layer(1.0);
            for &(.., coflow) in queue {
                plan.push(Group::Coflow(coflow), share);
            }
        }
        if self.lengths.conserve_work() {
            plan.open_layer(1.0);
            let sampling = |c: &&CoflowId| self.tracks[c.index()].phase == Phase::Sampling;
            for &coflow in view.coflows().iter().filter(sampling) {
                plan.push(Group::Coflow(coflow), Share::MATCHING);
            }
        }
        Answer::Replaced
    }
}
