//! The results of a simulation: the ends of all coflows and flows.

/// The result of simulating one workload under one policy.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Outcome {
    /// The outcome of each coflow, in the order of the workload.
    pub coflows: Vec<CoflowOutcome>,
    /// Completion time of every flow in seconds since the start of the trace; the flows of the
    /// first coflow first, in the order of the workload.
    pub flow_completion_s: Vec<f64>,
    /// Start of every flow (its coflow's release plus its own offset), same order, seconds.
    pub flow_start_s: Vec<f64>,
    /// Number of times at which rates were decided again.
    pub events: u64,
    /// The effect of compression on each coflow; empty if nothing was compressed.
    pub compression: Vec<CompressionOutcome>,
    /// Bytes of each coflow that were sent for nothing: by flows that were cancelled, moved or
    /// restarted; empty if there are none.
    pub wasted_bytes: Vec<f64>,
    /// Numbers of flows that were cancelled, among all flows in the order of the workload,
    /// ascending.
    pub cancelled: Vec<usize>,
    /// Whether the policy compresses flows, and they were sent as they are because the workload has
    /// events.
    pub left_uncompressed: bool,
}

impl Outcome {
    /// Indices of the coflows with the longest completion times, the longest first; ties in order
    /// of the trace.
    pub fn slowest(&self, count: usize) -> Vec<u32> {
        let mut all: Vec<(f64, u32)> =
            self.coflows.iter().map(CoflowOutcome::cct_s).zip(0..).collect();
        all.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
        all.into_iter().take(count).map(|(_, index)| index).collect()
    }
}

/// The effect of compression on one coflow.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct CompressionOutcome {
    /// Bytes of the coflow that compression saved.
    pub saved_bytes: f64,
    /// Seconds of whole processors that compression took.
    pub cpu_s: f64,
}

/// The outcome of one coflow.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CoflowOutcome {
    /// Release in seconds since the start of the trace: the coflow's arrival, or the end of its
    /// last parent if that is later.
    pub release_s: f64,
    /// End of its last flow, in seconds since the start of the trace; a flow that is cancelled ends
    /// then.
    pub completion_s: f64,
}

impl CoflowOutcome {
    /// Coflow completion time in seconds: from release to the end of the last flow.
    pub fn cct_s(&self) -> f64 {
        self.completion_s - self.release_s
    }
}
