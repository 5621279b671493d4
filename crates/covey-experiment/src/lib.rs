//! Simulates policies on a workload. The command line (`covey simulate`, `covey compare`) and the
//! Python package use this crate.
//!
//! ```
//! use covey_experiment::{Experiment, Setup, Silent};
//! let setup = Setup::default();
//! let workload = covey_trace::open("builtin:fb-like:coflows=20")?;
//! let contenders = setup.contenders("sebf,fair")?;
//! let experiment = Experiment::new(&workload, "an hour", &setup)?;
//! let runs = experiment.run(contenders, false, 1, &Silent)?;
//! assert_eq!(runs[1].info().label, "fair");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod contender;
mod effect;
mod error;
mod experiment;
mod landmarks;
mod metric;
pub mod outside;
pub mod parallel;
mod parameter_files;
mod progress;
mod scene;
mod setup;
mod tenants;
mod timelines;

pub use contender::{Contender, baseline};
pub use error::Error;
pub use experiment::Experiment;
pub use landmarks::{NO_BOUND, landmarks};
pub use metric::read_metric;
pub use parallel::cores;
pub use progress::{Progress, Silent, Watch};
pub use scene::Scene;
pub use setup::{FABRIC, PORT_RATE, Setup, listed};
pub use timelines::Recordings;
