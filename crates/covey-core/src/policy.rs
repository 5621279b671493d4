//! The policy: events in, a plan out.

use crate::codec::Codec;
use crate::ids::{CoflowId, FlowId, LinkId};
use crate::plan::Plan;
use crate::view::{Clairvoyant, Knowledge, NonClairvoyant, View};

/// Which events a policy asks for, beyond arrivals and ends of coflows and its own wake-ups.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Wants {
    /// Call [`Policy::flow_ended`] for every flow.
    pub flow_ends: bool,
    /// Call [`Policy::port_drained`].
    pub port_drains: bool,
    /// Bring what coflows have sent up to date before every call. Live, agents then report bytes
    /// periodically; leave it unset where wake-ups will do.
    pub attained: bool,
    /// The policy never asks what is left of flows, only how large they are, so that drivers need not
    /// keep it up to date: what a [`View`] says is left is then that of an earlier moment.
    pub sizes_only: bool,
}

/// What a policy promises with the parameters it has, for tests that hold it to that.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Promises {
    /// No flow waits while all its links have capacity to spare.
    pub conserves_work: bool,
    /// A coflow ends however many others come after it, at links that can carry them.
    pub starves_nobody: bool,
    /// What happens at a node depends on what has passed through it alone.
    pub is_local: bool,
}

/// Whether the plan has changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Answer {
    /// The plan in force stays, with the wake-ups that have not come yet and those that were added.
    Unchanged,
    /// The plan was made anew.
    Replaced,
}

/// A scheduling policy that knows what `K` grants: a deterministic state machine without clock,
/// I/O or threads. The same object is driven in simulation and live; it cannot tell which.
///
/// At each moment the driver first tells all that happened (the named handlers, which do nothing
/// unless overridden) and then asks for the plan once.
///
/// Between two plans the allocators re-share by themselves whenever a flow ends, in the order that
/// the plan in force gives.
pub trait Policy<K: Knowledge>: Send {
    /// Which further events to be told.
    fn wants(&self) -> Wants {
        Wants::default()
    }

    /// What it promises; nothing unless overridden.
    fn promises(&self) -> Promises {
        Promises::default()
    }

    /// A coflow has arrived and its first flows have started.
    fn coflow_arrived(&mut self, _coflow: CoflowId, _view: &View<'_, K>) {}

    /// More flows of a coflow that is present have started (a later wave).
    fn flows_started(&mut self, _coflow: CoflowId, _view: &View<'_, K>) {}

    /// What an unfinished flow had sent is lost, and it has begun anew (a host has failed).
    fn flow_restarted(&mut self, _flow: FlowId, _view: &View<'_, K>) {}

    /// A flow has ended; told if [`Wants::flow_ends`].
    fn flow_ended(&mut self, _flow: FlowId, _view: &View<'_, K>) {}

    /// The coflow has no unfinished flow at a link any more; told if [`Wants::port_drains`].
    fn port_drained(&mut self, _coflow: CoflowId, _link: LinkId, _view: &View<'_, K>) {}

    /// The coflow's last flow has ended. It is no longer among [`View::coflows`]; its number will
    /// be used again.
    fn coflow_ended(&mut self, _coflow: CoflowId, _view: &View<'_, K>) {}

    /// The coflow has sent `bytes`, as [`Plan::wake_when_sent`] asked.
    fn bytes_reached(&mut self, _coflow: CoflowId, _bytes: f64, _view: &View<'_, K>) {}

    /// The coflows of a DAG have sent `bytes`, as [`Plan::wake_when_dag_sent`] asked.
    fn dag_bytes_reached(&mut self, _external: u64, _bytes: f64, _view: &View<'_, K>) {}

    /// Numbers of bytes, ascending, at which [`Policy::link_bytes_reached`] is called.
    fn link_limits(&self) -> &[f64] {
        &[]
    }

    /// What the coflow has sent through `link` has reached `bytes`, the next of
    /// [`Policy::link_limits`].
    fn link_bytes_reached(
        &mut self,
        _coflow: CoflowId,
        _link: LinkId,
        _bytes: f64,
        _view: &View<'_, K>,
    ) {
    }

    /// A flow of the coflow has sent `bytes`, as [`Plan::wake_when_flow_sent`] asked.
    fn flow_bytes_reached(&mut self, _coflow: CoflowId, _bytes: f64, _view: &View<'_, K>) {}

    /// The compressor that the policy asks for is so fast and makes flows so small on the hosts there are,
    /// whatever it was taken for before. A policy that compresses nothing does not care.
    fn codec_measured(&mut self, _codec: Codec) {}

    /// A time given to [`Plan::wake_at`] has come.
    fn woke(&mut self, _view: &View<'_, K>) {}

    /// Leaves `plan` as it is, but for wake-ups that it may add; or clears it and makes it anew.
    fn plan(&mut self, view: &View<'_, K>, plan: &mut Plan<K>) -> Answer;
}

/// A policy of any level of knowledge.
pub enum AnyPolicy {
    /// Knows sizes.
    Clairvoyant(Box<dyn Policy<Clairvoyant>>),
    /// Does not know sizes.
    NonClairvoyant(Box<dyn Policy<NonClairvoyant>>),
}

impl AnyPolicy {
    /// See [`Policy::promises`].
    pub fn promises(&self) -> Promises {
        match self {
            AnyPolicy::Clairvoyant(policy) => policy.promises(),
            AnyPolicy::NonClairvoyant(policy) => policy.promises(),
        }
    }

    /// See [`Policy::codec_measured`].
    pub fn codec_measured(&mut self, codec: Codec) {
        match self {
            AnyPolicy::Clairvoyant(policy) => policy.codec_measured(codec),
            AnyPolicy::NonClairvoyant(policy) => policy.codec_measured(codec),
        }
    }

    /// The word for its level of knowledge in lists of policies.
    pub fn knows(&self) -> &'static str {
        match self {
            AnyPolicy::Clairvoyant(_) => Clairvoyant::NAME,
            AnyPolicy::NonClairvoyant(_) => NonClairvoyant::NAME,
        }
    }
}
