//! What a live coordinator was measured to do.
//!
//! Nothing here runs one: that takes sockets and a clock, and is up to whoever has them.

/// A workload that is to be replayed against a live coordinator.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LiveRun {
    /// The scheduling interval δ in seconds: by it CPU is told, and at it agents report.
    pub interval_s: f64,
    /// Whether agents report what flows have sent in every interval, needed or not.
    pub reports_always: bool,
}

/// A mean and a standard deviation, in milliseconds.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Spread {
    /// The mean.
    pub mean_ms: f64,
    /// The standard deviation.
    pub deviation_ms: f64,
}

/// What was measured. What is not said to be something else is a number or a share by interval.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Live {
    /// How many intervals went by.
    pub intervals: f64,
    /// How many coflows were registered.
    pub coflows: f64,
    /// CPU of calculating rates, of making and handing over schedules, of taking over messages, and
    /// of all three.
    pub calculate: Spread,
    /// See `calculate`.
    pub send: Spread,
    /// See `calculate`.
    pub receive: Spread,
    /// See `calculate`.
    pub all: Spread,
    /// Intervals with more CPU than fits, and those in which no schedule was sent.
    pub missed: f64,
    /// See `missed`.
    pub unflushed: f64,
    /// Agents that reported the end of a flow, or bytes.
    pub agents_heard: f64,
    /// Messages with ends of flows, and with bytes sent.
    pub ends: f64,
    /// See `ends`.
    pub reports: f64,
    /// Schedules sent to agents.
    pub schedules: f64,
    /// Decisions: rates were calculated.
    pub decisions: f64,
    /// Upper end of the bucket of the 99th percentile of a decision's CPU, and of the CPU of making
    /// and handing over the schedules after it, in milliseconds.
    pub decide_p99_ms: f64,
    /// See `decide_p99_ms`.
    pub push_p99_ms: f64,
    /// CPU of the whole process, in cores.
    pub process_cpu: f64,
    /// By how much a coflow was registered too late at most, in seconds.
    pub late_s: f64,
    /// Agents whose connection was lost.
    pub agents_lost: u64,
}
