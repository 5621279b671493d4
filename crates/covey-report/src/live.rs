//! What a live coordinator was measured to do.

/// A mean and a standard deviation, in milliseconds.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Spread {
    /// The mean.
    pub mean_ms: f64,
    /// The standard deviation.
    pub deviation_ms: f64,
}

/// A report on a coordinator while a workload was replayed, with scheduling intervals of a fixed
/// length. Unless a field says something else, it is a mean over the intervals.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Live {
    /// Number of intervals that went by.
    pub intervals: f64,
    /// Number of coflows registered, in all.
    pub coflows: f64,
    /// CPU time of calculating rates.
    pub calculate: Spread,
    /// CPU time of making schedules and handing them over.
    pub send: Spread,
    /// CPU time of taking over messages.
    pub receive: Spread,
    /// CPU time of all three together.
    pub all: Spread,
    /// Share of intervals that took more CPU time than they last.
    pub missed: f64,
    /// Share of intervals in which no schedule was sent.
    pub unflushed: f64,
    /// Number of agents that reported the end of a flow, or bytes.
    pub agents_heard: f64,
    /// Number of messages that report ends of flows.
    pub ends: f64,
    /// Number of messages that report bytes sent.
    pub reports: f64,
    /// Number of schedules sent to agents.
    pub schedules: f64,
    /// Number of decisions, each of which calculates rates.
    pub decisions: f64,
    /// Upper end, in milliseconds, of the histogram bucket with the 99th percentile of the CPU time of
    /// a decision.
    pub decide_p99_ms: f64,
    /// Upper end, in milliseconds, of the bucket with the 99th percentile of the CPU time of making and
    /// handing over the schedules after a decision.
    pub push_p99_ms: f64,
    /// CPU time of the whole process per second, in cores.
    pub process_cpu: f64,
    /// The longest delay of a registration behind its time in the trace, in seconds.
    pub late_s: f64,
    /// Number of agents whose connection was lost, in all.
    pub agents_lost: u64,
}
