//! One line of a plan: which flows are served, and by which rule they share.

use std::marker::PhantomData;

use crate::policy::knowledge::Clairvoyant;
use crate::values::ids::{CoflowId, FlowId, LinkId};

/// Which flows an entry is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Group {
    /// Every flow present, of whatever coflow; must be the only entry of its plan.
    AllFlows,
    /// All flows of a coflow.
    Coflow(CoflowId),
    /// The flows of a coflow that cross one link: with a port's egress or ingress link, the coflow
    /// at that port.
    CoflowAt(CoflowId, LinkId),
    /// A single flow.
    Flow(FlowId),
}

/// How the flows of a group share what the groups before it leave.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Rule {
    /// Exact max-min fairness: [`Share::MAX_MIN`].
    MaxMin,
    /// One pass of equal shares: [`Share::EQUAL`].
    Equal,
    /// One rate for all flows, or nothing: [`Share::ALL_OR_NONE`].
    AllOrNone,
    /// One flow at a time takes its links: [`Share::MATCHING`].
    Matching,
    /// A matching, most loaded ports first: [`Share::MATCHING_BY_LOAD`].
    MatchingByLoad,
    /// All flows end together: [`Share::MADD`].
    Madd,
    /// All flows end together after so many seconds: [`Share::madd_within`].
    MaddWithin(f64),
    /// Max-min fairness in proportion to bytes left: [`Share::PROPORTIONAL`].
    Proportional,
    /// Links are divided in proportion to sizes: [`Share::BY_SIZE`].
    BySize,
    /// Flows in order of their starts: [`Share::OLDEST_FIRST`].
    OldestFirst,
    /// Flows with fewest bytes left first: [`Share::SHORTEST_FIRST`].
    ShortestFirst,
    /// A rate for each flow, in bytes per second: [`Share::rate`].
    Rate(f64),
    /// Nothing: [`Share::HOLD`].
    Hold,
}

/// A [`Rule`] that a policy with knowledge `K` may ask for.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Share<K> {
    pub(super) rule: Rule,
    knowledge: PhantomData<K>,
}

impl<K> Share<K> {
    const fn of(rule: Rule) -> Share<K> {
        Share { rule, knowledge: PhantomData }
    }

    /// Exact max-min fairness among the flows of the group.
    pub const MAX_MIN: Share<K> = Share::of(Rule::MaxMin);
    /// One pass of equal shares. At each link a flow is offered what is free there, divided by the
    /// number of the group's flows there that can send at all. It gets the least of these offers.
    pub const EQUAL: Share<K> = Share::of(Rule::Equal);
    /// The same rate for every flow, the largest that fits; nothing if a link that the group needs
    /// is full (Saath). It is the rate of the slowest flow under max-min fairness (Philae §4.5).
    pub const ALL_OR_NONE: Share<K> = Share::of(Rule::AllOrNone);
    /// One flow at a time takes all that is free on its links; flows that are running go first.
    pub const MATCHING: Share<K> = Share::of(Rule::Matching);
    /// As [`Share::MATCHING`], with the ports that have most flows left first: senders by their
    /// number of unfinished flows, and each sender to the receiver with most of them.
    pub const MATCHING_BY_LOAD: Share<K> = Share::of(Rule::MatchingByLoad);
    /// Each flow takes all that is free on its links. Flows go in order of their starts, ties in
    /// order of the arrival of their coflows and of their registration. For [`Group::AllFlows`].
    pub const OLDEST_FIRST: Share<K> = Share::of(Rule::OldestFirst);
    /// Nothing, not even by backfill.
    pub const HOLD: Share<K> = Share::of(Rule::Hold);

    /// Exactly this rate, in bytes per second, for each flow of the group. A rate that does not fit
    /// is an error of the policy.
    pub const fn rate(bytes_per_s: f64) -> Share<K> {
        Share::of(Rule::Rate(bytes_per_s))
    }
}

impl Share<Clairvoyant> {
    /// Minimum allocation for desired duration: rates in proportion to bytes left, so that all
    /// flows end together and no earlier than the bottleneck allows (Varys §5.2). A coflow gets
    /// nothing if a link it needs is full.
    pub const MADD: Share<Clairvoyant> = Share::of(Rule::Madd);
    /// Max-min fairness in proportion to bytes left: as [`Share::MADD`], but a flow that misses the
    /// bottleneck takes what its own links have left, and so on from bottleneck to bottleneck.
    /// Nothing that the coflow could use stays idle, and flows with the same bottleneck end
    /// together.
    pub const PROPORTIONAL: Share<Clairvoyant> = Share::of(Rule::Proportional);
    /// Each link is divided in proportion to the flows' sizes: at each link a flow is offered the
    /// capacity times its size, divided by the sizes of all flows there. It gets the least of these
    /// offers. Capacity that a flow cannot use stays idle. For [`Group::AllFlows`].
    pub const BY_SIZE: Share<Clairvoyant> = Share::of(Rule::BySize);
    /// Each flow takes all that is free on its links. Flows go in order of bytes left, fewest
    /// first, ties as with [`Share::OLDEST_FIRST`]. For [`Group::AllFlows`].
    pub const SHORTEST_FIRST: Share<Clairvoyant> = Share::of(Rule::ShortestFirst);

    /// As [`Share::MADD`], but no faster than is needed for all flows to end after so many seconds,
    /// counted from when rates are shared; the rest is left to others (Varys §5.3). A policy that
    /// asks for this rule writes its plan again whenever a flow starts or ends.
    pub const fn madd_within(seconds: f64) -> Share<Clairvoyant> {
        Share::of(Rule::MaddWithin(seconds))
    }
}

/// How the layers of a plan share the links.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Layers {
    /// A layer gets what the layers before it leave.
    #[default]
    Strict,
    /// At each link, a layer gets a share of the remaining capacity: its weight, divided by the sum
    /// of the weights of this layer and of the later layers with flows there. The last of them gets
    /// all that remains. So each layer is offered at least its weight's share of the link. Capacity
    /// that a layer cannot use goes to the layers after it, and by [`Backfill`] to those before it.
    Weighted,
    /// Each node has divided its links among coflows
    /// ([`Plan::set_link_share`](crate::Plan::set_link_share)): a port its two links, a switch the
    /// links that leave it. A coflow is served from its own shares alone, so that a flow gets no
    /// more than every link of its path gives it. Capacity that is not used in this way is offered
    /// to all coflows in order, whatever [`Backfill`] says. All entries are for whole coflows.
    PerPort,
    /// Each layer is a class, as a queue of a switch is: all flows of its groups share max-min
    /// together, flow by flow, on every link of their paths. A class gets what the classes before
    /// it leave. Every rule is [`Share::MAX_MIN`]. A flow belongs to the first entry that names it;
    /// a flow that no entry names gets nothing. [`Backfill`] is not needed: max-min fairness leaves
    /// nothing that a flow could use.
    Classes,
}

/// What becomes of capacity that no entry has taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Backfill {
    /// It stays idle.
    #[default]
    None,
    /// It is offered to all coflow entries in order. Each shares again what it has together with
    /// what is left, so that nothing it could use stays idle: by [`Share::PROPORTIONAL`] after
    /// MADD, by [`Share::MAX_MIN`] after [`Share::EQUAL`] and [`Share::ALL_OR_NONE`] (by
    /// [`Share::MATCHING`] where all-or-none has given nothing), else by its own rule. No flow of
    /// MADD or of equal rates gets less by it. Coflows that matching has served, explicit rates and
    /// held coflows stay as they are.
    Greedy,
    /// The same, but only coflow entries that have got nothing are offered it.
    Skipped,
}

/// One line of a plan.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Entry {
    /// The flows that are served.
    pub group: Group,
    /// How the group's flows share.
    pub rule: Rule,
    /// Number of its layer, from 0; also its class in a world that has only priorities.
    pub layer: u32,
    /// How its flows are compressed: an index of
    /// [`Ranking::compressions`](crate::Ranking::compressions).
    pub compressed: Option<u16>,
}
