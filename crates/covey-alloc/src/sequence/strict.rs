//! Strict order: each entry is served from what the entries before it leave.

use super::pass::Pass;
use super::stepped::SteppedPass;
use crate::error::PlanError;
use crate::kept::stepped_plan::SteppedPlan;
use covey_core::state::State;
use covey_core::{Entry, Rank, Ranking};

/// Serves all entries of a plan.
///
/// # Errors
/// When the plan is wrong.
pub fn serve_all(
    pass: &mut Pass,
    stepped: &mut SteppedPlan,
    state: &State,
    ranking: &Ranking,
) -> Result<(), PlanError> {
    pass.served.start();
    pass.served.offered.clear();
    pass.served.offered.extend_from_slice(state.fabric().capacity());
    serve_in_order(pass, stepped, state, ranking, 0, ranking.entries.iter())
}

/// Serves some entries of a plan, one after another: all of them, or, where the plan is kept, those
/// that have one of the steps with number `k`.
///
/// # Errors
/// When the plan is wrong.
pub fn serve_in_order<'a>(
    pass: &mut Pass,
    stepped: &mut SteppedPlan,
    state: &State,
    ranking: &Ranking,
    k: usize,
    mut entries: impl Iterator<Item = &'a (Rank, Entry)>,
) -> Result<(), PlanError> {
    if !stepped.goes_by_steps {
        entries.try_for_each(|(_, entry)| pass.serve(state, entry).map(drop))
    } else if pass.is_from_scratch {
        SteppedPass { pass, stepped, state, ranking }.serve_all(k, entries)
    } else {
        SteppedPass { pass, stepped, state, ranking }.serve_steps(k)
    }
}
