//! Coflows that are taken apart.

use std::collections::HashSet;

use super::shared::bad;
use crate::error::TraceError;
use crate::limits::{MAX_NAME_BYTES, MAX_PARENTS};
use crate::workload::{Coflow, Compressible, Restart, Workload};

/// Some flows of a coflow, which become a coflow.
pub(super) struct Part {
    /// What follows the coflow's name and a dot in the name of the part.
    pub name: String,
    /// To whom the part belongs.
    pub tenant: Option<String>,
    /// Indices of its flows, ascending. Each flow is in one part.
    pub flows: Vec<u32>,
}

/// `workload` with the parts of each coflow in its place. They have the arrival, weight and
/// deadline of the coflow, and its job or else a job of the coflow's name. Their flows keep their
/// starts and restarts. Each part waits for all parts of the coflow's parents. `transformation` is
/// named in errors.
///
/// # Errors
/// [`TraceError::Argument`] if the result exceeds the limits on parents or names, or if two coflows
/// would have the same name.
pub(super) fn take_apart(
    workload: &Workload,
    transformation: &str,
    parts_of: impl FnMut(&Coflow) -> Vec<Part>,
) -> Result<Workload, TraceError> {
    let parts: Vec<Vec<Part>> = workload.coflows.iter().map(parts_of).collect();
    let mut first_part = vec![0_u32];
    for parts in &parts {
        first_part.push(first_part[first_part.len() - 1] + parts.len() as u32);
    }
    let places = |&parent: &u32| first_part[parent as usize]..first_part[parent as usize + 1];
    let waits = workload.coflows.iter().zip(&parts).map(|(coflow, parts)| {
        parts.len() * coflow.parents.iter().map(|parent| places(parent).len()).sum::<usize>()
    });
    let waits = waits.fold(0, usize::saturating_add);
    if waits > MAX_PARENTS {
        return Err(bad(transformation, format!("at most {MAX_PARENTS} parents"), waits));
    }
    let mut coflows = Vec::with_capacity(first_part[parts.len()] as usize);
    let mut names = HashSet::new();
    for (coflow, parts) in workload.coflows.iter().zip(parts) {
        let parents: Vec<u32> = coflow.parents.iter().flat_map(places).collect();
        let job = coflow.job.clone().unwrap_or_else(|| coflow.id.clone());
        let seats = seats(coflow, &parts);
        for (k, part) in parts.into_iter().enumerate() {
            let id = format!("{}.{}", coflow.id, part.name);
            if id.len() > MAX_NAME_BYTES {
                let expected = format!("names up to {MAX_NAME_BYTES} bytes");
                return Err(bad(transformation, expected, id.len()));
            }
            if !names.insert(id.clone()) {
                let expected = "names that stay different";
                return Err(bad(transformation, expected, format!("two {id}")));
            }
            coflows.push(Coflow {
                id,
                flows: part.flows.iter().map(|&flow| coflow.flows[flow as usize]).collect(),
                parents: parents.clone(),
                job: Some(job.clone()),
                tenant: part.tenant,
                restarts: restarts(coflow, &seats, k),
                compressible: compressible(coflow, &seats, k),
                attempts: Vec::new(),
                ..*coflow
            });
        }
    }
    Ok(workload.with_coflows(coflows))
}

/// By flow: its part, and its index there.
fn seats(coflow: &Coflow, parts: &[Part]) -> Vec<(usize, u32)> {
    let mut seats = vec![(0, 0); coflow.flows.len()];
    for (k, part) in parts.iter().enumerate() {
        for (index, &flow) in (0..).zip(&part.flows) {
            seats[flow as usize] = (k, index);
        }
    }
    seats
}

fn restarts(coflow: &Coflow, seats: &[(usize, u32)], part: usize) -> Vec<Restart> {
    let restarts = coflow.restarts.iter().filter_map(|restart| {
        let (of, flow) = seats[restart.flow as usize];
        (of == part).then_some(Restart { flow, ..*restart })
    });
    restarts.collect()
}

fn compressible(coflow: &Coflow, seats: &[(usize, u32)], part: usize) -> Compressible {
    let flows = coflow.compressible.flows.iter().filter_map(|&(flow, ratio)| {
        let (of, flow) = seats[flow as usize];
        (of == part).then_some((flow, ratio))
    });
    Compressible { flows: flows.collect(), ..coflow.compressible.clone() }
}
