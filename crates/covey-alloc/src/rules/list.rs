//! The list of sharing rules.

use super::all_or_none::AllOrNone;
use super::equal::Equal;
use super::fixed::Fixed;
use super::hold::Hold;
use super::madd::Madd;
use super::matching::Matching;
use super::max_min::MaxMin;
use super::proportional::Proportional;
use super::sharing::{AllFlowsOnly, SharingRule};
use covey_core::Rule;

/// Calls `call` with the implementation of a rule that a plan names.
#[inline]
pub fn with<T>(rule: Rule, call: impl FnOnce(&dyn SharingRule) -> T) -> T {
    match rule {
        Rule::MaxMin => call(&MaxMin),
        Rule::Equal => call(&Equal),
        Rule::AllOrNone => call(&AllOrNone),
        Rule::Matching | Rule::MatchingByLoad => call(&Matching { rule }),
        Rule::Madd => call(&Madd { within_s: None }),
        Rule::MaddWithin(seconds) => call(&Madd { within_s: Some(seconds) }),
        Rule::Proportional => call(&Proportional),
        Rule::Rate(bytes_per_s) => call(&Fixed { bytes_per_s }),
        Rule::Hold => call(&Hold),
        Rule::BySize | Rule::OldestFirst | Rule::ShortestFirst => call(&AllFlowsOnly { rule }),
    }
}
