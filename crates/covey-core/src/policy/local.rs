//! Policies without a coordinator: each node has an instance, which knows what passes through that
//! node.
//!
//! A node is a host, which owns the two links of its port, or an output port of a switch, which
//! owns the link that leaves it. A [`LocalPolicy`] divides the links of its node among the coflows
//! that have flows there. It sees these coflows, when they arrived, and how much of each has passed
//! through the link. It learns everything else by [messages](Outbox), which take time. A
//! [`LocalView`] holds nothing more, so that a local policy cannot look at the network:
//!
//! ```compile_fail
//! use covey_core::{CoflowId, LocalView};
//! fn peek(view: &LocalView<'_>, coflow: CoflowId) -> f64 {
//!     view.attained(coflow).bytes // no such method: no node knows what passes through the others
//! }
//! ```
//!
//! [`Layers::PerPort`](crate::Layers::PerPort) says how the nodes on the path of a flow agree on
//! its rate.

use crate::policy::criterion::Criterion;
use crate::values::ids::{CoflowId, LinkId};
use crate::values::time::Time;

/// A node that decides by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NodeId(pub u32);

/// A coflow with unfinished flows at a link, as the node sees it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Seen {
    /// Its id while it is present; ids of ended coflows are used again.
    pub coflow: CoflowId,
    /// Arrival, and serial number of the registration. No other coflow has the same, and all nodes
    /// with flows of the coflow know it.
    pub order: (Time, u64),
    /// How many of [`LocalPolicy::thresholds`] its bytes through this link have reached.
    pub thresholds_reached: usize,
}

/// What a node sees at one of its links.
#[derive(Debug, Clone, PartialEq)]
pub struct NodeLink {
    /// The link.
    pub link: LinkId,
    /// Coflows with unfinished flows there, in order of arrival.
    pub seen: Vec<Seen>,
}

/// What a node knows.
#[derive(Debug, Clone, Copy)]
pub struct LocalView<'a> {
    node: NodeId,
    now: Time,
    links: &'a [NodeLink],
}

impl<'a> LocalView<'a> {
    /// What an adapter shows to the instance of `node`.
    pub fn new(node: NodeId, now: Time, links: &'a [NodeLink]) -> LocalView<'a> {
        LocalView { node, now, links }
    }

    /// The node.
    pub fn node(&self) -> NodeId {
        self.node
    }

    /// The present time.
    pub fn now(&self) -> Time {
        self.now
    }

    /// The node's links, with the coflows there.
    pub fn links(&self) -> &'a [NodeLink] {
        self.links
    }
}

/// Messages to all other nodes. They arrive later.
#[derive(Debug)]
pub struct Outbox<'a, M> {
    messages: &'a mut Vec<M>,
}

impl<'a, M> Outbox<'a, M> {
    /// Collects in `messages` what is sent.
    pub fn new(messages: &'a mut Vec<M>) -> Outbox<'a, M> {
        Outbox { messages }
    }

    /// Sends a message to all other nodes.
    pub fn tell_all(&mut self, message: M) {
        self.messages.push(message);
    }
}

/// A scheduling policy of one node: a deterministic state machine like [`Policy`](crate::Policy).
pub trait LocalPolicy: Send {
    /// What nodes tell each other.
    type Message: Clone + Send;

    /// Numbers of bytes, ascending: the node is told when what has passed of a coflow through one
    /// of its links reaches one of them.
    fn thresholds(&self) -> &[f64];

    /// The bytes of a coflow that have passed a link have reached the next threshold.
    fn limit_reached(
        &mut self,
        _link: LinkId,
        _seen: &Seen,
        _view: &LocalView<'_>,
        _outbox: &mut Outbox<'_, Self::Message>,
    ) {
    }

    /// A message of another node has arrived.
    fn received(&mut self, _from: NodeId, _message: &Self::Message, _view: &LocalView<'_>) {}

    /// A coflow has ended at the node: it has no unfinished flow at any link.
    fn left(&mut self, _seen: &Seen, _view: &LocalView<'_>) {}

    /// What the node ranks a coflow by, as [`Policy::ranked_by`](crate::Policy::ranked_by).
    fn ranked_by(&self, _seen: &Seen) -> Vec<Criterion> {
        Vec::new()
    }

    /// Divides one of the node's links: adds to `parts` the coflows that are to get a part of it,
    /// and the share of its capacity that each gets; in sum at most 1.
    fn divide(&mut self, link: &NodeLink, view: &LocalView<'_>, parts: &mut Vec<(CoflowId, f64)>);
}
