//! Runs a [`LocalPolicy`] in the simulator: one instance a node, each of which sees only its node.
//!
//! The adapter stands for the network between the nodes. It tells a node what happens at its two links,
//! carries messages, which take `latency_s`, and writes the nodes' divisions of their links into one plan ([`Layers::PerPort`]). If a coflow cannot use its share of a link, other coflows take it
//! in order of arrival, as flows under congestion control would.

use std::collections::VecDeque;

use covey_core::{
    Answer, CoflowId, End, Group, Layers, LinkId, LocalPolicy, LocalView, NonClairvoyant, Outbox,
    Plan, Policy, PortId, Seen, Share, Time, View, Wants,
};

const ENDS: [End; 2] = [End::Egress, End::Ingress];

/// One node: its instance, and what it may see.
struct Node<P> {
    instance: P,
    /// Coflows with unfinished flows at the egress link and at the ingress link.
    seen: [Vec<Seen>; 2],
    /// How the node divides its egress link and its ingress link.
    parts: [Vec<(CoflowId, f64)>; 2],
    /// Whether the node must divide its links again.
    stale: bool,
}

/// All nodes, as a policy for the network.
pub(crate) struct Local<P: LocalPolicy> {
    /// What every node starts as.
    start: P,
    limits: Vec<f64>,
    latency_s: f64,
    nodes: Vec<Node<P>>,
    /// By coflow, the links where limits have been reached, ascending, and how many: later waves go on
    /// counting.
    reached: Vec<Vec<(LinkId, usize)>>,
    /// Messages under way, in order of arrival: when, and from whom.
    messages: VecDeque<(Time, PortId, P::Message)>,
    sent: Vec<P::Message>,
}

impl<P: LocalPolicy + Clone> Local<P> {
    /// Nodes that all start as `start`; messages take `latency_s` seconds.
    pub(crate) fn new(start: P, latency_s: f64) -> Local<P> {
        Local {
            limits: start.limits().to_vec(),
            start,
            latency_s,
            nodes: Vec::new(),
            reached: Vec::new(),
            messages: VecDeque::new(),
            sent: Vec::new(),
        }
    }

    fn see(&mut self, coflow: CoflowId, view: &View<'_, NonClairvoyant>) {
        let start = &self.start;
        self.nodes.resize_with(view.fabric().ports() as usize, || Node {
            instance: start.clone(),
            seen: Default::default(),
            parts: Default::default(),
            stale: false,
        });
        let order = view.order(coflow);
        for load in view.loads(coflow).filter(|load| load.unfinished > 0) {
            let Some((port, end)) = end_of(load.link, view) else { continue };
            let node = &mut self.nodes[port];
            let seen = &mut node.seen[end];
            let at = seen.partition_point(|other| other.order < order);
            if seen.get(at).is_none_or(|other| other.order != order) {
                let reached = &self.reached[coflow.index()];
                let limits_reached = match reached.binary_search_by_key(&load.link, |at| at.0) {
                    Ok(k) => reached[k].1,
                    Err(_) => 0,
                };
                seen.insert(at, Seen { coflow, order, limits_reached });
                node.stale = true;
            }
        }
    }
}

/// The port and end (0: egress) that a link belongs to, if it is not inside the fabric.
fn end_of(link: LinkId, view: &View<'_, NonClairvoyant>) -> Option<(usize, usize)> {
    let ports = view.fabric().ports() as usize;
    let end = link.index() / ports;
    (end < 2).then_some((link.index() % ports, end))
}

/// What the node at `port` may see.
fn local_view(port: usize, now: Time, seen: &[Vec<Seen>; 2]) -> LocalView<'_> {
    LocalView::new(PortId(port as u32), now, [&seen[0], &seen[1]])
}

impl<P: LocalPolicy + Clone> Policy<NonClairvoyant> for Local<P>
where
    P::Message: 'static,
{
    fn wants(&self) -> Wants {
        Wants { port_drains: true, ..Wants::default() }
    }

    fn link_limits(&self) -> &[f64] {
        &self.limits
    }

    fn coflow_arrived(&mut self, coflow: CoflowId, view: &View<'_, NonClairvoyant>) {
        self.reached.resize_with(view.slots(), Vec::new);
        self.reached[coflow.index()].clear();
        self.see(coflow, view);
    }

    fn flows_started(&mut self, coflow: CoflowId, view: &View<'_, NonClairvoyant>) {
        self.see(coflow, view);
    }

    fn port_drained(&mut self, coflow: CoflowId, link: LinkId, view: &View<'_, NonClairvoyant>) {
        let Some((port, end)) = end_of(link, view) else { return };
        let node = &mut self.nodes[port];
        let Some(at) = node.seen[end].iter().position(|seen| seen.coflow == coflow) else { return };
        let seen = node.seen[end].remove(at);
        node.stale = true;
        if node.seen[1 - end].iter().all(|other| other.coflow != coflow) {
            let local = local_view(port, view.now(), &node.seen);
            node.instance.left(&seen, &local);
        }
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
        let limits_reached = reached[k].1;
        let Some((port, end)) = end_of(link, view) else { return };
        let node = &mut self.nodes[port];
        let Some(at) = node.seen[end].iter().position(|seen| seen.coflow == coflow) else { return };
        node.seen[end][at].limits_reached = limits_reached;
        node.stale = true;
        let seen = node.seen[end][at];
        let local = local_view(port, view.now(), &node.seen);
        let mut outbox = Outbox::new(&mut self.sent);
        node.instance.limit_reached(ENDS[end], &seen, &local, &mut outbox);
        let (arrival, from) = (view.now() + self.latency_s, PortId(port as u32));
        self.messages.extend(self.sent.drain(..).map(|message| (arrival, from, message)));
    }

    fn woke(&mut self, view: &View<'_, NonClairvoyant>) {
        while self.messages.front().is_some_and(|(arrival, ..)| arrival.due(view.now())) {
            let Some((_, from, message)) = self.messages.pop_front() else { return };
            for (port, node) in self.nodes.iter_mut().enumerate() {
                if port != from.index() {
                    node.stale = true;
                    let local = local_view(port, view.now(), &node.seen);
                    node.instance.received(from, &message, &local);
                }
            }
        }
    }

    fn plan(&mut self, view: &View<'_, NonClairvoyant>, plan: &mut Plan<NonClairvoyant>) -> Answer {
        plan.clear();
        plan.set_layers(Layers::PerPort);
        for &coflow in view.coflows() {
            plan.push(Group::Coflow(coflow), Share::MAX_MIN);
        }
        let ports = view.fabric().ports();
        for (port, node) in self.nodes.iter_mut().enumerate() {
            if std::mem::take(&mut node.stale) {
                for (end, of) in ENDS.into_iter().enumerate() {
                    let local = local_view(port, view.now(), &node.seen);
                    node.parts[end].clear();
                    node.instance.divide(of, &local, &mut node.parts[end]);
                }
            }
        }
        // In the order of links.
        for (end, first) in [0, ports].into_iter().enumerate() {
            for (port, node) in self.nodes.iter().enumerate() {
                for &(coflow, share) in &node.parts[end] {
                    plan.set_link_share(coflow, LinkId(first + port as u32), share);
                }
            }
        }
        if let Some(&(arrival, ..)) = self.messages.front() {
            plan.wake_at(arrival);
        }
        Answer::Replaced
    }
}
