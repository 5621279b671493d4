//! The errors of experiments.

use covey_emulate::{EmulationError, EmulationSpecError};
use covey_sched::SpecError;
use covey_sim::SimError;
use covey_trace::TraceError;

/// The reason that an experiment failed. The message is one line.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// An argument that cannot be used. Its name here is like `port-rate`; the front end knows how
    /// users write it (`--port-rate`, `port_rate`).
    #[error("{argument}: {problem}")]
    Argument {
        /// Its name.
        argument: &'static str,
        /// The expected and the found value.
        problem: String,
    },
    /// The trace.
    #[error(transparent)]
    Trace(#[from] TraceError),
    /// The name or a parameter of a policy.
    #[error(transparent)]
    Spec(#[from] SpecError),
    /// The name or a parameter of a policy of an emulated simulator.
    #[error(transparent)]
    EmulationSpec(#[from] EmulationSpecError),
    /// A workload that an emulated simulator cannot take.
    #[error(transparent)]
    Emulation(#[from] EmulationError),
    /// The simulation.
    #[error(transparent)]
    Sim(#[from] SimError),
    /// The report.
    #[error(transparent)]
    Report(#[from] covey_report::Error),
}

impl Error {
    /// The error for an argument that cannot be used.
    pub fn argument(
        argument: &'static str,
        expected: impl std::fmt::Display,
        found: impl std::fmt::Display,
    ) -> Error {
        Error::Argument { argument, problem: format!("expected {expected}, found {found}") }
    }

    /// Whether the user's input is wrong. Otherwise the simulation or the operating system failed.
    pub fn is_input(&self) -> bool {
        match self {
            Error::Sim(error) => matches!(error, SimError::Ports { .. } | SimError::Cycle { .. }),
            Error::Report(_) => false,
            _ => true,
        }
    }
}
