//! Coflows with one receiver each.

use std::collections::HashMap;

use super::parts::{Part, take_apart};
use super::shared::only_static;
use crate::error::TraceError;
use crate::workload::{Coflow, Workload};

/// `workload` with a coflow for each receiver of each coflow. So a many-to-many coflow becomes
/// several many-to-one ones, as in Stream's (§IV) experiments.
///
/// Receiver number r, from 0 in order of its first flow, of coflow `7` makes the coflow `7.r0`,
/// `7.r1` and so on, also if there is only one. Its flows keep their order, starts and restarts.
/// The parts of a coflow have its arrival, weight, deadline and job; without a job, the job has the
/// name of the coflow. Each part waits for all parts of the coflow's parents.
///
/// # Errors
/// [`TraceError::Argument`] if the result exceeds the limits on parents or names, or if two coflows
/// would have the same name.
pub fn split_receivers(workload: &Workload) -> Result<Workload, TraceError> {
    only_static(workload)?;
    take_apart(workload, "split-receivers", by_receiver)
}

/// A part for each receiver, in order of its first flow.
fn by_receiver(coflow: &Coflow) -> Vec<Part> {
    let mut receiver_of = HashMap::new();
    let mut parts: Vec<Part> = Vec::new();
    for (index, flow) in (0..).zip(&coflow.flows) {
        let receiver = *receiver_of.entry(flow.dst).or_insert(parts.len());
        if receiver == parts.len() {
            let (name, tenant) = (format!("r{receiver}"), coflow.tenant.clone());
            parts.push(Part { name, tenant, flows: Vec::new() });
        }
        parts[receiver].flows.push(index);
    }
    parts
}
