//! Hold: the flows of an entry get nothing, not even by backfill.

use super::sharing::{EntryFlows, Rates, RuleScratch, SharingRule};
use crate::error::PlanError;
use covey_core::Rule;

#[derive(Debug)]
pub struct Hold;

impl SharingRule for Hold {
    fn share(
        &self,
        _: &mut EntryFlows<'_>,
        _: &mut [f64],
        _: &mut Rates,
        _: &mut RuleScratch,
    ) -> Result<(), PlanError> {
        Ok(())
    }

    fn in_backfill(&self, _: bool) -> Option<Rule> {
        None
    }

    fn waits_for_links(&self) -> bool {
        false
    }
}
