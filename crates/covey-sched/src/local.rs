//! Runs a [`LocalPolicy`] in the simulator: one instance a node, each of which sees only its node.
//!
//! Every host is a node, which decides for the two links of its port; and so is every output port
//! of every switch, which decides for the link that leaves it. The adapter stands for the network
//! between the nodes. It tells a node what happens at its links, carries messages, which take
//! `latency_s`, and writes the nodes' divisions of their links into one plan ([`Layers::PerPort`]).
//! If a coflow cannot use its share of a link, other coflows take it in order of arrival, as flows
//! under congestion control would.

use std::collections::VecDeque;

use covey_core::{
    Answer, CoflowId, Criterion, Fabric, FlowId, Layers, LinkId, LocalPolicy, LocalView, NodeId,
    NodeLink, NonClairvoyant, Outbox, Plan, Policy, Rank, Seen, Share, Time, View, Wants,
};

use crate::kept_ranks::KeptRanks;

/// One node: its instance, and what it may see.
struct Node<P> {
    instance: P,
    links: Vec<NodeLink>,
    /// Whether the node must divide its links again.
    is_stale: bool,
}

/// All nodes, as a policy for the network.
pub(crate) struct Local<P: LocalPolicy> {
    /// What every node starts as.
    start: P,
    thresholds: Vec<f64>,
    latency_s: f64,
    /// Hosts in the order of their ports, then output ports of switches in the order of their
    /// links.
    nodes: Vec<Node<P>>,
    /// Nodes that must divide their links again.
    stale: Vec<usize>,
    ranks: KeptRanks,
    /// Coflows that have arrived since the last plan.
    arrived: Vec<CoflowId>,
    /// Working memory: how a link is divided.
    parts: Vec<(CoflowId, f64)>,
    /// By coflow, the links where thresholds have been reached, ascending, and how many: later
    /// waves go on counting.
    reached: Vec<Vec<(LinkId, usize)>>,
    /// Messages under way, in order of arrival: when, and from whom.
    messages: VecDeque<(Time, NodeId, P::Message)>,
    sent: Vec<P::Message>,
}

/// The node that decides for a link, and the link's place among those of the node.
fn home(link: LinkId, fabric: &Fabric) -> (usize, usize) {
    match fabric.port_of(link) {
        Some(port) => (port.index(), usize::from(link == fabric.ingress(port))),
        None => (fabric.ports() as usize + link.index() - fabric.inner_links().start, 0),
    }
}

impl<P: LocalPolicy + Clone> Local<P> {
    /// Nodes that all start as `start`; messages take `latency_s` seconds.
    pub(crate) fn new(start: P, latency_s: f64) -> Local<P> {
        Local {
            thresholds: start.thresholds().to_vec(),
            start,
            latency_s,
            nodes: Vec::new(),
            stale: Vec::new(),
            ranks: KeptRanks::default(),
            arrived: Vec::new(),
            parts: Vec::new(),
            reached: Vec::new(),
            messages: VecDeque::new(),
            sent: Vec::new(),
        }
    }

    /// Has an instance for each node of the network.
    fn place(&mut self, fabric: &Fabric) {
        if !self.nodes.is_empty() {
            return;
        }
        let ports = fabric.ports() as usize;
        let start = &self.start;
        self.nodes.resize_with(ports + fabric.inner_links().len(), || Node {
            instance: start.clone(),
            links: Vec::new(),
            is_stale: false,
        });
        // A port's egress link comes before its ingress link.
        for link in (0..fabric.links() as u32).map(LinkId) {
            self.nodes[home(link, fabric).0].links.push(NodeLink { link, seen: Vec::new() });
        }
    }

    fn see(&mut self, coflow: CoflowId, view: &View<'_, NonClairvoyant>) {
        self.place(view.fabric());
        let order = view.order(coflow);
        for load in view.loads(coflow).filter(|load| load.unfinished > 0) {
            let (at, l) = home(load.link, view.fabric());
            let seen = &mut self.nodes[at].links[l].seen;
            let place = seen.partition_point(|other| other.order < order);
            if seen.get(place).is_none_or(|other| other.order != order) {
                let reached = &self.reached[coflow.index()];
                let thresholds_reached = match reached.binary_search_by_key(&load.link, |at| at.0) {
                    Ok(k) => reached[k].1,
                    Err(_) => 0,
                };
                seen.insert(place, Seen { coflow, order, thresholds_reached });
                self.touch(at);
            }
        }
    }

    /// Notes that a node must divide its links again.
    fn touch(&mut self, node: usize) {
        if !std::mem::replace(&mut self.nodes[node].is_stale, true) {
            self.stale.push(node);
        }
    }
}

/// What the node may see.
fn local_view(node: usize, now: Time, links: &[NodeLink]) -> LocalView<'_> {
    LocalView::new(NodeId(node as u32), now, links)
}

impl<P: LocalPolicy + Clone> Policy<NonClairvoyant> for Local<P>
where
    P::Message: 'static,
{
    fn wants(&self) -> Wants {
        Wants { port_drains: true, ..Wants::default() }
    }

    fn ranked_by(
        &self,
        flow: FlowId,
        link: LinkId,
        view: &View<'_, NonClairvoyant>,
    ) -> Vec<Criterion> {
        let (at, l) = home(link, view.fabric());
        let Some(node) = self.nodes.get(at) else { return Vec::new() };
        let seen = node.links[l].seen.iter().find(|seen| seen.coflow == flow.coflow);
        seen.map_or(Vec::new(), |seen| node.instance.ranked_by(seen))
    }

    fn link_thresholds(&self) -> &[f64] {
        &self.thresholds
    }

    fn coflow_arrived(&mut self, coflow: CoflowId, view: &View<'_, NonClairvoyant>) {
        self.reached.resize_with(view.slots(), Vec::new);
        self.reached[coflow.index()].clear();
        self.arrived.push(coflow);
        self.see(coflow, view);
    }

    fn coflow_ended(&mut self, coflow: CoflowId, _: &View<'_, NonClairvoyant>) {
        self.arrived.retain(|&arrived| arrived != coflow);
        self.ranks.leave(coflow);
    }

    fn flows_started(&mut self, coflow: CoflowId, view: &View<'_, NonClairvoyant>) {
        self.see(coflow, view);
    }

    fn port_drained(&mut self, coflow: CoflowId, link: LinkId, view: &View<'_, NonClairvoyant>) {
        let (at, l) = home(link, view.fabric());
        let node = &mut self.nodes[at];
        let seen = &mut node.links[l].seen;
        let Some(place) = seen.iter().position(|seen| seen.coflow == coflow) else { return };
        let seen = seen.remove(place);
        let mut others = node.links.iter().flat_map(|link| &link.seen);
        if others.all(|other| other.coflow != coflow) {
            node.instance.left(&seen, &local_view(at, view.now(), &node.links));
        }
        self.touch(at);
    }

    fn link_bytes_reached(
        &mut self,
        coflow: CoflowId,
        link: LinkId,
        _: f64,
        view: &View<'_, NonClairvoyant>,
    ) {
        let reached = &mut self.reached[coflow.index()];
        let k = reached.binary_search_by_key(&link, |at| at.0).unwrap_or_else(|k| {
            reached.insert(k, (link, 0));
            k
        });
        reached[k].1 += 1;
        let thresholds_reached = reached[k].1;
        let (at, l) = home(link, view.fabric());
        let node = &mut self.nodes[at];
        let mut all = node.links[l].seen.iter_mut();
        let Some(seen) = all.find(|seen| seen.coflow == coflow) else { return };
        seen.thresholds_reached = thresholds_reached;
        let seen = *seen;
        let mut outbox = Outbox::new(&mut self.sent);
        let local = local_view(at, view.now(), &node.links);
        node.instance.limit_reached(link, &seen, &local, &mut outbox);
        let (arrival, from) = (view.now() + self.latency_s, NodeId(at as u32));
        self.messages.extend(self.sent.drain(..).map(|message| (arrival, from, message)));
        self.touch(at);
    }

    fn woke(&mut self, view: &View<'_, NonClairvoyant>) {
        while self.messages.front().is_some_and(|(arrival, ..)| arrival.due(view.now())) {
            let Some((_, from, message)) = self.messages.pop_front() else { return };
            for at in (0..self.nodes.len()).filter(|&at| at != from.0 as usize) {
                let node = &mut self.nodes[at];
                let local = local_view(at, view.now(), &node.links);
                node.instance.received(from, &message, &local);
                self.touch(at);
            }
        }
    }

    fn plan(&mut self, view: &View<'_, NonClairvoyant>, plan: &mut Plan<NonClairvoyant>) -> Answer {
        plan.set_layers(Layers::PerPort);
        self.ranks.clear_left(plan);
        for coflow in self.arrived.drain(..) {
            let rank = Rank::new(0, 0.0, view.order(coflow));
            self.ranks.put(plan, coflow, rank, Share::MAX_MIN);
        }
        while let Some(at) = self.stale.pop() {
            let node = &mut self.nodes[at];
            node.is_stale = false;
            for link in &node.links {
                let local = local_view(at, view.now(), &node.links);
                self.parts.clear();
                node.instance.divide(link, &local, &mut self.parts);
                plan.divide_link(link.link, &self.parts);
            }
        }
        plan.clear_times();
        if let Some(&(arrival, ..)) = self.messages.front() {
            plan.wake_at(arrival);
        }
        Answer::Replaced
    }
}
