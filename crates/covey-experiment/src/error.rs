//! Errors of experiments.

use covey_alloc::PlanError;
use covey_emulate::{EmulationError, EmulationSpecError};
use covey_identify::MetricError;
use covey_sched::SpecError;
use covey_sim::SimError;
use covey_topology::TopologyError;
use covey_trace::TraceError;

/// Why an experiment failed. The message is one line.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// An argument is invalid. Front ends translate its name, such as `port-rate`, to what users
    /// write (`--port-rate`, `port_rate`).
    #[error("{argument}: {problem}")]
    Argument {
        /// The name of the argument.
        argument: &'static str,
        /// The expected and the found value.
        problem: String,
    },
    /// The trace cannot be read or is invalid.
    #[error(transparent)]
    Trace(#[from] TraceError),
    /// A file is no metric.
    #[error("{file}: {error}")]
    Metric {
        /// The file.
        file: String,
        /// Where it is wrong.
        error: MetricError,
    },
    /// The name or a parameter of a policy is wrong.
    #[error(transparent)]
    Spec(#[from] SpecError),
    /// The name or a parameter of a policy is wrong for an emulated simulator.
    #[error(transparent)]
    EmulationSpec(#[from] EmulationSpecError),
    /// An emulated simulator cannot take the workload.
    #[error(transparent)]
    Emulation(#[from] EmulationError),
    /// A policy that is not in the registry cannot be made.
    #[error("{0}")]
    Outside(String),
    /// A policy that is not in the registry has failed.
    #[error("{0}")]
    Fault(String),
    /// The simulation failed.
    #[error(transparent)]
    Sim(#[from] SimError),
    /// The report cannot be made.
    #[error(transparent)]
    Report(#[from] covey_report::Error),
}

impl From<TopologyError> for Error {
    fn from(error: TopologyError) -> Error {
        match error {
            TopologyError::Spec(problem) => Error::Argument { argument: "fabric", problem },
            TopologyError::File(error) => Error::Trace(error),
        }
    }
}

impl Error {
    /// The error for an invalid argument.
    pub fn argument(
        argument: &'static str,
        expected: impl std::fmt::Display,
        found: impl std::fmt::Display,
    ) -> Error {
        Error::Argument { argument, problem: format!("expected {expected}, found {found}") }
    }

    /// Whether the user's input is wrong. If not, the simulation or the operating system failed.
    pub fn is_input(&self) -> bool {
        match self {
            Error::Sim(error) => matches!(
                error,
                SimError::Ports { .. }
                    | SimError::Cycle { .. }
                    | SimError::Resolution { .. }
                    | SimError::Part { .. }
                    | SimError::NeverReturns { .. }
                    | SimError::Plan { source: PlanError::StartsOfATenant, .. }
            ),
            Error::Report(_) | Error::Fault(_) => false,
            _ => true,
        }
    }
}
