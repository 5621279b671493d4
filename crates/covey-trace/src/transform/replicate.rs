//! Copies of a workload, side by side.

use super::shared::only_static;
use crate::error::TraceError;
use crate::limits::{MAX_FLOWS, MAX_PORTS};
use crate::workload::{Coflow, Flow, Workload};

/// The workload run `k` times side by side, as Philae (section 9.3) makes a 900-port cluster of the
/// 150-port trace: copy number `c`, from 0, uses the ports `c * ports` to `c * ports + ports - 1`
/// and arrives with the original.
///
/// Copies of one coflow are next to each other, in order of `c`. Copy `c` of coflow `7` has the
/// name `7.c`, and jobs are named likewise; the parents of copy `c` are copies `c`. With `k` = 1
/// the workload does not change, and names do not either.
///
/// # Errors
/// [`TraceError::Argument`] if `k` is 0 or the result exceeds [`MAX_PORTS`] or
/// [`MAX_FLOWS`].
pub fn replicate(workload: &Workload, k: u32) -> Result<Workload, TraceError> {
    only_static(workload)?;
    let max_by_ports = MAX_PORTS / workload.ports.max(1);
    let max_by_flows = MAX_FLOWS as usize / workload.num_flows().max(1);
    let max = max_by_flows.min(max_by_ports as usize);
    if k == 0 || k as usize > max {
        return Err(TraceError::Argument {
            argument: "copies".to_owned(),
            expected: format!("1 to {max}"),
            found: k.to_string(),
        });
    }
    if k == 1 {
        return Ok(workload.clone());
    }
    let mut coflows = Vec::with_capacity(workload.coflows.len() * k as usize);
    for coflow in &workload.coflows {
        coflows.extend((0..k).map(|c| copy(coflow, c, k, c * workload.ports)));
    }
    let ports = workload.ports * k;
    Ok(Workload { ports, hosts: copied_hosts(workload, k), ..workload.with_coflows(coflows) })
}

/// The hosts of all copies: those of copy number `c` have `.c` behind their names.
fn copied_hosts(workload: &Workload, k: u32) -> Vec<String> {
    if workload.hosts.is_empty() {
        return Vec::new();
    }
    let name = |c: u32, port: u32| match workload.host(port) {
        Some(name) => format!("{name}.{c}"),
        None => String::new(),
    };
    (0..k).flat_map(|c| (0..workload.ports).map(move |port| name(c, port))).collect()
}

/// Copy number `c` of `k`, with its ports shifted by `shift`.
fn copy(coflow: &Coflow, c: u32, k: u32, shift: u32) -> Coflow {
    let shifted = |f: &Flow| Flow { src: f.src + shift, dst: f.dst + shift, ..*f };
    Coflow {
        id: format!("{}.{c}", coflow.id),
        flows: coflow.flows.iter().map(shifted).collect(),
        parents: coflow.parents.iter().map(|p| p * k + c).collect(),
        job: coflow.job.as_ref().map(|job| format!("{job}.{c}")),
        tenant: coflow.tenant.clone(),
        restarts: coflow.restarts.clone(),
        compressible: coflow.compressible.clone(),
        attempts: coflow.attempts.clone(),
        ..*coflow
    }
}
