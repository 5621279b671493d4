//! A workload folded to fewer hosts, whose flows become real connections.

use std::collections::BTreeMap;

use super::scale::{Scale, scale};
use super::shared::{bad, only_static};
use crate::error::TraceError;
use crate::workload::{Flow, Workload};

/// Scales `workload` for hosts with one connection per pair and coflow. Merges flows of a coflow
/// between the same two ports that start together, drops flows from a port to itself, and rounds
/// bytes up to whole numbers. Merged flows are as compressible as all their bytes together, or as
/// the codec makes them if that is not known of one. Drops coflows without flows, too; their
/// children then wait for their parents.
///
/// Merging changes widths, and so the decisions of policies that count flows. Compare results only
/// with those of the same folded workload.
///
/// # Errors
/// Those of [`scale`](scale()).
pub fn fold(workload: &Workload, by: Scale) -> Result<Workload, TraceError> {
    only_static(workload)?;
    let mut folded = scale(workload, by)?;
    for coflow in &mut folded.coflows {
        // Starts are not negative, so their bits have the same order.
        let mut merged: BTreeMap<(u32, u32, u64), (f64, Option<f64>)> = BTreeMap::new();
        let has_ratios = !coflow.compressible.flows.is_empty();
        for (index, flow) in (0..).zip(&coflow.flows).filter(|(_, flow)| flow.src != flow.dst) {
            let compressed = coflow.compressible.ratio_of(index).map(|ratio| ratio * flow.bytes);
            let key = (flow.src, flow.dst, flow.start_s.to_bits());
            let (bytes, sum) = merged.entry(key).or_insert((0.0, Some(0.0)));
            *bytes += flow.bytes;
            *sum = sum.zip(compressed).map(|(sum, more)| sum + more);
        }
        if has_ratios {
            let ratio = |(k, (bytes, sum)): (u32, &(f64, Option<f64>))| {
                sum.filter(|_| *bytes > 0.0).map(|sum| (k, sum / bytes))
            };
            let ratios = (0..).zip(merged.values()).filter_map(ratio);
            coflow.compressible.flows = ratios.collect();
        }
        let flow = |((src, dst, start), (bytes, _)): ((u32, u32, u64), (f64, Option<f64>))| {
            let start_s = f64::from_bits(start);
            Flow { src, dst, bytes: bytes.ceil(), start_s }
        };
        coflow.flows = merged.into_iter().map(flow).collect();
        coflow.restarts.clear();
    }
    drop_empty(&mut folded);
    Ok(folded.from_first_arrival())
}

/// Every `n`th coflow of `workload`, beginning with the first.
///
/// # Errors
/// [`TraceError::Argument`] for 0, and if coflows have parents, which would be missing.
pub fn every(workload: &Workload, n: usize) -> Result<Workload, TraceError> {
    only_static(workload)?;
    if n == 0 {
        return Err(bad("every", "1 or more", n));
    }
    if n > 1 && workload.coflows.iter().any(|coflow| !coflow.parents.is_empty()) {
        return Err(bad("every", "1 for coflows with parents", n));
    }
    let coflows = workload.coflows.iter().step_by(n).cloned().collect();
    Ok(workload.with_coflows(coflows).from_first_arrival())
}

/// Drops coflows without flows. Their parents replace them as parents of their children.
fn drop_empty(workload: &mut Workload) {
    let count = workload.coflows.len();
    let mut parents: Vec<Vec<u32>> = workload.coflows.iter().map(|c| c.parents.clone()).collect();
    let empty: Vec<bool> = workload.coflows.iter().map(|c| c.flows.is_empty()).collect();
    // Each iteration replaces one more generation; a workload has no cycles.
    for _ in 0..count {
        if !parents.iter().flatten().any(|&parent| empty[parent as usize]) {
            break;
        }
        let before = parents.clone();
        for list in &mut parents {
            let lifted = list.iter().flat_map(|&parent| match empty[parent as usize] {
                true => before[parent as usize].clone(),
                false => vec![parent],
            });
            *list = lifted.collect();
            list.sort_unstable();
            list.dedup();
        }
    }
    let mut new_index = 0;
    let places: Vec<u32> = empty
        .iter()
        .map(|&is_empty| {
            new_index += u32::from(!is_empty);
            new_index.saturating_sub(1)
        })
        .collect();
    for (coflow, parents) in workload.coflows.iter_mut().zip(parents) {
        coflow.parents = parents.iter().map(|&parent| places[parent as usize]).collect();
    }
    workload.coflows.retain(|coflow| !coflow.flows.is_empty());
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workload::Coflow;

    fn flow(src: u32, dst: u32, bytes: f64) -> Flow {
        Flow { src, dst, bytes, start_s: 0.0 }
    }

    #[test]
    fn merged_flows_have_the_ratio_of_their_bytes() {
        let mut coflow = Coflow::new("a".into(), 0.0, vec![flow(0, 1, 30.0), flow(2, 1, 10.0)]);
        coflow.compressible.ratio = Some(0.5);
        coflow.compressible.flows = vec![(1, 1.0)];
        let workload = Workload::new(4, vec![coflow]);
        let by = Scale { time: 1.0, size: 1.0, ports: Some(2) };
        let folded = fold(&workload, by).expect("good factors");
        assert_eq!(folded.coflows[0].flows, [flow(0, 1, 40.0)]);
        assert_eq!(folded.coflows[0].compressible.ratio_of(0), Some(25.0 / 40.0));
    }

    #[test]
    fn flows_of_a_pair_are_merged_and_local_ones_dropped() {
        let mut coflows = vec![
            Coflow::new("a".into(), 0.0, vec![flow(0, 1, 10.0), flow(2, 3, 5.0), flow(0, 3, 0.5)]),
            Coflow::new("b".into(), 1.0, vec![flow(0, 2, 7.0)]),
            Coflow::new("c".into(), 2.0, vec![flow(1, 0, 7.0)]),
        ];
        coflows[1].parents = vec![0];
        coflows[2].parents = vec![1];
        let workload = Workload::new(4, coflows);
        let by = Scale { time: 1.0, size: 0.5, ports: Some(2) };
        let folded = fold(&workload, by).expect("good factors");
        assert_eq!(folded.ports, 2);
        let names: Vec<&str> = folded.coflows.iter().map(|c| c.id.as_str()).collect();
        assert_eq!(names, ["a", "c"]);
        // 5 + 2.5 + 0.25 bytes, rounded up.
        assert_eq!(folded.coflows[0].flows, [flow(0, 1, 8.0)]);
        assert!(every(&workload, 2).is_err(), "parents would be missing");
        assert_eq!(folded.coflows[1].parents, [0]);
    }
}
