//! Coflows that are found, and late binding (CODA §3, §4.2.1).
//!
//! Clusters of flows come from a [`Clusterer`]; each is a coflow. A flow goes to the coflow of its
//! cluster, or with late binding to that of the highest priority among those nearer than the
//! diameter. It may still change as long as nothing of it was sent. Later it goes to another coflow
//! only when its cluster does.

use std::collections::BTreeSet;

use covey_core::{
    Answer, CoflowId, Confidence, Criterion, FlowId, LinkId, Member, Nearest, Observed, Plan,
    Policy, Regrouping, Time, Unlabelled, View, Wake, Wants,
};
use covey_identify::{Attribute, Clusterer, FlowNumber, GroupNumber};

use super::priorities::{Coflow, Priorities, Seat};
use super::setup::{Labels, Setup};

/// A flow that has not ended.
#[derive(Debug, Clone, Copy)]
struct Flow {
    /// Its number in the view.
    number: u64,
    /// Its id once it is in a group.
    id: Option<FlowId>,
    /// When it started.
    start: Time,
    /// Where it belongs.
    seat: Seat,
}

/// A cluster of flows.
#[derive(Debug, Clone, Copy, Default)]
struct Cluster {
    flows: u32,
    coflow: Option<Coflow>,
}

pub(super) struct Identified {
    clusterer: Clusterer,
    /// The diameter; none without late binding. Up to the radius no other coflow is near.
    diameter: Option<f64>,
    /// Whether flows without a community have nothing in common.
    is_told: bool,
    least_confidence: f64,
    /// The coflow of all flows, while coflows cannot be told apart.
    together: Option<Coflow>,
    priorities: Priorities<Unlabelled>,
    /// By [`FlowNumber`].
    flows: Vec<Option<Flow>>,
    /// By [`GroupNumber`].
    clusters: Vec<Cluster>,
    /// The flows of each group, by [`CoflowId`] and index.
    names: Vec<Vec<Option<FlowNumber>>>,
    /// Flows that may belong to several coflows, and of which nothing was sent when they were last
    /// looked at.
    unbound: BTreeSet<FlowNumber>,
    /// Flows that are on their way to another group, in the order in which they were put.
    on_the_way: Vec<FlowNumber>,
    /// Working memory: clusters near a flow.
    near: Vec<(GroupNumber, f64)>,
}

impl Identified {
    pub fn new(setup: &Setup) -> Identified {
        Identified {
            clusterer: Clusterer::new(setup.metric.clone()),
            diameter: (setup.is_late && setup.diameter > setup.metric.radius)
                .then_some(setup.diameter),
            is_told: setup.labels == Labels::Told,
            least_confidence: setup.least_confidence,
            together: None,
            priorities: Priorities::new(setup),
            flows: Vec::new(),
            clusters: Vec::new(),
            names: Vec::new(),
            unbound: BTreeSet::new(),
            on_the_way: Vec::new(),
            near: Vec::new(),
        }
    }

    /// The flow of an id.
    fn number(&self, flow: FlowId) -> FlowNumber {
        self.names[flow.coflow.index()][flow.index as usize].expect("a flow that was regrouped")
    }

    fn flow(&mut self, number: FlowNumber) -> &mut Flow {
        self.flows[number.0 as usize].as_mut().expect("a flow that has not ended")
    }

    /// A flow leaves a cluster.
    fn leave_cluster(&mut self, group: GroupNumber) {
        let cluster = &mut self.clusters[group.0 as usize];
        cluster.flows -= 1;
        if cluster.flows == 0 {
            cluster.coflow.take().into_iter().for_each(|coflow| self.priorities.close(coflow));
        }
    }

    /// A flow has come to a cluster. If the cluster has no coflow, one is found that began then.
    fn enter_cluster(&mut self, group: GroupNumber, began: Time) {
        let cluster = &mut self.clusters[group.0 as usize];
        cluster.flows += 1;
        cluster.coflow.get_or_insert_with(|| self.priorities.find(began));
    }

    /// Starts new flows, and brings clusters up to date. Adds the flows to `moved` whose cluster
    /// has changed, each with the coflow to which it belonged by its cluster.
    fn identify(
        &mut self,
        view: &View<'_, Unlabelled>,
        moved: &mut Vec<(FlowNumber, Option<Coflow>)>,
    ) {
        for (number, observed) in view.newcomers() {
            let own = self.is_told.then_some(!number);
            let community = observed.community.or(own);
            let flow = self.clusterer.start(&Observed { community, ..*observed });
            if self.flows.len() <= flow.0 as usize {
                self.flows.resize(flow.0 as usize + 1, None);
            }
            let start = Time::from_secs(observed.start_s).min(view.now());
            let nowhere = Seat { coflow: Coflow(u32::MAX), flow_queue: 0 };
            self.flows[flow.0 as usize] = Some(Flow { number, id: None, start, seat: nowhere });
        }
        let moves = self.clusterer.refresh().to_vec();
        for change in &moves {
            let before = change.from.and_then(|from| self.clusters[from.0 as usize].coflow);
            moved.push((change.flow, before));
        }
        // First all leave: a number of a cluster may be that of another one now.
        moves.iter().filter_map(|change| change.from).for_each(|from| self.leave_cluster(from));
        for change in &moves {
            let to = change.to.0 as usize;
            if self.clusters.len() <= to {
                self.clusters.resize(to + 1, Cluster::default());
            }
            // A coordinator that starts again hears of flows late, and in any order.
            let is_new = change.from.is_none();
            let began = if is_new { self.flow(change.flow).start } else { view.now() };
            self.enter_cluster(change.to, began);
        }
    }

    /// Chooses the coflow of a flow of which nothing was sent: among `home` and the coflows nearer
    /// than the diameter, that of the highest priority. Also returns whether there were several.
    fn bind(&mut self, flow: FlowNumber, home: Coflow) -> (Coflow, bool) {
        let Some(diameter) = self.diameter else { return (home, false) };
        let mut near = std::mem::take(&mut self.near);
        self.clusterer.near(flow, diameter, &mut near);
        let coflows = near.iter().filter_map(|(group, _)| self.clusters[group.0 as usize].coflow);
        let first = coflows.chain([home]).min_by_key(|&coflow| self.priorities.precedence(coflow));
        let several = !near.is_empty();
        self.near = near;
        (first.unwrap_or(home), several)
    }

    /// Begins or ends to take all flows for one coflow. Returns whether that has changed.
    fn follow_confidence(&mut self, now: Time) -> bool {
        let is_enough = self.clusterer.observer().confidence() >= self.least_confidence;
        match self.together {
            None if !is_enough => {
                self.together = Some(self.priorities.find(now));
                self.unbound.clear();
            }
            Some(together) if is_enough => {
                self.together = None;
                self.priorities.close(together);
            }
            _ => return false,
        }
        true
    }

    fn home(&self, flow: FlowNumber) -> Coflow {
        let group = self.clusterer.group(flow).expect("clusters are up to date");
        self.clusters[group.0 as usize].coflow.expect("a cluster with flows has a coflow")
    }

    /// Whether a flow may still be bound to any coflow that is near: it is new, or was not bound,
    /// and nothing of it was sent.
    fn is_free(&self, number: FlowNumber, flow: &Flow, view: &View<'_, Unlabelled>) -> bool {
        let waits = |id: FlowId| self.unbound.contains(&number) && view.sent(id) <= 0.0;
        flow.id.is_none_or(waits)
    }

    /// Decides the coflow of a flow that is new, that is not bound, or whose cluster has changed.
    /// `before` is the coflow of its former cluster.
    fn assign(&mut self, number: FlowNumber, before: Option<Coflow>, view: &View<'_, Unlabelled>) {
        if let Some(coflow) = self.together {
            self.flow(number).seat = Seat { coflow, flow_queue: 0 };
            return;
        }
        let (home, flow) = (self.home(number), *self.flow(number));
        let coflow = if self.is_free(number, &flow, view) {
            let (coflow, several) = self.bind(number, home);
            if several {
                self.unbound.insert(number);
            } else {
                self.unbound.remove(&number);
            }
            coflow
        } else {
            self.unbound.remove(&number);
            // A flow that is in the coflow of its former cluster goes with its cluster. Otherwise
            // it stays where it was bound.
            if before == Some(flow.seat.coflow) { home } else { flow.seat.coflow }
        };
        self.flow(number).seat.coflow = coflow;
    }
}

impl Policy<Unlabelled> for Identified {
    fn ranked_by(&self, flow: FlowId, _: LinkId, _: &View<'_, Unlabelled>) -> Vec<Criterion> {
        self.priorities.ranked_by(flow.coflow)
    }

    fn wants(&self) -> Wants {
        Wants {
            flow_ends: true,
            progress: true,
            regroups: true,
            communities: self.is_told,
            ..Wants::default()
        }
    }

    fn why(&self, id: FlowId) -> Option<Nearest> {
        let number = (*self.names.get(id.coflow.index())?.get(id.index as usize)?)?;
        let coflow = (*self.flows.get(number.0 as usize)?)?.seat.coflow;
        let metric = self.clusterer.metric();
        let reach = self.diameter.unwrap_or(metric.radius).max(metric.radius);
        let is_of = |group: GroupNumber| self.clusters[group.0 as usize].coflow == Some(coflow);
        let (other, differences) = self.clusterer.nearest(number, reach, is_of)?;
        let distance = metric.distance(&differences);
        let parts = Attribute::ALL.into_iter().zip(metric.parts(&differences));
        let mut shares: Vec<(&'static str, f64)> = parts
            .filter(|(_, part)| *part > 0.0)
            .map(|(attribute, part)| (attribute.name(), part / (distance * distance)))
            .collect();
        shares.sort_by(|a, b| b.1.total_cmp(&a.1));
        let flow = self.flows[other.0 as usize]?.id?;
        Some(Nearest { flow, distance, radius: metric.radius, shares })
    }

    fn confidence(&self) -> Option<Confidence> {
        let value = self.clusterer.observer().confidence();
        (self.least_confidence > 0.0).then_some(Confidence { value, least: self.least_confidence })
    }

    fn reads_flows_of(&self, _: Wake, now: Time, coflows: &mut Vec<CoflowId>) {
        if self.priorities.is_due(now) {
            coflows.extend(self.priorities.crossing());
            let unbound = self.unbound.iter().filter_map(|flow| self.flows[flow.0 as usize]);
            coflows.extend(unbound.filter_map(|flow| flow.id).map(|id| id.coflow));
        }
    }

    fn flows_arrived(&mut self, _: &View<'_, Unlabelled>) {
        self.priorities.note();
    }

    fn flow_ended(&mut self, id: FlowId, _: &View<'_, Unlabelled>) {
        let flow = self.number(id);
        if let Some(group) = self.clusterer.group(flow) {
            self.leave_cluster(group);
        }
        self.clusterer.end(flow);
        self.unbound.remove(&flow);
        self.flows[flow.0 as usize] = None;
    }

    fn coflow_ended(&mut self, group: CoflowId, _: &View<'_, Unlabelled>) {
        self.names[group.index()].clear();
        self.priorities.leave(group);
        self.priorities.note();
    }

    fn dag_bytes_reached(&mut self, dag: u64, bytes: f64, _: &View<'_, Unlabelled>) {
        self.priorities.dag_bytes_reached(dag, bytes);
        self.priorities.note();
    }

    fn bytes_reached(&mut self, group: CoflowId, _: f64, _: &View<'_, Unlabelled>) {
        self.priorities.bytes_reached(group);
        self.priorities.note();
    }

    fn woke(&mut self, _: &View<'_, Unlabelled>) {
        self.priorities.note();
    }

    fn regroup(&mut self, view: &View<'_, Unlabelled>, regrouping: &mut Regrouping) {
        if !self.priorities.is_due(view.now()) {
            return;
        }
        let mut moved = Vec::new();
        self.identify(view, &mut moved);
        if self.follow_confidence(view.now()) {
            // Each goes to the coflow of its cluster, or from there to that of all.
            let live = (0..).zip(&self.flows);
            let live = live.filter_map(|(number, flow)| Some((FlowNumber(number), (*flow)?)));
            moved = live.map(|(number, flow)| (number, Some(flow.seat.coflow))).collect();
        }
        let unbound = self.unbound.iter().map(|&flow| (flow, None)).collect::<Vec<_>>();
        moved.iter().chain(&unbound).for_each(|&(flow, before)| self.assign(flow, before, view));
        let mut placed: Vec<FlowNumber> = moved.into_iter().chain(unbound).map(|it| it.0).collect();
        let mut crossed = self.priorities.take_crossed(view);
        if self.together.is_some() {
            crossed.clear(); // All flows have the same right.
        }
        for (id, seat) in crossed {
            let number = self.number(id);
            self.flow(number).seat.flow_queue = seat.flow_queue;
            placed.push(number);
        }
        // In the order of the flows' own numbers, so that those of one sender stay together.
        placed.sort_unstable_by_key(|flow| self.flows[flow.0 as usize].map(|flow| flow.number));
        placed.dedup();
        for number in placed {
            let Flow { number: newcomer, id, seat, .. } = *self.flow(number);
            let from = id.and_then(|id| self.priorities.seat_of(id.coflow));
            if from != Some(seat) {
                let member = id.map_or(Member::Newcomer(newcomer), Member::Flow);
                self.priorities.put(member, from, seat, regrouping);
                self.on_the_way.push(number);
            }
        }
    }

    fn regrouped(&mut self, flows: &[FlowId], view: &View<'_, Unlabelled>) {
        self.priorities.regrouped(flows, view);
        for (&id, number) in flows.iter().zip(std::mem::take(&mut self.on_the_way)) {
            if self.names.len() <= id.coflow.index() {
                self.names.resize(id.coflow.index() + 1, Vec::new());
            }
            let names = &mut self.names[id.coflow.index()];
            names.resize(names.len().max(id.index as usize + 1), None);
            names[id.index as usize] = Some(number);
            self.flow(number).id = Some(id);
        }
        self.priorities.note();
    }

    fn plan(&mut self, view: &View<'_, Unlabelled>, plan: &mut Plan<Unlabelled>) -> Answer {
        self.priorities.plan(view, plan)
    }
}
