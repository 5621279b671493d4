//! The workload of Table VI.

use covey_trace::{TraceError, builtin};

use crate::item::Planner;
use crate::plan::TraceId;

/// The workload of Table VI, which CoflowSim generates without a trace.
pub(super) fn custom(planner: &mut Planner) -> Result<TraceId, TraceError> {
    const NAME: &str = "builtin:coflowsim-custom";
    let made = builtin("coflowsim-custom")?;
    // The workload does not depend on the trace that the user gave.
    Ok(planner.plan.defined_by_paper(NAME, made))
}
