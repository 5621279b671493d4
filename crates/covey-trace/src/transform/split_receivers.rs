//! Coflows with one receiver each.

use std::collections::{HashMap, HashSet};

use super::shared::{bad, only_static};
use crate::error::TraceError;
use crate::limits::{MAX_NAME_BYTES, MAX_PARENTS};
use crate::workload::{Coflow, Compressible, Restart, Workload};

/// `workload` with a coflow for each receiver of each coflow. So a many-to-many coflow becomes several
/// many-to-one ones, as in Stream's (§IV) experiments.
///
/// Receiver number r, from 0 in order of its first flow, of coflow `7` makes the coflow `7.r0`, `7.r1` and
/// so on, also if there is only one. Its flows keep their order, starts and restarts. The parts of a coflow
/// have its arrival, weight, deadline and job; without a job, the job has the name of the coflow. Each part
/// waits for all parts of the coflow's parents.
///
/// # Errors
/// [`TraceError::Argument`] if the result exceeds the limits on parents or names, or if two coflows would
/// have the same name.
pub fn split_receivers(workload: &Workload) -> Result<Workload, TraceError> {
    only_static(workload)?;
    let parts: Vec<Parts> = workload.coflows.iter().map(Parts::of).collect();
    let mut first_part = vec![0_u32];
    for parts in &parts {
        first_part.push(first_part[first_part.len() - 1] + parts.flows.len() as u32);
    }
    let parts_of = |&parent: &u32| first_part[parent as usize]..first_part[parent as usize + 1];
    let waits = workload.coflows.iter().zip(&parts).map(|(coflow, parts)| {
        parts.flows.len()
            * coflow.parents.iter().map(|parent| parts_of(parent).len()).sum::<usize>()
    });
    let waits = waits.fold(0, usize::saturating_add);
    if waits > MAX_PARENTS {
        return Err(bad("split-receivers", format!("at most {MAX_PARENTS} parents"), waits));
    }
    let mut coflows = Vec::with_capacity(first_part[parts.len()] as usize);
    let mut names = HashSet::new();
    for (coflow, parts) in workload.coflows.iter().zip(&parts) {
        let parents: Vec<u32> = coflow.parents.iter().flat_map(parts_of).collect();
        let job = coflow.job.clone().unwrap_or_else(|| coflow.id.clone());
        for (r, flows) in parts.flows.iter().enumerate() {
            let id = format!("{}.r{r}", coflow.id);
            if id.len() > MAX_NAME_BYTES {
                let expected = format!("names up to {MAX_NAME_BYTES} bytes");
                return Err(bad("split-receivers", expected, id.len()));
            }
            if !names.insert(id.clone()) {
                return Err(bad(
                    "split-receivers",
                    "names that stay different",
                    format!("two {id}"),
                ));
            }
            coflows.push(Coflow {
                id,
                flows: flows.iter().map(|&f| coflow.flows[f as usize]).collect(),
                parents: parents.clone(),
                job: Some(job.clone()),
                tenant: coflow.tenant.clone(),
                restarts: parts.restarts(coflow, r),
                compressible: parts.compressible(coflow, r),
                attempts: Vec::new(),
                ..*coflow
            });
        }
    }
    Ok(workload.with_coflows(coflows))
}

/// The flows of one coflow by receiver.
struct Parts {
    /// By receiver, in order of its first flow, the indices of its flows.
    flows: Vec<Vec<u32>>,
    /// By flow, its receiver and its index among the receiver's flows.
    part_of: Vec<(usize, u32)>,
}

impl Parts {
    fn of(coflow: &Coflow) -> Parts {
        let mut receiver_of = HashMap::new();
        let mut parts = Parts { flows: Vec::new(), part_of: Vec::new() };
        for (index, flow) in (0..).zip(&coflow.flows) {
            let next = parts.flows.len();
            let receiver = *receiver_of.entry(flow.dst).or_insert(next);
            if receiver == next {
                parts.flows.push(Vec::new());
            }
            parts.part_of.push((receiver, parts.flows[receiver].len() as u32));
            parts.flows[receiver].push(index);
        }
        parts
    }

    fn restarts(&self, coflow: &Coflow, receiver: usize) -> Vec<Restart> {
        let restarts = coflow.restarts.iter().filter_map(|restart| {
            let (to, flow) = self.part_of[restart.flow as usize];
            (to == receiver).then_some(Restart { flow, ..*restart })
        });
        restarts.collect()
    }

    fn compressible(&self, coflow: &Coflow, receiver: usize) -> Compressible {
        let flows = coflow.compressible.flows.iter().filter_map(|&(flow, ratio)| {
            let (to, flow) = self.part_of[flow as usize];
            (to == receiver).then_some((flow, ratio))
        });
        Compressible { flows: flows.collect(), ..coflow.compressible.clone() }
    }
}
