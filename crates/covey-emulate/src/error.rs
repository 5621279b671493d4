//! The errors of emulations.

/// A workload that an emulated simulator cannot represent, or does not finish.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum EmulationError {
    /// The coflow is not a plain shuffle.
    #[error("coflow '{coflow}': {simulator} expects {expected}, found {found}")]
    Shape {
        /// The trace's name for the coflow.
        coflow: String,
        /// The emulated simulator.
        simulator: &'static str,
        /// What the simulator can represent.
        expected: &'static str,
        /// What the workload has.
        found: String,
    },
    /// The workload has events or attempts.
    #[error("{simulator} expects a trace without events and attempts, found some")]
    Events {
        /// The emulated simulator.
        simulator: &'static str,
    },
    /// The simulator stops at the end of its time with coflows unfinished.
    #[error("{simulator} ends after {end_s} s, and coflow '{coflow}' has not ended by then")]
    Unfinished {
        /// The emulated simulator.
        simulator: &'static str,
        /// The end of its time in seconds.
        end_s: f64,
        /// The trace's name for the first unfinished coflow.
        coflow: String,
    },
}
