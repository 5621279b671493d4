//! The errors of a simulation.

use covey_alloc::PlanError;
use thiserror::Error;

/// The reason that a simulation stopped early.
#[derive(Debug, Clone, PartialEq, Error)]
pub enum SimError {
    /// The workload uses ports that the fabric does not have.
    #[error("the workload has {workload} ports, the fabric only {fabric}")]
    Ports {
        /// Ports of the workload.
        workload: u32,
        /// Ports of the fabric.
        fabric: u32,
    },
    /// An `f64` does not tell times apart that differ by the time of the shortest flow.
    #[error(
        "the last flow starts {span_s} s after the origin, where 64-bit numbers of seconds are {resolution_s:.1e} s apart, and the shortest flow takes {shortest_s:.1e} s: expected a shorter trace (cut it into parts, each of which starts at its first arrival)"
    )]
    Resolution {
        /// Seconds from the origin of the workload to the last start of a flow.
        span_s: f64,
        /// Seconds from this time to the next `f64`.
        resolution_s: f64,
        /// Seconds that the shortest flow takes on the fastest link.
        shortest_s: f64,
    },
    /// Parents form a cycle, so these coflows can never start.
    #[error("coflow '{coflow}' waits for itself: its parents form a cycle")]
    Cycle {
        /// The trace's name for one of them.
        coflow: String,
    },
    /// The policy made a plan that cannot be executed.
    #[error("policy {policy}, at {time_s} s: the plan {source}")]
    Plan {
        /// The policy.
        policy: String,
        /// The time of the error, in seconds since the start of the trace.
        time_s: f64,
        /// The error of the plan.
        source: PlanError,
    },
    /// An event of the trace is about a link that the fabric does not have.
    #[error(
        "the trace has an event of link '{name}', which the fabric does not have: expected a name as `--per-link` writes it, such as '{example}'"
    )]
    Part {
        /// The name in the trace.
        name: String,
        /// A name in the fabric.
        example: String,
    },
    /// Coflows wait for hosts or links that do not return.
    #[error(
        "policy {policy}, at {time_s} s: {unfinished} of {coflows} coflows can never end, '{coflow}' is the first: it needs a host or a link that has failed and does not return"
    )]
    NeverReturns {
        /// The policy.
        policy: String,
        /// The time of the error, in seconds since the start of the trace.
        time_s: f64,
        /// Coflows that have not ended.
        unfinished: usize,
        /// All coflows of the workload.
        coflows: usize,
        /// The trace's name for the first of the coflows that wait for it.
        coflow: String,
    },
    /// The policy leaves a coflow without service for ever.
    #[error(
        "policy {policy}, at {time_s} s: coflow '{coflow}' has work left and is never served again"
    )]
    Stalled {
        /// The policy.
        policy: String,
        /// The time of the error, in seconds since the start of the trace.
        time_s: f64,
        /// The trace's name for the coflow.
        coflow: String,
    },
    /// The policy asks without end to be called at the present time.
    #[error(
        "policy {policy}, at {time_s} s: its wake-ups are due again at once, and no time passes: expected a wake-up later than now"
    )]
    StandsStill {
        /// The policy.
        policy: String,
        /// The time of the error, in seconds since the start of the trace.
        time_s: f64,
    },
    /// Not every flow has a description of how it appears, or there are too many of these.
    #[error("the workload has {workload} flows, {appearing} were said to appear")]
    Appearance {
        /// Flows of the workload.
        workload: usize,
        /// Descriptions of how flows appear.
        appearing: usize,
    },
    /// The observer asked to stop.
    #[error("interrupted")]
    Interrupted,
}
