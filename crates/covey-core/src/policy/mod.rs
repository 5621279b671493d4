//! The policy: events in, a plan out.

pub mod confidence;
pub mod criterion;
pub mod event;
pub mod knowledge;
pub mod local;
pub mod nearest;
pub mod promises;
pub mod regrouping;
pub mod view;

use crate::plan::Plan;
use crate::plan::wakes::Wake;
use crate::policy::confidence::Confidence;
use crate::policy::criterion::Criterion;
use crate::policy::event::Event;
use crate::policy::knowledge::{Clairvoyant, Knowledge, NonClairvoyant, Unlabelled};
use crate::policy::nearest::Nearest;
use crate::policy::regrouping::Regrouping;
use crate::policy::view::View;
use crate::values::ids::{CoflowId, FlowId, LinkId};
use crate::values::time::Time;

/// Which events a policy asks for, beyond arrivals and ends of coflows and its own wake-ups.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Wants {
    /// Tell [`Event::FlowEnded`] for every flow.
    pub flow_ends: bool,
    /// Tell [`Event::PortDrained`].
    pub port_drains: bool,
    /// Bring what coflows have sent up to date before every event. Live, agents then report bytes
    /// periodically; leave it unset where wake-ups will do.
    pub attained: bool,
    /// Bring what each flow has sent up to date for [`View::sent`], before wake-ups and for the
    /// coflows that the policy [names](Policy::reads_flows_of).
    pub progress: bool,
    /// The policy asks for the sizes of flows, but never for what is left of them. Drivers then
    /// need not keep that up to date: what a [`View`] says is left may be that of an earlier round.
    pub sizes_only: bool,
    /// The policy puts flows into groups of its own: ask for [`Policy::regroup`] before each plan.
    pub regroups: bool,
    /// Hosts may go on by themselves between two plans: when a flow ends, the next one in the order
    /// of layers, DAGs, depth and arrival that has the same receiver may have its rate. Live alone;
    /// a simulation plans at once.
    pub in_turn: bool,
    /// Bytes that a coflow may send at each host before a plan mentions its flows: its hosts decide
    /// on tiny coflows by themselves. Live alone; a simulated host has no other plan.
    pub start_small: u64,
    /// The policy groups only flows whose [`Observed::community`](crate::Observed::community) is
    /// known. Live, the others are left alone. A simulation has nobody who leaves flows alone:
    /// there each is in a group of its own.
    pub communities: bool,
}

/// Whether the plan has changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Answer {
    /// The plan in force stays, with the wake-ups that have not come yet and those that were added.
    Unchanged,
    /// The plan has changed, or was written again.
    Replaced,
}

/// A scheduling policy that knows what `K` grants: a deterministic state machine without clock,
/// I/O or threads. The same object runs in simulation and live; it cannot tell which.
///
/// In each scheduling round the driver first tells the policy all that has
/// happened, by [`Policy::event`], and then asks for the plan once. A policy overrides the handlers
/// of the events that it needs. A wrapper of another policy overrides [`Policy::event`] alone.
///
/// Between two plans the allocators share links again whenever a flow ends, in the order that the
/// plan in force gives.
pub trait Policy<K: Knowledge>: Send {
    /// Which further events to be told.
    fn wants(&self) -> Wants {
        Wants::default()
    }

    /// Why the policy has put a flow into its group, if it makes groups and the flow has another
    /// one near. Only people ask.
    fn why(&self, _flow: FlowId) -> Option<Nearest> {
        None
    }

    /// What the policy ranks a flow by at a link of its path, most important first: of two flows
    /// that meet there, the first criterion in which they differ says why one goes before the
    /// other. Empty if the policy does not rank, or does not say. Only people ask, after
    /// [`Policy::plan`].
    fn ranked_by(&self, _flow: FlowId, _link: LinkId, _view: &View<'_, K>) -> Vec<Criterion> {
        Vec::new()
    }

    /// How far the policy trusts the groups that it has made, if it makes groups. With too little,
    /// none of its plans is worth holding a flow for.
    fn confidence(&self) -> Option<Confidence> {
        None
    }

    /// Adds the coflows of which the policy reads by [`View::sent`] what each flow has sent, when
    /// it is told of a wake-up that has come. Of others that may be what it was in an earlier
    /// round. Asked if [`Wants::progress`], and before [`Policy::regroup`].
    fn reads_flows_of(&self, _wake: Wake, _now: Time, _coflows: &mut Vec<CoflowId>) {}

    /// Numbers of bytes, ascending, at which [`Event::LinkBytesReached`] is told.
    fn link_thresholds(&self) -> &[f64] {
        &[]
    }

    /// Something has happened. Calls the handler of the event unless overridden.
    fn event(&mut self, event: Event, view: &View<'_, K>) {
        match event {
            Event::FlowsArrived => self.flows_arrived(view),
            Event::CoflowArrived(id) => self.coflow_arrived(id, view),
            Event::FlowsStarted(id) => self.flows_started(id, view),
            Event::FlowRestarted(flow) => self.flow_restarted(flow, view),
            Event::FlowEnded(flow) => self.flow_ended(flow, view),
            Event::FlowMoved { from, to } => self.flow_moved(from, to, view),
            Event::PortDrained(id, link) => self.port_drained(id, link, view),
            Event::CoflowEnded(id) => self.coflow_ended(id, view),
            Event::BytesReached(id, bytes) => self.bytes_reached(id, bytes, view),
            Event::DagBytesReached(dag, bytes) => self.dag_bytes_reached(dag, bytes, view),
            Event::LinkBytesReached(id, link, bytes) => {
                self.link_bytes_reached(id, link, bytes, view);
            }
            Event::FlowBytesReached(id, bytes) => self.flow_bytes_reached(id, bytes, view),
            Event::Woke => self.woke(view),
        }
    }

    /// Flows have started that belong to no coflow: they are the last of [`View::newcomers`].
    fn flows_arrived(&mut self, _view: &View<'_, K>) {}

    /// A coflow has arrived and its first flows have started.
    fn coflow_arrived(&mut self, _coflow: CoflowId, _view: &View<'_, K>) {}

    /// More flows of a coflow that is present have started (a later wave).
    fn flows_started(&mut self, _coflow: CoflowId, _view: &View<'_, K>) {}

    /// An unfinished flow has lost what it had sent, and begins again (a host has failed).
    fn flow_restarted(&mut self, _flow: FlowId, _view: &View<'_, K>) {}

    /// A flow has ended; told if [`Wants::flow_ends`].
    fn flow_ended(&mut self, _flow: FlowId, _view: &View<'_, K>) {}

    /// An unfinished flow has left its coflow for another one, or for none. Unless overridden, this
    /// is the end of the flow `from`, with what it has sent, and the start of the flow `to`.
    fn flow_moved(&mut self, from: FlowId, to: Option<FlowId>, view: &View<'_, K>) {
        if self.wants().flow_ends {
            self.flow_ended(from, view);
        }
        if let Some(to) = to {
            self.flows_started(to.coflow, view);
        }
    }

    /// The coflow has no unfinished flow at a link any more; told if [`Wants::port_drains`].
    fn port_drained(&mut self, _coflow: CoflowId, _link: LinkId, _view: &View<'_, K>) {}

    /// The coflow's last flow has ended. It is no longer among [`View::coflows`]; its id will be
    /// used again.
    fn coflow_ended(&mut self, _coflow: CoflowId, _view: &View<'_, K>) {}

    /// The coflow has sent `bytes`, as [`Plan::wake_when_sent`] asked.
    fn bytes_reached(&mut self, _coflow: CoflowId, _bytes: f64, _view: &View<'_, K>) {}

    /// The coflows of a DAG have sent `bytes`, as [`Plan::wake_when_dag_sent`] asked.
    fn dag_bytes_reached(&mut self, _external: u64, _bytes: f64, _view: &View<'_, K>) {}

    /// What the coflow has sent through `link` has reached `bytes`: the next of
    /// [`Policy::link_thresholds`], or what [`Plan::wake_when_passed`] asked for.
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

    /// A time given to [`Plan::wake_at`] has come.
    fn woke(&mut self, _view: &View<'_, K>) {}

    /// Puts flows into groups of its own making, before the plan is made; asked if
    /// [`Wants::regroups`]. To the policy, a group is a coflow from then on. Before this call, what
    /// each flow has sent is brought up to date for the coflows that [`Policy::reads_flows_of`]
    /// names at a [`Wake::At`] of the present time.
    fn regroup(&mut self, _view: &View<'_, K>, _regrouping: &mut Regrouping) {}

    /// The flows that [`Policy::regroup`] has moved, as they are called now, in the order in which
    /// it named them. Of flows that have moved, [`View::sent`] is up to date. There is no other
    /// event about them, but [`Event::CoflowEnded`] tells of groups that they have left empty.
    fn regrouped(&mut self, _flows: &[FlowId], _view: &View<'_, K>) {}

    /// Leaves `plan` as it is, except for wake-ups that it may add; or changes it; or clears it and
    /// writes it again.
    fn plan(&mut self, view: &View<'_, K>, plan: &mut Plan<K>) -> Answer;
}

/// A policy of any level of knowledge.
pub enum AnyPolicy {
    /// Knows sizes.
    Clairvoyant(Box<dyn Policy<Clairvoyant>>),
    /// Does not know sizes.
    NonClairvoyant(Box<dyn Policy<NonClairvoyant>>),
    /// Knows neither sizes nor coflows.
    Unlabelled(Box<dyn Policy<Unlabelled>>),
}

impl AnyPolicy {
    /// The word for its level of knowledge in lists of policies.
    pub fn knows(&self) -> &'static str {
        match self {
            AnyPolicy::Clairvoyant(_) => Clairvoyant::NAME,
            AnyPolicy::NonClairvoyant(_) => NonClairvoyant::NAME,
            AnyPolicy::Unlabelled(_) => Unlabelled::NAME,
        }
    }

    /// Which further events it asks for.
    pub fn wants(&self) -> Wants {
        match self {
            AnyPolicy::Clairvoyant(policy) => policy.wants(),
            AnyPolicy::NonClairvoyant(policy) => policy.wants(),
            AnyPolicy::Unlabelled(policy) => policy.wants(),
        }
    }
}
