//! `aalo`: D-CLAS, discretised coflow-aware least attained service (Aalo, SIGCOMM 2015, §4).
//!
//! A coflow starts in the first queue and is demoted when the bytes it has sent in all reach the
//! queue's limit. Inside a queue coflows go in order of arrival, each sharing max-min what those
//! before it leave. Coflows of one DAG are in one queue, which the bytes of the whole DAG decide,
//! and go there in order of their ids: DAGs by arrival, a child after its parents (§5.1, Pseudocode
//! 2). Among queues, either the upper one goes strictly first or links are shared with
//! weights that fall by `E` from queue to queue; what a queue cannot use goes to those below it, and
//! what the last one at a link cannot use to the others if `work_conservation=all`.
//!
//! The coordinator decides every `delta`: until the next tick a new coflow waits and a coflow that
//! has reached its limit stays. With `delta=0` both happen at once. In between, links are shared
//! anew whenever a flow ends, as Aalo's daemons do by themselves (§6.2).

use covey_core::{
    Answer, AnyPolicy, Backfill, CoflowId, Group, Knowledge, Layers, Lineage, NonClairvoyant, Plan,
    Policy, Promises, Share, Time, View,
};

use crate::queues::{self, Queues};
use crate::registry::{Info, Param, SpecError};
use crate::settings::Settings;

pub(crate) const INFO: Info = Info {
    name: "aalo",
    knows: "unsized",
    summary: "multi-level queues by bytes sent, first in first out inside a queue",
    params: &[
        queues::K,
        queues::E,
        queues::Q1,
        Param {
            name: "delta",
            default: "8ms",
            help: "interval of coordination; 0 for exact crossings",
        },
        Param { name: "queues", default: "weighted", help: "weighted or strict" },
        Param {
            name: "share",
            default: "maxmin",
            help: "inside a coflow: maxmin or equal (one pass)",
        },
        Param {
            name: "work_conservation",
            default: "none",
            help: "who may have what weighted queues leave over: none, or all, in order of service and flow by flow (0.2 % better on the Facebook trace, for 1.6 times the CPU); strict queues leave nothing over",
        },
    ],
    source: "Aalo (SIGCOMM 2015) 4, 6.2; defaults of Philae 8",
    make: |settings| {
        Ok(AnyPolicy::Unsized(Box::new(Aalo {
            service: Service::from_settings(settings)?,
            queue: Vec::new(),
            order: Vec::new(),
            limits: Vec::new(),
        })))
    },
};

/// How coflows are served once it is known in which queue each of them is.
pub(crate) struct Service<K> {
    pub(crate) queues: Queues,
    delta_s: f64,
    layers: Layers,
    share: Share<K>,
    /// Of what weighted queues leave over.
    backfill: Backfill,
}

impl<K: Knowledge> Service<K> {
    /// From the parameters of `aalo`.
    pub(crate) fn from_settings(settings: &Settings) -> Result<Service<K>, SpecError> {
        Ok(Service {
            queues: Queues::from_settings(settings)?,
            delta_s: settings.duration("delta")?,
            layers: settings
                .choice("queues", &[("weighted", Layers::Weighted), ("strict", Layers::Strict)])?,
            share: settings
                .choice("share", &[("maxmin", Share::MAX_MIN), ("equal", Share::EQUAL)])?,
            backfill: settings.choice(
                "work_conservation",
                &[("none", Backfill::None), ("all", Backfill::Greedy)],
            )?,
        })
    }

    pub(crate) fn promises(&self) -> Promises {
        Promises {
            conserves_work: self.delta_s == 0.0
                && (self.layers == Layers::Strict || self.backfill == Backfill::Greedy),
            starves_nobody: self.layers == Layers::Weighted,
            ..Promises::default()
        }
    }

    /// The next tick, no earlier than `now`; `now` where nobody ticks.
    pub(crate) fn next_tick(&self, now: Time) -> Time {
        next_tick(self.delta_s, now)
    }

    /// Makes the plan anew for coflows in order of service, each with its queue.
    pub(crate) fn serve(
        &self,
        plan: &mut Plan<K>,
        order: impl IntoIterator<Item = (u32, CoflowId)>,
    ) {
        plan.clear();
        plan.set_layers(self.layers);
        if self.layers == Layers::Weighted {
            plan.set_backfill(self.backfill);
        }
        let mut last = None;
        for (queue, coflow) in order {
            if last.replace(queue) != Some(queue) {
                plan.open_layer(self.queues.factor.powi(-(queue as i32)));
            }
            plan.push(Group::Coflow(coflow), self.share);
        }
    }
}

/// The queue of a coflow.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
struct Place {
    /// Where it is served; `None` until the first tick.
    served: Option<u32>,
    /// Where it belongs by what it has sent.
    due: u32,
}

struct Aalo {
    service: Service<NonClairvoyant>,
    /// By coflow.
    queue: Vec<Place>,
    /// Who is served, by queue.
    order: Vec<(u32, Lineage, CoflowId)>,
    /// The DAGs present with what they have to send to be demoted.
    limits: Vec<(u64, f64)>,
}

/// The next tick of a clock of `delta_s` seconds, no earlier than `now`; `now` where there is none.
fn next_tick(delta_s: f64, now: Time) -> Time {
    if delta_s == 0.0 {
        return now;
    }
    let ticks = now.as_secs() / delta_s;
    // A moment that is a tick but for rounding is one.
    let near = ticks.round();
    let slack = Time::RESOLUTION_S / delta_s;
    let next = if (ticks - near).abs() <= slack { near } else { ticks.ceil() };
    Time::from_secs(next * delta_s)
}

impl Policy<NonClairvoyant> for Aalo {
    fn promises(&self) -> Promises {
        self.service.promises()
    }

    fn coflow_arrived(&mut self, coflow: CoflowId, view: &View<'_, NonClairvoyant>) {
        self.queue.resize(view.slots(), Place::default());
        let external = view.lineage(coflow).external;
        let of_dag = |&&c: &&CoflowId| c != coflow && view.lineage(c).external == external;
        let due = match view.coflows().iter().find(of_dag) {
            Some(other) => self.queue[other.index()].due,
            None => self.service.queues.left_at(view.inherited(coflow)),
        };
        self.queue[coflow.index()] = Place { served: None, due };
    }

    fn dag_bytes_reached(&mut self, external: u64, bytes: f64, view: &View<'_, NonClairvoyant>) {
        let due = self.service.queues.left_at(bytes);
        for &coflow in view.coflows() {
            if view.lineage(coflow).external == external {
                let place = &mut self.queue[coflow.index()];
                place.due = place.due.max(due);
            }
        }
    }

    fn plan(&mut self, view: &View<'_, NonClairvoyant>, plan: &mut Plan<NonClairvoyant>) -> Answer {
        let tick = self.service.next_tick(view.now());
        let on_tick = tick.due(view.now());
        let mut waiting = false;
        self.order.clear();
        self.limits.clear();
        for &coflow in view.coflows() {
            let lineage = view.lineage(coflow);
            let place = &mut self.queue[coflow.index()];
            self.limits.push((lineage.external, self.service.queues.limit(place.due)));
            if on_tick {
                place.served = Some(place.due);
            }
            waiting |= place.served != Some(place.due);
            self.order.extend(place.served.map(|queue| (queue, lineage, coflow)));
        }
        // Stable: coflows of the same id in order of arrival.
        self.order.sort_by_key(|&(queue, lineage, _)| (queue, lineage));

        self.service.serve(plan, self.order.iter().map(|&(queue, _, coflow)| (queue, coflow)));
        if waiting {
            plan.wake_at(tick);
        }
        // One wake-up for each DAG.
        self.limits.sort_unstable_by_key(|&(external, _)| external);
        self.limits.dedup_by_key(|&mut (external, _)| external);
        for &(external, limit) in self.limits.iter().filter(|(_, limit)| limit.is_finite()) {
            plan.wake_when_dag_sent(external, limit);
        }
        Answer::Replaced
    }
}
