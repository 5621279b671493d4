//! The part of a host that keeps rates for the applications' sockets.

use std::collections::BTreeMap;

use covey_proto::{FlowName, Service};

use crate::progress::Ends;

/// Keeps the rates of flows outside their sockets, for example in the kernel's queues.
/// [`crate::Local`] does everything else: it tells applications what to send, and reports what they
/// send.
pub trait Shaper: Send {
    /// Brings the host up to date with `flows`. Called after each change, and before applications
    /// learn of it. A host that cannot keep a rate logs that; the flow is sent all the same.
    fn shape(&mut self, flows: &ShapedFlows);
}

/// The flows that a [`Shaper`] keeps to their rates.
#[derive(Debug, Clone, Default)]
pub struct ShapedFlows {
    /// The connections of open flows.
    pub ends: BTreeMap<FlowName, Ends>,
    /// The schedule in force.
    pub schedule: BTreeMap<FlowName, Service>,
    /// Whether there is a session with the coordinator. Without one, a flow without a rate is not
    /// held.
    pub joined: bool,
}
