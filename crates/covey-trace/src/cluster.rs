//! What happens to the cluster while coflows are sent.

/// Something that happens at a time.
#[derive(Debug, Clone, PartialEq)]
pub struct ClusterEvent {
    /// When, in seconds, as arrivals are.
    pub at_s: f64,
    /// What happens.
    pub what: Happening,
}

/// What happens to the cluster.
#[derive(Debug, Clone, PartialEq)]
pub enum Happening {
    /// A host or a link carries nothing until it returns. Flows that need it wait.
    Fail {
        /// What fails.
        part: Part,
        /// Whether unfinished flows that need it lose what they have sent.
        loses: bool,
    },
    /// A host or a link carries flows again.
    Return {
        /// What returns.
        part: Part,
    },
    /// A flow begins again between other ports, with all of its bytes.
    Move {
        /// The flow.
        flow: FlowOf,
        /// The sending port from then on, if it is another one.
        src: Option<u32>,
        /// The receiving port from then on, if it is another one.
        dst: Option<u32>,
    },
    /// Nobody needs a flow any more: it ends with what it has sent.
    Cancel {
        /// The flow.
        flow: FlowOf,
    },
    /// A flow loses what it has sent, and begins again where it is.
    Restart {
        /// The flow.
        flow: FlowOf,
    },
}

/// A part of the network.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Part {
    /// A host: both links of a port.
    Host(u32),
    /// A link, by its name in the fabric.
    Link(String),
}

/// A flow of a workload.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct FlowOf {
    /// Index of its coflow in [`Workload::coflows`](crate::Workload::coflows).
    pub coflow: u32,
    /// Index in [`Coflow::flows`](crate::Coflow::flows).
    pub flow: u32,
}

impl Part {
    /// The name of the link, if it is one.
    pub fn link(&self) -> Option<&str> {
        match self {
            Part::Link(name) => Some(name),
            Part::Host(_) => None,
        }
    }
}

impl Happening {
    /// The part of the network that it happens to, if it is one.
    pub fn part(&self) -> Option<&Part> {
        match self {
            Happening::Fail { part, .. } | Happening::Return { part } => Some(part),
            Happening::Move { .. } | Happening::Cancel { .. } | Happening::Restart { .. } => None,
        }
    }

    /// The flow that it happens to, if it is one flow.
    pub fn flow(&self) -> Option<FlowOf> {
        match self {
            Happening::Move { flow, .. }
            | Happening::Cancel { flow }
            | Happening::Restart { flow } => Some(*flow),
            Happening::Fail { .. } | Happening::Return { .. } => None,
        }
    }

    /// The same, to give the flow another name.
    pub fn flow_mut(&mut self) -> Option<&mut FlowOf> {
        match self {
            Happening::Move { flow, .. }
            | Happening::Cancel { flow }
            | Happening::Restart { flow } => Some(flow),
            Happening::Fail { .. } | Happening::Return { .. } => None,
        }
    }
}
