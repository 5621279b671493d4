//! `covey._core`: what the Python package `covey` takes from the Rust crates.
//!
//! Nothing is computed here: parsing, transformations, simulation, statistics and the words of errors
//! are the crates'. The package's own files (`python/covey`) give it the shape that Python expects.

mod conformance;
mod errors;
mod frame;
mod halt;
mod html;
mod json;
mod live;
mod pending;
mod plan;
mod policy;
mod registry;
mod reproduction;
mod run;
mod timeline;
mod trace;
mod view;

use pyo3::prelude::*;

#[pymodule]
mod _core {
    use pyo3::prelude::*;

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add("__version__", env!("CARGO_PKG_VERSION"))?;
        // Plots have the colours and dashes of the page.
        let style = include_str!("../../crates/covey-report/src/html/style.css");
        module.add("STYLE_SHEET", style)
    }

    #[pymodule_export]
    use crate::conformance::check;
    #[pymodule_export]
    use crate::errors::{
        ConformanceError, CoordinatorError, InputError, KnowledgeError, SimulationError,
    };
    #[pymodule_export]
    use crate::frame::Frame;
    #[pymodule_export]
    use crate::live::{
        LiveBlocks, LiveClient, LiveCoflow, LiveListener, LiveReceiver, LiveSender, connect,
    };
    #[pymodule_export]
    use crate::pending::Pending;
    #[pymodule_export]
    use crate::plan::PyPlan;
    #[pymodule_export]
    use crate::registry::{policies, split_list};
    #[pymodule_export]
    use crate::reproduction::{Reproduction, reproduce};
    #[pymodule_export]
    use crate::run::{Comparison, Result, Stop, run};
    #[pymodule_export]
    use crate::trace::{Trace, open, parse, parse_rows};
    #[pymodule_export]
    use crate::view::PyView;
}
