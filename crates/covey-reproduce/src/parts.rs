//! Derives workloads that are parts of a trace.

use std::convert::Infallible;

use covey_trace::Workload;

use crate::plan::{Plan, TraceId};

/// The first `count` coflows of a trace, which are quicker to simulate than all.
pub fn first(plan: &mut Plan, trace: TraceId, count: usize) -> TraceId {
    let name = format!("first {count} coflows of {}", plan.name(trace));
    let Ok(part) = plan.derived::<Infallible>(&name, trace, |all| {
        let coflows = all.coflows.iter().take(count).cloned().collect();
        Ok(Workload::new(all.ports, coflows))
    });
    part
}

/// A trace without its smallest flows, which are `percent` % of all. Coflows that lose all flows
/// are left out.
pub fn without_smallest(plan: &mut Plan, trace: TraceId, percent: usize) -> TraceId {
    let name = format!("largest {} % of the flows of {}", 100 - percent, plan.name(trace));
    let Ok(part) = plan.derived::<Infallible>(&name, trace, |all| {
        let mut sizes: Vec<f64> =
            all.coflows.iter().flat_map(|c| &c.flows).map(|f| f.bytes).collect();
        sizes.sort_unstable_by(f64::total_cmp);
        let drop = sizes.len() * percent / 100;
        let limit = sizes.get(drop).copied().unwrap_or(0.0);
        // Among flows of exactly the limit, the first of the trace are removed.
        let mut at_limit = drop - sizes.partition_point(|size| *size < limit);
        let mut left = all.clone();
        for coflow in &mut left.coflows {
            coflow.flows.retain(|flow| {
                let is_removed = flow.bytes < limit || (flow.bytes == limit && at_limit > 0);
                at_limit -= usize::from(is_removed && flow.bytes == limit);
                !is_removed
            });
        }
        left.coflows.retain(|coflow| !coflow.flows.is_empty());
        Ok(left)
    });
    part
}

#[cfg(test)]
mod tests {
    use super::*;
    use covey_trace::{Coflow, Flow};

    #[test]
    fn the_smallest_flows_and_empty_coflows_are_removed() {
        let coflow = |sizes: &[f64]| {
            let flow = |&bytes: &f64| Flow { src: 0, dst: 1, bytes, start_s: 0.0 };
            Coflow::new(sizes.len().to_string(), 0.0, sizes.iter().map(flow).collect())
        };
        let coflows = vec![coflow(&[1.0]), coflow(&[1.0, 5.0]), coflow(&[2.0, 9.0, 1.0])];
        let mut plan = Plan::default();
        let trace = plan.add("t", Workload::new(2, coflows), true);
        let part = without_smallest(&mut plan, trace, 34);
        let left = &plan.workload(part).coflows;
        let sizes: Vec<Vec<f64>> =
            left.iter().map(|c| c.flows.iter().map(|f| f.bytes).collect()).collect();
        assert_eq!(sizes, [vec![5.0], vec![2.0, 9.0, 1.0]]);
        let first = first(&mut plan, trace, 1);
        assert_eq!(plan.workload(first).coflows.len(), 1);
        assert_eq!(plan.name(part), "largest 66 % of the flows of t");
    }
}
