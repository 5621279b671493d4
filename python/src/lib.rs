//! `covey._core`: what the Python package `covey` takes from the Rust crates.
//!
//! Nothing is computed here: parsing, transformations, simulation, statistics and the words of
//! errors are the crates'. The package's own files (`python/covey`) give it the shape that Python
//! expects.

mod command;
mod conformance;
mod errors;
mod frame;
mod halt;
mod html;
mod identification;
mod json;
mod landmarks;
mod live;
mod network;
mod over_seeds;
mod pending;
mod plan;
mod policy;
mod registry;
mod regrouping;
mod reproduction;
mod run;
mod timeline;
mod trace;
mod view;
mod whatif;

use pyo3::prelude::*;

#[pymodule]
mod _core {
    use pyo3::prelude::*;

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }

    /// How the page of `covey compare --report` draws policies: a colour, and dashes and gaps in
    /// widths of the line, none for a line without gaps.
    #[pyfunction]
    #[allow(clippy::needless_pass_by_value)]
    fn page_styles(labels: Vec<String>, baseline: Option<usize>) -> Vec<(&'static str, Vec<f64>)> {
        /// Pixels of a line whose dashes the page gives in pixels.
        const WIDTH: f64 = 2.0;
        let labels: Vec<&str> = labels.iter().map(String::as_str).collect();
        let styles = covey_report::palette::styles(&labels, baseline);
        let look = |style: covey_report::palette::Style| {
            let dashes = covey_report::palette::DASHES[style.dash].iter();
            let colour = covey_report::palette::COLOURS[style.colour].light;
            (colour, dashes.map(|length| length / WIDTH).collect())
        };
        styles.into_iter().map(look).collect()
    }

    #[pymodule_export]
    use crate::command::run_command;
    #[pymodule_export]
    use crate::conformance::check;
    #[pymodule_export]
    use crate::errors::{
        ConformanceError, CoordinatorError, InputError, KnowledgeError, SimulationError,
    };
    #[pymodule_export]
    use crate::frame::Frame;
    #[pymodule_export]
    use crate::identification::{Identification, identify};
    #[pymodule_export]
    use crate::landmarks::bound;
    #[pymodule_export]
    use crate::live::{
        LiveBlocks, LiveClient, LiveCoflow, LiveListener, LiveReceiver, LiveSender, connect,
    };
    #[pymodule_export]
    use crate::over_seeds::{OverSeeds, Seeds};
    #[pymodule_export]
    use crate::pending::Pending;
    #[pymodule_export]
    use crate::plan::PyPlan;
    #[pymodule_export]
    use crate::registry::{policies, split_list, units, uses_seed};
    #[pymodule_export]
    use crate::regrouping::{NewGroup, PyRegrouping};
    #[pymodule_export]
    use crate::reproduction::{Reproduction, reproduce};
    #[pymodule_export]
    use crate::run::{Comparison, Result, Stop, run};
    #[pymodule_export]
    use crate::trace::{Trace, open, parse, parse_rows};
    #[pymodule_export]
    use crate::view::{Newcomer, PyView};
    #[pymodule_export]
    use crate::whatif::{WhatIf, whatif};
}
