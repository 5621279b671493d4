//! `philae`: learn a coflow's size by sending a few of its flows first (Philae, USENIX ATC 2019).
//!
//! A thin coflow (at most `thin` flows) is served at once, least contention first. Of a wider one,
//! pilot flows at the least busy ports go next, in order of arrival; their mean size is taken as the
//! length of all its flows (§4.2). From then on a key puts the coflow in one of `K` queues (§4.4).
//! Inside a queue, who joined it first goes first (§4.3); under order D coflows change queues as
//! contention changes, and order of arrival instead would cost 13 % of the mean completion time.
//! Queues are served strictly, or each in turn goes first for a number of time slots that falls by
//! `E` from queue to queue (§4.5). Last, what is left over goes to coflows whose pilots are still
//! under way, in order of arrival (§4.6).

use covey_core::{
    Answer, AnyPolicy, CoflowId, FlowId, Group, LinkId, NonClairvoyant, Plan, Policy, Share, View,
    Wants,
};

use crate::contention::Contention;
use crate::queues::Queues;
use crate::registry::{Info, Param};
use crate::sampling::{PilotCount, PilotLoad};
use crate::slots::Slots;

/// Length of a time slot in seconds: the interval δ of §8.
const SLOT_S: f64 = 0.008;

pub(crate) const INFO: Info = Info {
    name: "philae",
    knows: "unsized",
    summary: "sizes estimated from pilot flows, then queues by length-weighted contention",
    params: &[
        Param {
            name: "pilots",
            default: "senders:0.05",
            help: "const:N, senders:X or flows:X (a share of the coflow's senders or flows)",
        },
        Param {
            name: "thin",
            default: "7",
            help: "coflows of at most this many flows are not sampled",
        },
        Param {
            name: "order",
            default: "D",
            help: "A size, B remaining size, C contention, D length-weighted total-port contention",
        },
        Param { name: "K", default: "10", help: "number of queues, 1 to 64" },
        Param {
            name: "E",
            default: "10",
            help: "ratio of adjacent queue limits, and of time slots",
        },
        Param { name: "q1", default: "10MiB", help: "limit of the first queue" },
        Param {
            name: "queues",
            default: "weighted",
            help: "weighted (by time slots of 8 ms) or strict",
        },
        Param {
            name: "work_conservation",
            default: "true",
            help: "serve other flows of coflows under sampling with what is left over: true or false",
        },
    ],
    source: "Philae (USENIX ATC 2019) 4, 8",
    make: |settings| {
        let queues = Queues::from_settings(settings)?;
        let slots = Slots::new(SLOT_S, queues.factor);
        Ok(AnyPolicy::Unsized(Box::new(Philae {
            pilots: PilotCount::from_settings(settings, "pilots")?,
            thin: settings.integer("thin", 0, u32::MAX)? as usize,
            order: settings.choice(
                "order",
                &[("A", Order::A), ("B", Order::B), ("C", Order::C), ("D", Order::D)],
            )?,
            slots: settings
                .choice("queues", &[("weighted", true), ("strict", false)])?
                .then_some(slots),
            work_conserving: settings
                .choice("work_conservation", &[("true", true), ("false", false)])?,
            queues,
            tracks: Vec::new(),
            contention: Contention::default(),
            pilot_load: PilotLoad::default(),
            stale: true,
            thin_coflows: Vec::new(),
            ranked: Vec::new(),
            last_joined: 0,
        })))
    },
};

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
    /// All flows at once.
    #[default]
    Thin,
    /// Pilots are under way.
    Sampling,
    /// Flow lengths are estimated, in bytes.
    Known { length: f64 },
}

/// What is known of a coflow.
#[derive(Debug, Default)]
struct Track {
    phase: Phase,
    pilots: Vec<FlowId>,
    /// Pilots that have not ended.
    under_way: usize,
    /// The queue it is in, and when it joined that queue, as a serial number.
    queue: Option<u32>,
    joined: u64,
}

struct Philae {
    pilots: PilotCount,
    thin: usize,
    order: Order,
    queues: Queues,
    slots: Option<Slots>,
    work_conserving: bool,
    /// By coflow.
    tracks: Vec<Track>,
    contention: Contention,
    pilot_load: PilotLoad,
    /// Whether anything has happened that can change the plan.
    stale: bool,
    thin_coflows: Vec<(u32, CoflowId)>,
    /// Coflows with a known length: queue, when they joined it, and who.
    ranked: Vec<(u32, u64, CoflowId)>,
    /// Serial number of the last to join a queue.
    last_joined: u64,
}

impl Philae {
    /// The key of a coflow whose flows are estimated at `length` bytes.
    fn key(&self, coflow: CoflowId, length: f64, view: &View<'_, NonClairvoyant>) -> f64 {
        let size = length * view.width(coflow) as f64;
        match self.order {
            Order::A => size,
            Order::B => (size - view.attained(coflow).bytes).max(0.0),
            Order::C => f64::from(self.contention.of(coflow, view.coflows().iter().copied())),
            Order::D => {
                // The coflow itself is counted at each of its ports.
                let others = |link| f64::from(self.contention.at(link).saturating_sub(1));
                let ports = view.loads(coflow).filter(|load| load.unfinished > 0);
                ports.map(|load| others(load.link) * length).sum()
            }
        }
    }

    /// Fills `thin_coflows` and `ranked`.
    fn rank(&mut self, view: &View<'_, NonClairvoyant>) {
        self.thin_coflows.clear();
        self.ranked.clear();
        for &coflow in view.coflows() {
            match self.tracks[coflow.index()].phase {
                Phase::Thin => {
                    let tracks = &self.tracks;
                    let thin = |c: &CoflowId| tracks[c.index()].phase == Phase::Thin;
                    let others = view.coflows().iter().copied().filter(thin);
                    self.thin_coflows.push((self.contention.of(coflow, others), coflow));
                }
                Phase::Sampling => {}
                Phase::Known { length } => {
                    let queue = self.queues.queue_of(self.key(coflow, length, view));
                    let track = &mut self.tracks[coflow.index()];
                    if track.queue != Some(queue) {
                        track.queue = Some(queue);
                        self.last_joined += 1;
                        track.joined = self.last_joined;
                    }
                    self.ranked.push((queue, track.joined, coflow));
                }
            }
        }
        // Stable: ties in order of arrival.
        self.thin_coflows.sort_by_key(|&(contention, _)| contention);
        self.ranked.sort_unstable();
    }
}

impl Policy<NonClairvoyant> for Philae {
    fn wants(&self) -> Wants {
        Wants { flow_ends: true, port_drains: true, attained: self.order == Order::B }
    }

    fn coflow_arrived(&mut self, coflow: CoflowId, view: &View<'_, NonClairvoyant>) {
        self.stale = true;
        self.contention.add(coflow, view);
        self.tracks.resize_with(view.slots(), Track::default);
        let track = &mut self.tracks[coflow.index()];
        track.pilots.clear();
        track.queue = None;
        track.phase = if view.width(coflow) <= self.thin {
            Phase::Thin
        } else if self.order == Order::C {
            // Contention needs no size.
            Phase::Known { length: 0.0 }
        } else {
            let count = self.pilots.pilots(view.senders(coflow), view.width(coflow));
            self.pilot_load.choose(coflow, count, view, &mut track.pilots);
            // Without a flow to sample, all flows so far had no bytes.
            if track.pilots.is_empty() { Phase::Known { length: 0.0 } } else { Phase::Sampling }
        };
        track.under_way = track.pilots.len();
    }

    fn flows_started(&mut self, coflow: CoflowId, view: &View<'_, NonClairvoyant>) {
        self.stale = true;
        self.contention.add(coflow, view);
    }

    fn flow_ended(&mut self, flow: FlowId, view: &View<'_, NonClairvoyant>) {
        let track = &mut self.tracks[flow.coflow.index()];
        if track.phase != Phase::Sampling || !track.pilots.contains(&flow) {
            return;
        }
        self.pilot_load.ended(flow, view);
        track.under_way -= 1;
        if track.under_way == 0 {
            let sizes = track.pilots.iter().filter_map(|&pilot| view.finished_size(pilot));
            let length = sizes.sum::<f64>() / track.pilots.len() as f64;
            track.phase = Phase::Known { length };
            self.stale = true;
        }
    }

    fn port_drained(&mut self, coflow: CoflowId, link: LinkId, _: &View<'_, NonClairvoyant>) {
        self.contention.drained(coflow, link);
        self.stale = true;
    }

    fn coflow_ended(&mut self, _: CoflowId, _: &View<'_, NonClairvoyant>) {
        self.stale = true;
    }

    fn bytes_reached(&mut self, _: CoflowId, _: f64, _: &View<'_, NonClairvoyant>) {
        self.stale = true;
    }

    fn woke(&mut self, _: &View<'_, NonClairvoyant>) {
        self.stale = true;
    }

    fn plan(&mut self, view: &View<'_, NonClairvoyant>, plan: &mut Plan<NonClairvoyant>) -> Answer {
        if !std::mem::take(&mut self.stale) {
            return Answer::Unchanged;
        }
        self.rank(view);
        plan.clear();
        for &(_, coflow) in &self.thin_coflows {
            plan.push(Group::Coflow(coflow), Share::MATCHING);
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
        let slot =
            self.slots.as_mut().and_then(|slots| slots.at(view.now(), self.queues.count, waiting));
        if let Some((queue, until)) = slot {
            plan.open_layer(1.0);
            for &(.., coflow) in ranked.iter().filter(|&&(q, ..)| q == queue) {
                plan.push(Group::Coflow(coflow), Share::MATCHING);
            }
            plan.wake_at(until);
        }
        let first = slot.map(|(queue, _)| queue);
        for queue in ranked.chunk_by(|a, b| a.0 == b.0).filter(|queue| Some(queue[0].0) != first) {
            plan.open_layer(1.0);
            for &(.., coflow) in queue {
                plan.push(Group::Coflow(coflow), Share::MATCHING);
            }
        }
        if self.work_conserving {
            plan.open_layer(1.0);
            let sampling = |c: &&CoflowId| self.tracks[c.index()].phase == Phase::Sampling;
            for &coflow in view.coflows().iter().filter(sampling) {
                plan.push(Group::Coflow(coflow), Share::MATCHING);
            }
        }
        Answer::Replaced
    }
}
