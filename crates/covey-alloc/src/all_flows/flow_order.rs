//! The order of all flows: which is served before which.

use covey_core::CoflowId;
use covey_core::OptionalIndex;
use covey_core::Ordered;
use covey_core::Time;

/// Which flow goes first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Precedence {
    /// The flow that joined first.
    #[default]
    Oldest,
    /// The flow with the fewest bytes left; ties: the one that joined first.
    Shortest,
}

/// A flow's priority: the lowest is served first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Priority {
    /// What decides.
    pub key: u64,
    /// The number under which the flow joined, from 1, which breaks ties.
    pub number: u64,
}

impl Priority {
    /// Behind all flows.
    pub const LAST: Priority = Priority { key: u64::MAX, number: u64::MAX };
}

/// A flow in the queue of those that use the same links, by its priority.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Member {
    /// Different for each flow.
    pub priority: Priority,
    pub coflow: CoflowId,
    pub position: u32,
    /// If the flow is the first of its queue and runs, its slot among those that run.
    pub slot: OptionalIndex,
    /// Bytes left when the flow last did not run.
    pub left: Ordered,
}

/// Gives flows their priorities.
#[derive(Debug, Clone, Copy, Default)]
pub struct FlowOrder {
    precedence: Precedence,
    /// Bytes left are compared in multiples of this ([`resolution`]).
    resolution: f64,
}

impl FlowOrder {
    /// The order for links of these capacities, in bytes per second.
    pub fn new(precedence: Precedence, capacity: &[f64]) -> FlowOrder {
        FlowOrder { precedence, resolution: resolution(capacity) }
    }

    /// Whether a flow's priority changes as it sends.
    pub fn changes(self) -> bool {
        self.precedence == Precedence::Shortest
    }

    /// The priority of a flow with so many bytes left, which joined under a number.
    pub fn priority(self, left: f64, number: u64) -> Priority {
        let key = match self.precedence {
            Precedence::Oldest => number,
            Precedence::Shortest => (left.max(0.0) / self.resolution).round_ties_even() as u64,
        };
        Priority { key, number }
    }
}

/// The power of two below what the fastest link carries in a nanosecond. Bytes left are compared in
/// multiples of this, as times so close count as one. Whole bytes stay whole below 8 Gbps.
fn resolution(capacity: &[f64]) -> f64 {
    let fastest = capacity.iter().copied().fold(f64::MIN_POSITIVE, f64::max);
    // 125 MB/s make an eighth of a byte, but for rounding.
    libm::exp2(libm::floor(libm::log2(fastest * Time::RESOLUTION_S * (1.0 + 1e-9))))
}
