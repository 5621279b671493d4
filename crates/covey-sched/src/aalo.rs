//! `aalo`: D-CLAS, discretised coflow-aware least attained service (Aalo, SIGCOMM 2015, §4).
//!
//! A coflow starts in the first queue. It is demoted when the bytes that it has sent in all reach
//! the queue's limit. Inside a queue coflows go in order of arrival, and each shares max-min what
//! those before it leave. Coflows of one DAG are in one queue, which the bytes of the whole DAG
//! decide. There they go in order of their ids: DAGs by arrival, a child after its parents (§5.1,
//! Pseudocode 2). Among queues, either the upper one goes strictly first, or links are shared with
//! weights that fall by `E` from queue to queue. Capacity that a queue cannot use goes to those
//! below it. With `queues=classes` a queue is one of a switch's strict queues: flows of all its
//! coflows share max-min, and there is no order inside. Stream (ICNP, §IV) compares with this form,
//! with `K=4`. Capacity that the last queue at a link cannot use goes to the others if
//! `work_conservation=all`.
//!
//! The coordinator decides every `delta`. Until the next tick a new coflow waits, and a coflow that
//! has reached its limit stays in its queue. With `delta=0` both happen at once. Between ticks,
//! links are shared again whenever a flow ends, as Aalo's daemons do by themselves (§6.2).
//!
//! With `start_small` above 0 no coflow waits for a tick to begin: hosts handle tiny coflows by
//! local decisions (§6.2). Only a coflow that has sent as much before its first tick waits for
//! that.

use covey_core::sorted::Sorted;
use covey_core::{
    Answer, AnyPolicy, Backfill, CoflowId, Criterion, FlowId, Layers, Lineage, LinkId, Named,
    NonClairvoyant, Plan, Policy, Promises, Rank, Sender, Share, Time, View, Wants,
};

use crate::info::Info;
use crate::kept_ranks::KeptRanks;
use crate::queues::{self, Queues};
use crate::settings::Settings;
use crate::spec::{Param, SpecError};

pub(crate) const INFO: Info = Info {
    name: "aalo",
    knows: "unsized",
    summary: "multi-level queues by bytes sent, first in first out inside a queue",
    params: &[
        queues::K,
        queues::E,
        queues::Q1,
        DELTA,
        Param {
            name: "start_small",
            default: "0B",
            help: "bytes that a coflow may send before a tick, or live a schedule, decides on it; live, at each host",
        },
        QUEUES,
        SHARE,
        WORK_CONSERVATION,
    ],
    source: "Aalo (SIGCOMM 2015) 4, 6.2; defaults of Philae 8",
    promises: |settings| Ok(Service::<NonClairvoyant>::from_settings(settings)?.promises()),
    make: |settings| {
        Ok(AnyPolicy::NonClairvoyant(Box::new(Aalo {
            service: Service::from_settings(settings)?,
            dags: Sorted::default(),
            members: Sorted::default(),
            to_serve: Vec::new(),
            to_watch: Vec::new(),
            start_small: settings.size_or_none("start_small")?,
            arrived: Vec::new(),
            ahead: Sorted::default(),
            to_hold: Vec::new(),
            is_stale: false,
        })))
    },
};

pub(crate) const DELTA: Param = Param {
    name: "delta",
    default: "8ms",
    help: "interval of coordination; 0 for exact crossings",
};

pub(crate) const QUEUES: Param = Param {
    name: "queues",
    default: "weighted",
    help: "weighted, strict, or classes (strict queues of switches, in which all flows share max-min)",
};

pub(crate) const SHARE: Param =
    Param { name: "share", default: "maxmin", help: "inside a coflow: maxmin or equal (one pass)" };

pub(crate) const WORK_CONSERVATION: Param = Param {
    name: "work_conservation",
    default: "none",
    help: "who may have what weighted queues leave over: none, or all, in order of service and flow by flow (0.2 % better on the Facebook trace, for 1.6 times the CPU); strict queues leave nothing over",
};

/// Values of the parameter `queues`.
const LAYERS: &[(&str, Layers)] =
    &[("weighted", Layers::Weighted), ("strict", Layers::Strict), ("classes", Layers::Classes)];

/// How coflows are served once the queue of each of them is known.
pub(crate) struct Service<K> {
    pub(crate) queues: Queues,
    delta_s: f64,
    layers: Layers,
    share: Share<K>,
    /// What becomes of capacity that weighted queues leave over.
    backfill: Backfill,
    ranks: KeptRanks,
}

impl<K: Named> Service<K> {
    /// Reads the parameters of `aalo`.
    pub(crate) fn from_settings(settings: &Settings) -> Result<Service<K>, SpecError> {
        let layers = settings.choice("queues", LAYERS)?;
        let share =
            settings.choice("share", &[("maxmin", Share::MAX_MIN), ("equal", Share::EQUAL)])?;
        if layers == Layers::Classes && settings.text("share") != "maxmin" {
            return Err(settings.bad("share", "maxmin with queues=classes"));
        }
        Ok(Service {
            queues: Queues::from_settings(settings)?,
            delta_s: settings.duration("delta")?,
            layers,
            share,
            backfill: settings.choice(
                "work_conservation",
                &[("none", Backfill::None), ("all", Backfill::Greedy)],
            )?,
            ranks: KeptRanks::default(),
        })
    }

    pub(crate) fn promises(&self) -> Promises {
        Promises {
            conserves_work: self.delta_s == 0.0
                && (self.layers != Layers::Weighted || self.backfill == Backfill::Greedy),
            starves_nobody: self.layers == Layers::Weighted,
            ..Promises::default()
        }
    }

    /// The next tick, no earlier than `now`; `now` if there are no ticks.
    pub(crate) fn next_tick(&self, now: Time) -> Time {
        next_tick(self.delta_s, now)
    }

    /// What a coflow is ranked by.
    pub(crate) fn ranked_by(&self, coflow: CoflowId) -> Vec<Criterion> {
        let queue = self.ranks.of(coflow).map(|rank| queues::criterion(rank.layer()));
        queue.into_iter().collect()
    }

    /// Notes that a coflow has ended.
    pub(crate) fn leave(&mut self, coflow: CoflowId) {
        self.ranks.leave(coflow);
    }

    /// Takes a coflow out of the plan.
    fn hold(&mut self, plan: &mut Plan<K>, coflow: CoflowId) {
        self.ranks.lift(plan, coflow);
    }

    /// Takes coflows that have ended out of the plan. Returns whether there were any.
    pub(crate) fn start(&mut self, plan: &mut Plan<K>) -> bool {
        plan.set_layers(self.layers);
        if self.layers == Layers::Weighted {
            plan.set_backfill(self.backfill);
        }
        self.ranks.clear_left(plan)
    }

    /// Serves a coflow in a queue, by its lineage and then by arrival. Returns whether that changes
    /// the plan.
    pub(crate) fn serve(
        &mut self,
        plan: &mut Plan<K>,
        coflow: CoflowId,
        queue: u32,
        view: &View<'_, K>,
    ) -> bool {
        plan.set_weight(queue, libm::pow(self.queues.factor, -f64::from(queue)));
        let Lineage { external, internal } = view.lineage(coflow);
        let rank = Rank::of_numbers(queue, [external, internal.into()], view.order(coflow));
        self.ranks.put(plan, coflow, rank, self.share)
    }
}

struct Aalo {
    service: Service<NonClairvoyant>,
    /// The DAGs present, each with the queue in which it belongs by the bytes that it has sent.
    dags: Sorted<u64, u32>,
    /// The coflows of each DAG.
    members: Sorted<(u64, CoflowId), ()>,
    /// Coflows that move to the queue of their DAG at the next tick.
    to_serve: Vec<CoflowId>,
    /// DAGs that have arrived, ended, or sent the bytes of their wake-up.
    to_watch: Vec<u64>,
    /// Bytes that a coflow may send before its first tick.
    start_small: f64,
    /// Coflows that have arrived since the last plan, and may send some.
    arrived: Vec<CoflowId>,
    /// Coflows that are served although no tick has come since they arrived.
    ahead: Sorted<CoflowId, ()>,
    /// Coflows of `ahead` that have sent as much as they may before a tick.
    to_hold: Vec<CoflowId>,
    /// Whether any event could have changed the plan.
    is_stale: bool,
}

impl Aalo {
    /// A tick decides on all coflows.
    fn decide(&mut self, view: &View<'_, NonClairvoyant>, plan: &mut Plan<NonClairvoyant>) {
        let Aalo { service, dags, to_serve, arrived, ahead, to_hold, .. } = self;
        for (coflow, ()) in ahead.iter() {
            plan.clear_wakes_of(Sender::Coflow(*coflow));
        }
        ahead.clear();
        arrived.clear();
        to_hold.clear();
        for coflow in to_serve.drain(..) {
            if let Some(&queue) = dags.get(&view.lineage(coflow).external) {
                service.serve(plan, coflow, queue, view);
            }
        }
    }

    /// Between ticks, coflows that have arrived may begin, up to so many bytes.
    fn start_small(&mut self, view: &View<'_, NonClairvoyant>, plan: &mut Plan<NonClairvoyant>) {
        let Aalo { service, dags, arrived, ahead, to_hold, start_small, .. } = self;
        to_hold.drain(..).for_each(|coflow| service.hold(plan, coflow));
        for coflow in arrived.drain(..) {
            ahead.insert(coflow, ());
            if let Some(&queue) = dags.get(&view.lineage(coflow).external) {
                service.serve(plan, coflow, queue, view);
            }
            plan.wake_when_sent(coflow, *start_small);
        }
    }
}

/// The coflows of a DAG.
fn of_dag(
    members: &Sorted<(u64, CoflowId), ()>,
    external: u64,
) -> impl Iterator<Item = CoflowId> + '_ {
    let behind = members.from((external, CoflowId(0))).map(|&(member, ())| member);
    behind.take_while(move |(dag, _)| *dag == external).map(|(_, coflow)| coflow)
}

/// The next tick of a clock of `delta_s` seconds, no earlier than `now`; `now` if `delta_s` is 0.
pub(crate) fn next_tick(delta_s: f64, now: Time) -> Time {
    if delta_s == 0.0 {
        return now;
    }
    let ticks = now.as_secs() / delta_s;
    // A time that is a tick but for rounding is one.
    let near = ticks.round();
    let slack = Time::RESOLUTION_S / delta_s;
    let next = if (ticks - near).abs() <= slack { near } else { ticks.ceil() };
    Time::from_secs(next * delta_s)
}

impl Policy<NonClairvoyant> for Aalo {
    fn wants(&self) -> Wants {
        // Whole bytes: a part of one is one.
        let start_small = self.start_small.ceil() as u64;
        Wants { in_turn: true, start_small, ..Wants::default() }
    }

    fn ranked_by(&self, flow: FlowId, _: LinkId, _: &View<'_, NonClairvoyant>) -> Vec<Criterion> {
        self.service.ranked_by(flow.coflow)
    }

    fn coflow_arrived(&mut self, coflow: CoflowId, view: &View<'_, NonClairvoyant>) {
        let external = view.lineage(coflow).external;
        if self.dags.get(&external).is_none() {
            self.dags.insert(external, self.service.queues.left_at(view.inherited(coflow)));
            self.to_watch.push(external);
        }
        self.members.insert((external, coflow), ());
        self.to_serve.push(coflow);
        if self.start_small > 0.0 {
            self.arrived.push(coflow);
        }
        self.is_stale = true;
    }

    fn coflow_ended(&mut self, coflow: CoflowId, view: &View<'_, NonClairvoyant>) {
        let external = view.lineage(coflow).external;
        self.members.remove(&(external, coflow));
        if of_dag(&self.members, external).next().is_none() {
            self.dags.remove(&external);
            self.to_watch.push(external);
        }
        for list in [&mut self.to_serve, &mut self.arrived, &mut self.to_hold] {
            list.retain(|&other| other != coflow);
        }
        self.ahead.remove(&coflow);
        self.service.leave(coflow);
        self.is_stale = true;
    }

    fn dag_bytes_reached(&mut self, external: u64, bytes: f64, _: &View<'_, NonClairvoyant>) {
        let reached = self.service.queues.left_at(bytes);
        let Some(&queue) = self.dags.get(&external) else { return };
        self.is_stale = true;
        self.to_watch.push(external);
        if reached > queue {
            self.dags.insert(external, reached);
            let Aalo { members, to_serve, .. } = self;
            to_serve.extend(of_dag(members, external));
        }
    }

    fn bytes_reached(&mut self, coflow: CoflowId, _: f64, _: &View<'_, NonClairvoyant>) {
        if self.ahead.remove(&coflow).is_some() {
            self.to_hold.push(coflow);
            self.is_stale = true;
        }
    }

    fn woke(&mut self, _: &View<'_, NonClairvoyant>) {
        self.is_stale = true;
    }

    fn plan(&mut self, view: &View<'_, NonClairvoyant>, plan: &mut Plan<NonClairvoyant>) -> Answer {
        if !std::mem::take(&mut self.is_stale) {
            return Answer::Unchanged;
        }
        self.service.start(plan);
        plan.clear_times();
        let tick = self.service.next_tick(view.now());
        if tick.due(view.now()) {
            self.decide(view, plan);
        } else if !self.to_serve.is_empty() {
            self.start_small(view, plan);
            plan.wake_at(tick);
        }
        // Each DAG has one wake-up.
        for external in self.to_watch.drain(..) {
            plan.clear_wakes_of(Sender::Dag(external));
            let queue = self.dags.get(&external);
            let limit = queue.map_or(f64::INFINITY, |&queue| self.service.queues.limit(queue));
            if limit.is_finite() {
                plan.wake_when_dag_sent(external, limit);
            }
        }
        Answer::Replaced
    }
}
