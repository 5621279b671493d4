//! Some of the coflows of a workload.

use super::shared::{bad, only_static};
use crate::error::TraceError;
use crate::stats::skew;
use crate::workload::{Coflow, Workload};

/// The tests that coflows must pass to stay.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Filter {
    /// Minimum number of flows. 8 gives *wide-coflows-only* of Philae (ATC 2019, §8.1).
    pub min_width: Option<usize>,
    /// Limit that the skew, the longest flow over the shortest, must exceed. 1 to 5 give
    /// *low-skew-filtered* of Philae (§8.1). The paper says that the skew is "at least" k, but its
    /// numbers are those of a skew above k.
    pub min_skew: Option<f64>,
}

/// The coflows of `workload` that pass `filter`, in their order. Coflows do not wait for a parent
/// that is left out.
///
/// # Errors
/// [`TraceError::Argument`] for a skew that is not a number, and if no coflow is left.
pub fn filter(workload: &Workload, filter: Filter) -> Result<Workload, TraceError> {
    only_static(workload)?;
    if let Some(skew) = filter.min_skew.filter(|skew| !(skew.is_finite() && *skew >= 0.0)) {
        return Err(bad("min-skew", "a number from 0", skew));
    }
    let passes = |coflow: &Coflow| {
        filter.min_width.is_none_or(|min| coflow.width() >= min)
            && filter.min_skew.is_none_or(|min| skew(coflow) > min)
    };
    let mut new_index = vec![None; workload.coflows.len()];
    let mut coflows: Vec<Coflow> = Vec::new();
    for (k, coflow) in workload.coflows.iter().enumerate() {
        if passes(coflow) {
            new_index[k] = Some(coflows.len() as u32);
            coflows.push(coflow.clone());
        }
    }
    if coflows.is_empty() {
        let widest = workload.coflows.iter().map(Coflow::width).max().unwrap_or(0);
        let max_skew = workload.coflows.iter().map(skew).fold(0.0, f64::max);
        let found = format!("none: the largest width is {widest}, the largest skew {max_skew}");
        return Err(bad("filter", "a coflow that passes", found));
    }
    for coflow in &mut coflows {
        coflow.parents = coflow.parents.iter().filter_map(|&p| new_index[p as usize]).collect();
    }
    Ok(workload.with_coflows(coflows).from_first_arrival())
}
