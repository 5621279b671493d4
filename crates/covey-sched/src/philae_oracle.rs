//! `philae-oracle`: Philae that knows sizes from the start, without sampling.
//!
//! As [`philae`](crate::philae), but the length of a coflow's flows is their true mean: every
//! coflow that is not thin is in a queue from the start. There are neither pilots nor flows that
//! wait for them. The distance to clairvoyant policies is then what Philae loses by its queues and
//! by the order of arrival inside them; the rest is the price of learning.

use covey_core::{AnyPolicy, Clairvoyant, CoflowId, FlowId, Promises, View};

use crate::info::Info;
use crate::philae::{CONTENTION, Lengths, ORDER, Philae, QUEUES, SHARE, SHARES};
use crate::queues;
use crate::spec::Param;

pub(crate) const INFO: Info = Info {
    name: "philae-oracle",
    knows: "sized",
    summary: "philae with true sizes from the start instead of pilots",
    params: &[
        Param {
            name: "thin",
            default: "7",
            help: "coflows of at most this many flows go before all queues",
        },
        ORDER,
        queues::K,
        queues::E,
        queues::Q1,
        QUEUES,
        SHARE,
        Param {
            name: "size",
            default: "whole",
            help: "what keys go by: whole, or left (less what has been sent)",
        },
        CONTENTION,
    ],
    source: "Philae (USENIX ATC 2019) 4, with sizes known as in its 8.1",
    promises: |settings| {
        let conserves_work = !settings.choice(SHARE.name, SHARES)?;
        Ok(Promises { conserves_work, ..Promises::default() })
    },
    make: |settings| {
        let size_left = settings.choice("size", &[("whole", false), ("left", true)])?;
        Ok(AnyPolicy::Clairvoyant(Box::new(Philae::new(settings, size_left, Oracle)?)))
    },
};

/// True lengths.
struct Oracle;

impl Lengths<Clairvoyant> for Oracle {
    const SAMPLES: bool = false;

    fn conserve_work(&self) -> bool {
        true
    }

    fn of(
        &mut self,
        coflow: CoflowId,
        view: &View<'_, Clairvoyant>,
        _: &mut Vec<FlowId>,
    ) -> Option<f64> {
        let (_, ended) = view.finished(coflow);
        let unfinished: f64 = view.flows(coflow).map(|flow| view.size(flow)).sum();
        Some((ended + unfinished) / view.width(coflow).max(1) as f64)
    }
}
