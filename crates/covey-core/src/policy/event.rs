//! The events that a policy is told of.

use crate::plan::wakes::Wake;
use crate::values::ids::{CoflowId, FlowId, LinkId};

/// An event that a policy is told of.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Event {
    /// Flows have started that belong to no coflow. They are the last of
    /// [`View::newcomers`](crate::View::newcomers).
    FlowsArrived,
    /// A coflow has arrived and its first flows have started.
    CoflowArrived(CoflowId),
    /// More flows of a coflow that is present have started (a later wave).
    FlowsStarted(CoflowId),
    /// An unfinished flow has lost what it had sent, and begins again (a host has failed).
    FlowRestarted(FlowId),
    /// A flow has ended.
    FlowEnded(FlowId),
    /// An unfinished flow has left its coflow, with what it has sent.
    FlowMoved {
        /// The flow in the coflow that it has left. There it counts as ended, with what it has
        /// sent.
        from: FlowId,
        /// The same flow in the coflow that it has joined; `None` if it belongs to no coflow any
        /// more.
        to: Option<FlowId>,
    },
    /// A coflow has no unfinished flow at a link any more.
    PortDrained(CoflowId, LinkId),
    /// The last flow of a coflow has ended.
    CoflowEnded(CoflowId),
    /// A coflow has sent a number of bytes that the policy waits for.
    BytesReached(CoflowId, f64),
    /// The coflows of a DAG, named by its external id, have sent a number of bytes that the policy
    /// waits for.
    DagBytesReached(u64, f64),
    /// A coflow has sent one of the policy's limits, in bytes, through a link, or a number of bytes
    /// that the policy waits for there.
    LinkBytesReached(CoflowId, LinkId, f64),
    /// A flow of a coflow has sent a number of bytes that the policy waits for.
    FlowBytesReached(CoflowId, f64),
    /// A time that the policy waits for has come.
    Woke,
}

impl Event {
    /// The coflow that the event is about, if it is one coflow. A flow that moves is about the
    /// coflow that it leaves.
    pub fn coflow(&self) -> Option<CoflowId> {
        match *self {
            Event::CoflowArrived(id)
            | Event::FlowsStarted(id)
            | Event::PortDrained(id, _)
            | Event::CoflowEnded(id)
            | Event::BytesReached(id, _)
            | Event::LinkBytesReached(id, ..)
            | Event::FlowBytesReached(id, _) => Some(id),
            Event::FlowRestarted(flow)
            | Event::FlowEnded(flow)
            | Event::FlowMoved { from: flow, .. } => Some(flow.coflow),
            Event::FlowsArrived | Event::DagBytesReached(..) | Event::Woke => None,
        }
    }
}

/// A time or a number of bytes that the policy waited for has come.
impl From<Wake> for Event {
    fn from(wake: Wake) -> Event {
        match wake {
            Wake::At(_) => Event::Woke,
            Wake::WhenSent(id, bytes) => Event::BytesReached(id, bytes),
            Wake::WhenDagSent(external, bytes) => Event::DagBytesReached(external, bytes),
            Wake::WhenFlowSent(id, bytes) => Event::FlowBytesReached(id, bytes),
            Wake::WhenPassed(id, link, bytes) => Event::LinkBytesReached(id, link, bytes),
        }
    }
}
