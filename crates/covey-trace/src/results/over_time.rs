//! What happened in a simulation, over time.

/// A time in which a coflow sends out of a port at one rate.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Span {
    /// Index of the coflow in the workload.
    pub coflow: u32,
    /// The sending port.
    pub port: u32,
    /// Begin of the span, in seconds since the start of the trace.
    pub start_s: f64,
    /// End of the span, in seconds since the start of the trace.
    pub end_s: f64,
    /// Bytes per second, of all flows of the coflow out of the port together.
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
