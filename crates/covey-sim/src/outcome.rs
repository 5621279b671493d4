//! What a simulation found: when every coflow and every flow ended.

/// The result of simulating one workload under one policy.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Outcome {
    /// One for each coflow, in the order of the workload.
    pub coflows: Vec<CoflowOutcome>,
    /// Completion time of every flow in seconds since the start of the trace; the flows of the
    /// first coflow first, in the order of the workload.
    pub flow_completion_s: Vec<f64>,
    /// Start of every flow (its coflow's release plus its own offset), same order, seconds.
    pub flow_start_s: Vec<f64>,
    /// Moments at which rates were decided anew.
    pub events: u64,
    /// What compression did for each coflow; empty where nothing was compressed.
    pub compression: Vec<CompressionOutcome>,
}

/// What compression did for one coflow.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct CompressionOutcome {
    /// Bytes of the coflow that did not have to be sent.
    pub saved_bytes: f64,
    /// Seconds of whole processors that it took.
    pub cpu_s: f64,
}

/// What became of one coflow.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CoflowOutcome {
    /// When it could start: its arrival, or the end of its last parent if that is later. Seconds.
    pub release_s: f64,
    /// When its last flow ended, in seconds since the start of the trace.
    pub completion_s: f64,
}

impl CoflowOutcome {
    /// Coflow completion time in seconds: from release to the end of the last flow.
    pub fn cct_s(&self) -> f64 {
        self.completion_s - self.release_s
    }
}
