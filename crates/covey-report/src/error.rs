//! Errors in the input of a report.

/// Why a report cannot be made.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// The outcome belongs to another workload: the numbers of coflows differ.
    #[error("the outcome has {found} coflows, the workload {expected}")]
    CoflowCount {
        /// Number of coflows of the workload.
        expected: usize,
        /// Number of coflows of the outcome.
        found: usize,
    },
    /// The outcome belongs to another workload: the numbers of flows differ.
    #[error("the outcome has {found} flows, the workload {expected}")]
    FlowCount {
        /// Number of flows of the workload.
        expected: usize,
        /// Number of flows of the outcome: the length of its first list of a wrong length.
        found: usize,
    },
    /// The comparison has no runs.
    #[error("there is no run to compare")]
    NoRuns,
    /// The baseline is not among the runs.
    #[error("the baseline is run {index}, but there are only {runs} runs (the first is 0)")]
    Baseline {
        /// The index of the requested baseline.
        index: usize,
        /// The number of runs.
        runs: usize,
    },
    /// Two runs have different workloads, so their coflows cannot be compared.
    #[error("`{label}` was run on another workload than `{first}`")]
    WorkloadsDiffer {
        /// The policy of the first run.
        first: String,
        /// The policy of the run on another workload.
        label: String,
    },
}
