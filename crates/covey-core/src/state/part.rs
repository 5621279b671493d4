//! A part of the network.

use crate::values::ids::CoflowId;

/// What [`State::swap`](super::State::swap) exchanges: a network for some of the coflows.
#[derive(Debug, Default)]
pub struct Part {
    /// Bytes per second of each link.
    pub capacity: Vec<f64>,
    /// Coflows, in the order of [`State::order`](super::State::order).
    pub present: Vec<CoflowId>,
}
