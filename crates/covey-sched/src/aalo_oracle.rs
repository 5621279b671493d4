//! `aalo-oracle`: Aalo that knows beforehand in which queue a coflow will end (Philae §8.1).
//!
//! As [`aalo`](crate::aalo), but a coflow is in its final queue, that of its total bytes, from the
//! start, and is never demoted: what remains are the queues and first in first out inside them, without
//! the time that learning takes. Coflows of one DAG do not share a queue: each is where its own bytes
//! put it.

use covey_core::{
    Answer, AnyPolicy, Backfill, Clairvoyant, CoflowId, Group, Layers, Plan, Policy, Promises,
    Share, View,
};

use crate::aalo::{self, next_tick};
use crate::queues::Queues;
use crate::registry::Info;

pub(crate) const INFO: Info = Info {
    name: "aalo-oracle",
    knows: "sized",
    summary: "aalo with each coflow in its final queue from the start",
    params: aalo::INFO.params,
    source: "Philae (USENIX ATC 2019) 8.1",
    make: |settings| {
        Ok(AnyPolicy::Sized(Box::new(AaloOracle {
            queues: Queues::from_settings(settings)?,
            delta_s: settings.duration("delta")?,
            layers: settings
                .choice("queues", &[("weighted", Layers::Weighted), ("strict", Layers::Strict)])?,
            share: settings
                .choice("share", &[("maxmin", Share::MAX_MIN), ("equal", Share::EQUAL)])?,
            served: Vec::new(),
            order: Vec::new(),
        })))
    },
};

struct AaloOracle {
    queues: Queues,
    delta_s: f64,
    layers: Layers,
    share: Share<Clairvoyant>,
    /// By coflow: whether a tick has come since its arrival.
    served: Vec<bool>,
    order: Vec<(u32, CoflowId)>,
}

impl Policy<Clairvoyant> for AaloOracle {
    fn promises(&self) -> Promises {
        Promises {
            conserves_work: self.delta_s == 0.0,
            starves_nobody: self.layers == Layers::Weighted,
            ..Promises::default()
        }
    }

    fn coflow_arrived(&mut self, coflow: CoflowId, view: &View<'_, Clairvoyant>) {
        self.served.resize(view.slots(), false);
        self.served[coflow.index()] = false;
    }

    fn plan(&mut self, view: &View<'_, Clairvoyant>, plan: &mut Plan<Clairvoyant>) -> Answer {
        let tick = next_tick(self.delta_s, view.now());
        let on_tick = tick.due(view.now());
        plan.clear();
        plan.set_layers(self.layers);
        if self.layers == Layers::Weighted {
            plan.set_backfill(Backfill::Greedy);
        }
        self.order.clear();
        let mut waiting = false;
        for &coflow in view.coflows() {
            let served = &mut self.served[coflow.index()];
            *served |= on_tick;
            waiting |= !*served;
            if *served {
                self.order.push((self.queues.queue_of(view.total(coflow)), coflow));
            }
        }
        // Stable: inside a queue, order of arrival.
        self.order.sort_by_key(|&(queue, _)| queue);
        for queue in self.order.chunk_by(|a, b| a.0 == b.0) {
            plan.open_layer(self.queues.factor.powi(-(queue[0].0 as i32)));
            for &(_, coflow) in queue {
                plan.push(Group::Coflow(coflow), self.share);
            }
        }
        if waiting {
            plan.wake_at(tick);
        }
        Answer::Replaced
    }
}
