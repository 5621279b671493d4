//! `aalo-oracle`: Aalo that knows beforehand in which queue a coflow will end (Philae §8.1).
//!
//! As [`aalo`](crate::aalo), but a coflow is in its final queue, that of its total bytes, from the
//! start and is never demoted. This is Aalo without the time that learning takes: queues, and order
//! of arrival inside them. Coflows of one DAG do not share a queue; each is in the queue of its own
//! bytes.

use covey_core::{
    Answer, AnyPolicy, Clairvoyant, CoflowId, Criterion, FlowId, LinkId, Plan, Policy, View, Wants,
};

use crate::aalo::{self, Service};
use crate::info::Info;
use crate::queues;

pub(crate) const INFO: Info = Info {
    name: "aalo-oracle",
    knows: "sized",
    summary: "aalo with each coflow in its final queue from the start",
    params: &[
        queues::K,
        queues::E,
        queues::Q1,
        aalo::DELTA,
        aalo::QUEUES,
        aalo::SHARE,
        aalo::WORK_CONSERVATION,
    ],
    source: "Philae (USENIX ATC 2019) 8.1",
    promises: |settings| Ok(Service::<Clairvoyant>::from_settings(settings)?.promises()),
    make: |settings| {
        Ok(AnyPolicy::Clairvoyant(Box::new(AaloOracle {
            service: Service::from_settings(settings)?,
            to_serve: Vec::new(),
        })))
    },
};

struct AaloOracle {
    service: Service<Clairvoyant>,
    /// Coflows that have arrived since the last tick.
    to_serve: Vec<CoflowId>,
}

impl Policy<Clairvoyant> for AaloOracle {
    fn wants(&self) -> Wants {
        Wants { sizes_only: true, ..Wants::default() }
    }

    fn ranked_by(&self, flow: FlowId, _: LinkId, _: &View<'_, Clairvoyant>) -> Vec<Criterion> {
        self.service.ranked_by(flow.coflow)
    }

    fn coflow_arrived(&mut self, coflow: CoflowId, _: &View<'_, Clairvoyant>) {
        self.to_serve.push(coflow);
    }

    fn coflow_ended(&mut self, coflow: CoflowId, _: &View<'_, Clairvoyant>) {
        self.to_serve.retain(|&other| other != coflow);
        self.service.leave(coflow);
    }

    fn plan(&mut self, view: &View<'_, Clairvoyant>, plan: &mut Plan<Clairvoyant>) -> Answer {
        self.service.start(plan);
        plan.clear_times();
        let tick = self.service.next_tick(view.now());
        if tick.due(view.now()) {
            for coflow in self.to_serve.drain(..) {
                let queue = self.service.queues.queue_of(view.total(coflow));
                self.service.serve(plan, coflow, queue, view);
            }
        } else if !self.to_serve.is_empty() {
            plan.wake_at(tick);
        }
        Answer::Replaced
    }
}
