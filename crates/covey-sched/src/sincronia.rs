//! `sincronia`: the BSSI order on what is left, at every arrival and end of a coflow (Sincronia,
//! SIGCOMM 2018).
//!
//! The policy decides the order only; any work-conserving allocation that keeps the order will do.
//! It respects the weights of coflows.
//!
//! With `mode=offline` the order changes when coflows and flows arrive, not when they end. So
//! coflows that arrive together are served in the order of the paper's offline algorithm (§3.1),
//! which makes it a 4-approximation. A policy sees no coflow before it arrives. An offline order is
//! therefore possible only in a trace in which all coflows arrive together.

use covey_core::{
    Answer, AnyPolicy, Clairvoyant, CoflowId, Criterion, FlowId, Group, LinkId, Plan, Policy,
    Promises, Share, View,
};

use crate::bssi::Bssi;
use crate::info::Info;
use crate::spec::Param;

pub(crate) const INFO: Info = Info {
    name: "sincronia",
    knows: "sized",
    summary: "bottleneck-select-scale-iterate order on remaining demand",
    params: &[
        Param {
            name: "share",
            default: "matching",
            help: "matching (one flow per port at full rate) or maxmin, in the order",
        },
        Param {
            name: "mode",
            default: "online",
            help: "online (ordered again when coflows arrive or end) or offline (only when they arrive: those that arrive together keep the order of the offline algorithm)",
        },
    ],
    source: "Sincronia (SIGCOMM 2018) 3",
    promises: |_| Ok(Promises { conserves_work: true, ..Promises::default() }),
    make: |settings| {
        let share = settings
            .choice("share", &[("matching", Share::MATCHING), ("maxmin", Share::MAX_MIN)])?;
        Ok(AnyPolicy::Clairvoyant(Box::new(Sincronia {
            share,
            offline: settings.choice("mode", &[("online", false), ("offline", true)])?,
            arrived: Vec::new(),
            bssi: Bssi::default(),
            ranked: Vec::new(),
            order: Vec::new(),
        })))
    },
};

struct Sincronia {
    share: Share<Clairvoyant>,
    /// Whether the order stays as it is when coflows end.
    offline: bool,
    /// The coflows present that arrived, or of which flows started, since the last plan.
    arrived: Vec<CoflowId>,
    bssi: Bssi,
    /// Working memory: the coflows that are ordered again.
    ranked: Vec<CoflowId>,
    /// The coflows present, first to be served first.
    order: Vec<CoflowId>,
}

impl Sincronia {
    /// Whether a coflow is ordered again, because of an event among those that it can have met.
    /// Under `mode=offline` ends are no such event.
    fn is_to_order(&self, coflow: CoflowId, view: &View<'_, Clairvoyant>) -> bool {
        view.is_dirty(coflow)
            && (!self.offline || self.arrived.iter().any(|&arrived| view.may_meet(arrived, coflow)))
    }
}

impl Policy<Clairvoyant> for Sincronia {
    fn ranked_by(&self, flow: FlowId, _: LinkId, _: &View<'_, Clairvoyant>) -> Vec<Criterion> {
        let place = self.order.iter().position(|&other| other == flow.coflow);
        place.map(|k| Criterion::number("place in the order", k as f64 + 1.0)).into_iter().collect()
    }

    fn coflow_arrived(&mut self, coflow: CoflowId, _: &View<'_, Clairvoyant>) {
        self.arrived.push(coflow);
    }

    fn flows_started(&mut self, coflow: CoflowId, _: &View<'_, Clairvoyant>) {
        self.arrived.push(coflow);
    }

    fn coflow_ended(&mut self, coflow: CoflowId, _: &View<'_, Clairvoyant>) {
        self.order.retain(|&other| other != coflow);
        self.arrived.retain(|&other| other != coflow);
    }

    fn plan(&mut self, view: &View<'_, Clairvoyant>, plan: &mut Plan<Clairvoyant>) -> Answer {
        if !self.offline || !self.arrived.is_empty() {
            let capacity = view.fabric().capacity();
            let mut order = std::mem::take(&mut self.order);
            order.retain(|&coflow| !self.is_to_order(coflow, view));
            let mut ranked = std::mem::take(&mut self.ranked);
            ranked.clear();
            ranked.extend(view.coflows().iter().filter(|&&coflow| self.is_to_order(coflow, view)));
            self.bssi.clear();
            for &coflow in &ranked {
                let loads =
                    view.left_at(coflow).map(|(link, left)| (link, left / capacity[link.index()]));
                self.bssi.add(view.weight(coflow), loads);
            }
            order.extend(self.bssi.order().iter().map(|&k| ranked[k]));
            (self.order, self.ranked) = (order, ranked);
            self.arrived.clear();
        }
        plan.clear();
        for &coflow in &self.order {
            plan.push(Group::Coflow(coflow), self.share);
        }
        Answer::Replaced
    }
}
