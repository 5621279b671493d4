//! Coflows that arrive together.

use super::shared::{bad, only_static};
use crate::error::TraceError;
use crate::workload::Workload;

/// The coflows of `workload` in bursts: each `group` consecutive arrivals move to the time of the
/// first. If `group` is at least the number of coflows, all arrive at once, as in the bursty
/// traffic of Stream (§V).
///
/// # Errors
/// [`TraceError::Argument`] if `group` is 0.
pub fn burst(workload: &Workload, group: usize) -> Result<Workload, TraceError> {
    only_static(workload)?;
    if group == 0 {
        return Err(bad("group", "at least 1 coflow", group));
    }
    let mut workload = workload.clone();
    let mut order: Vec<usize> = (0..workload.coflows.len()).collect();
    // The sort is stable: ties keep the order of the trace.
    order.sort_by(|&a, &b| workload.coflows[a].arrival_s.total_cmp(&workload.coflows[b].arrival_s));
    for burst in order.chunks(group) {
        let first_s = workload.coflows[burst[0]].arrival_s;
        burst.iter().for_each(|&index| workload.coflows[index].arrival_s = first_s);
    }
    Ok(workload)
}
