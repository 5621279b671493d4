//! What can be wrong with the input of a report.

/// Why a report cannot be made.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// The outcome is of another workload: the numbers of coflows differ.
    #[error("the outcome has {found} coflows, the workload {expected}")]
    CoflowCount {
        /// Coflows of the workload.
        expected: usize,
        /// Coflows of the outcome.
        found: usize,
    },
    /// The outcome is of another workload: the numbers of flows differ.
    #[error("the outcome has {found} flows, the workload {expected}")]
    FlowCount {
        /// Flows of the workload.
        expected: usize,
        /// Flows of the outcome: the first of its lists that has the wrong length.
        found: usize,
    },
    /// A comparison of nothing.
    #[error("there is no run to compare")]
    NoRuns,
    /// The baseline is not among the runs.
    #[error("the baseline is run {index}, but there are only {runs} runs (the first is 0)")]
    Baseline {
        /// The index asked for.
        index: usize,
        /// The number of runs.
        runs: usize,
    },
    /// Two runs are of different workloads, so that their coflows cannot be compared.
    #[error("`{label}` was run on another workload than `{first}`")]
    WorkloadsDiffer {
        /// The first run.
        first: String,
        /// The run on another workload.
        label: String,
    },
}
