//! Max-min fairness among the flows of a coflow, in proportion to what is left of each.
//!
//! Every link has a water level in 1/s. A flow's rate is its bytes left times the least level on
//! its path. An allocation is fair when no flow's level can rise without lowering another that is
//! no higher. All flows that one link limits end together, so a coflow has as many ends as it has
//! bottlenecks, whatever the number of its flows. With one bottleneck for all flows, this is MADD;
//! otherwise flows that miss the bottleneck go faster and leave their links earlier.
//!
//! Time alone does not change these rates: what is left of a flow falls as its level rises, and the
//! product stays. So levels need not be computed again as time passes: they follow what is left
//! ([`ByLeft::raise`](crate::ByLeft::raise)). They are [kept](crate::kept::kept_levels) from one
//! decision to the next.

use super::sharing::{EntryFlows, Rates, RuleScratch, SharingRule};
use crate::error::PlanError;
use covey_core::Rule;

#[derive(Debug)]
pub struct Proportional;

impl SharingRule for Proportional {
    fn share(
        &self,
        _: &mut EntryFlows<'_>,
        _: &mut [f64],
        _: &mut Rates,
        _: &mut RuleScratch,
    ) -> Result<(), PlanError> {
        Err(PlanError::BytesLeftOfAPart)
    }

    fn in_backfill(&self, _: bool) -> Option<Rule> {
        Some(Rule::Proportional)
    }

    fn needs_whole_coflow(&self) -> bool {
        true
    }
}
