//! Coflows that are known: CODA's order without identification.

use covey_core::{
    Answer, CoflowId, Criterion, FlowId, LinkId, Member, NonClairvoyant, Plan, Policy, Regrouping,
    Time, View, Wake, Wants,
};

use super::priorities::Priorities;
use super::setup::Setup;

pub(super) struct Labelled {
    priorities: Priorities<NonClairvoyant>,
}

impl Labelled {
    pub fn new(setup: &Setup) -> Labelled {
        Labelled { priorities: Priorities::new(setup) }
    }
}

impl Policy<NonClairvoyant> for Labelled {
    fn ranked_by(&self, flow: FlowId, _: LinkId, _: &View<'_, NonClairvoyant>) -> Vec<Criterion> {
        self.priorities.ranked_by(flow.coflow)
    }

    fn wants(&self) -> Wants {
        Wants { progress: true, regroups: true, ..Wants::default() }
    }

    fn reads_flows_of(&self, _: Wake, now: Time, coflows: &mut Vec<CoflowId>) {
        if self.priorities.is_due(now) {
            coflows.extend(self.priorities.crossing());
        }
    }

    fn coflow_arrived(&mut self, id: CoflowId, view: &View<'_, NonClairvoyant>) {
        self.priorities.arrive(id, view.lineage(id), view.now(), view.inherited(id));
        self.priorities.note();
    }

    fn coflow_ended(&mut self, id: CoflowId, _: &View<'_, NonClairvoyant>) {
        self.priorities.leave(id);
        self.priorities.note();
    }

    fn dag_bytes_reached(&mut self, dag: u64, bytes: f64, _: &View<'_, NonClairvoyant>) {
        self.priorities.dag_bytes_reached(dag, bytes);
        self.priorities.note();
    }

    fn bytes_reached(&mut self, group: CoflowId, _: f64, _: &View<'_, NonClairvoyant>) {
        self.priorities.bytes_reached(group);
        self.priorities.note();
    }

    fn woke(&mut self, _: &View<'_, NonClairvoyant>) {
        self.priorities.note();
    }

    fn regroup(&mut self, view: &View<'_, NonClairvoyant>, regrouping: &mut Regrouping) {
        if !self.priorities.is_due(view.now()) {
            return;
        }
        for (flow, seat) in self.priorities.take_crossed(view) {
            let from = self.priorities.seat_of(flow.coflow);
            self.priorities.put(Member::Flow(flow), from, seat, regrouping);
        }
    }

    fn regrouped(&mut self, flows: &[FlowId], view: &View<'_, NonClairvoyant>) {
        self.priorities.regrouped(flows, view);
        self.priorities.note();
    }

    fn plan(&mut self, view: &View<'_, NonClairvoyant>, plan: &mut Plan<NonClairvoyant>) -> Answer {
        self.priorities.plan(view, plan)
    }
}
