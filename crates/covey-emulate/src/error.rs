//! Why an emulation cannot be run.

/// What an emulated simulator could not have been given, or does not finish.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum EmulationError {
    /// The coflow is no plain shuffle.
    #[error("coflow '{coflow}': {simulator} expects {expected}, found {found}")]
    Shape {
        /// The trace's name for the coflow.
        coflow: String,
        /// The emulated simulator.
        simulator: &'static str,
        /// What it can express.
        expected: &'static str,
        /// What the workload says.
        found: String,
    },
    /// The simulator stops at its last moment with coflows unfinished.
    #[error("{simulator} ends after {end_s} s, and coflow '{coflow}' has not ended by then")]
    Unfinished {
        /// The emulated simulator.
        simulator: &'static str,
        /// Its last moment in seconds.
        end_s: f64,
        /// The trace's name for the first unfinished coflow.
        coflow: String,
    },
}
