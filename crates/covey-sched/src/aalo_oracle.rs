//! `aalo-oracle`: Aalo that knows beforehand in which queue a coflow will end (Philae §8.1).
//!
//! As [`aalo`](crate::aalo), but a coflow is in its final queue, that of its total bytes, from the
//! start, and is never demoted: what remains are the queues and first in first out inside them, without
//! the time that learning takes. Coflows of one DAG do not share a queue: each is where its own bytes
//! put it.

use covey_core::{Answer, AnyPolicy, Clairvoyant, CoflowId, Plan, Policy, Promises, View, Wants};

use crate::aalo::{self, Service};
use crate::registry::Info;

pub(crate) const INFO: Info = Info {
    name: "aalo-oracle",
    knows: "sized",
    summary: "aalo with each coflow in its final queue from the start",
    params: aalo::INFO.params,
    source: "Philae (USENIX ATC 2019) 8.1",
    make: |settings| {
        Ok(AnyPolicy::Sized(Box::new(AaloOracle {
            service: Service::from_settings(settings)?,
            served: Vec::new(),
            order: Vec::new(),
        })))
    },
};

struct AaloOracle {
    service: Service<Clairvoyant>,
    /// By coflow: whether a tick has come since its arrival.
    served: Vec<bool>,
    order: Vec<(u32, CoflowId)>,
}

impl Policy<Clairvoyant> for AaloOracle {
    fn wants(&self) -> Wants {
        Wants { sizes_only: true, ..Wants::default() }
    }

    fn promises(&self) -> Promises {
        self.service.promises()
    }

    fn coflow_arrived(&mut self, coflow: CoflowId, view: &View<'_, Clairvoyant>) {
        self.served.resize(view.slots(), false);
        self.served[coflow.index()] = false;
    }

    fn plan(&mut self, view: &View<'_, Clairvoyant>, plan: &mut Plan<Clairvoyant>) -> Answer {
        let tick = self.service.next_tick(view.now());
        let on_tick = tick.due(view.now());
        self.order.clear();
        let mut waiting = false;
        for &coflow in view.coflows() {
            let served = &mut self.served[coflow.index()];
            *served |= on_tick;
            waiting |= !*served;
            if *served {
                self.order.push((self.service.queues.queue_of(view.total(coflow)), coflow));
            }
        }
        // Stable: inside a queue, order of arrival.
        self.order.sort_by_key(|&(queue, _)| queue);
        self.service.serve(plan, self.order.iter().copied());
        if waiting {
            plan.wake_at(tick);
        }
        Answer::Replaced
    }
}
