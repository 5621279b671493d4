//! What happened in a simulation, over time.

use covey_core::LinkId;

/// A time in which a coflow sends over a link at one rate.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Span {
    /// Index of the coflow in the workload.
    pub coflow: u32,
    /// The link out of the sending port, or into the receiving one.
    pub link: LinkId,
    /// Begin of the span, in seconds since the start of the trace.
    pub start_s: f64,
    /// End of the span, in seconds since the start of the trace.
    pub end_s: f64,
    /// Bytes per second, of all flows of the coflow over the link together.
    pub rate: f64,
}

/// From a time on, so many coflows are in each queue.
#[derive(Debug, Clone, PartialEq)]
pub struct QueueLengths {
    /// In seconds since the start of the trace.
    pub from_s: f64,
    /// By queue: coflows that the plan serves as a whole in the layer of this number.
    pub coflows: Vec<u32>,
}
