//! The workload of Table VI.

use covey_trace::{TraceError, builtin};

use crate::item::Planner;
use crate::plan::TraceId;

/// The workload of Table VI: what CoflowSim makes when it is given no trace.
pub(super) fn custom(planner: &mut Planner) -> Result<TraceId, TraceError> {
    const NAME: &str = "builtin:coflowsim-custom";
    let made = builtin("coflowsim-custom")?;
    // It does not depend on the trace that was given.
    Ok(planner.plan.defined_by_paper(NAME, made))
}
