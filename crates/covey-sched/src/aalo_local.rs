//! `aalo-local`: Aalo without coordination (Aalo, SIGCOMM 2015, §3.2, §6): every host and every
//! output port of a switch has the queues of [`aalo`](crate::aalo), but counts only what has passed
//! through the link at hand.
//!
//! A link goes to the first coflow of its uppermost queue, in order of arrival, or is divided among
//! the first coflows of all its queues with weights that fall by `E`. A coflow that sends little at
//! each of many ports stays in upper queues for longer than it would if its bytes were added up,
//! and its ports do not agree on when it has to yield.

use covey_core::{
    AnyPolicy, CoflowId, Criterion, LocalPolicy, LocalView, NodeLink, Promises, Seen,
};

use crate::info::Info;
use crate::local::Local;
use crate::queues::{self, Queues};
use crate::spec::Param;

/// Values of the parameter `queues`: whether they are strict.
const QUEUES: &[(&str, bool)] = &[("weighted", false), ("strict", true)];

pub(crate) const INFO: Info = Info {
    name: "aalo-local",
    knows: "unsized, local",
    summary: "Aalo's queues at each node by the bytes that have passed through it",
    params: &[
        queues::K,
        queues::E,
        queues::Q1,
        Param { name: "queues", default: "weighted", help: "weighted or strict" },
    ],
    source: "Aalo (SIGCOMM 2015) 3.2, 7: the uncoordinated variant",
    promises: |settings| {
        let starves_nobody = !settings.choice("queues", QUEUES)?;
        Ok(Promises { starves_nobody, is_local: true, ..Promises::default() })
    },
    make: |settings| {
        let queues = Queues::from_settings(settings)?;
        let strict = settings.choice("queues", QUEUES)?;
        let thresholds = (0..queues.count - 1).map(|queue| queues.limit(queue)).collect();
        let node = AaloNode { queues, strict, thresholds };
        // Nodes send each other no messages.
        Ok(AnyPolicy::NonClairvoyant(Box::new(Local::new(node, 0.0))))
    },
};

#[derive(Clone)]
struct AaloNode {
    queues: Queues,
    strict: bool,
    thresholds: Vec<f64>,
}

impl LocalPolicy for AaloNode {
    type Message = ();

    fn thresholds(&self) -> &[f64] {
        &self.thresholds
    }

    fn ranked_by(&self, seen: &Seen) -> Vec<Criterion> {
        vec![queues::criterion(seen.thresholds_reached as u32)]
    }

    fn divide(&mut self, link: &NodeLink, _: &LocalView<'_>, parts: &mut Vec<(CoflowId, f64)>) {
        // A coflow's queue is the number of thresholds that it has reached here.
        let first_of =
            |queue: usize| link.seen.iter().find(|seen| seen.thresholds_reached == queue);
        let firsts = (0..self.queues.count).filter_map(|queue| {
            let seen = first_of(queue as usize)?;
            Some((seen.coflow, libm::pow(self.queues.factor, -f64::from(queue))))
        });
        parts.extend(firsts.take(if self.strict { 1 } else { usize::MAX }));
        let sum: f64 = parts.iter().map(|(_, weight)| weight).sum();
        parts.iter_mut().for_each(|(_, weight)| *weight /= sum);
    }
}
