//! Tenants for the coflows of a workload.

use std::collections::HashMap;
use std::str::FromStr;

use covey_core::TenantWeights;

use super::parts::{Part, take_apart};
use super::shared::{bad, only_static};
use crate::error::TraceError;
use crate::random::Random;
use crate::workload::{Coflow, Workload};

/// How [`tenants`] deals coflows to tenants.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Tenants {
    /// The tenants. Each draw gives a tenant its weight's part of the sum of all weights as
    /// probability.
    pub shares: TenantWeights,
    /// What is drawn for.
    pub by: TenantsBy,
    /// The seed.
    pub seed: u64,
}

/// What [`tenants`] deals to tenants.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum TenantsBy {
    /// Each job with all its coflows. A coflow without a job counts as one.
    Job,
    /// Each coflow.
    #[default]
    Coflow,
    /// Each flow: a coflow becomes a coflow of each tenant that has some of its flows, and a job.
    Split,
}

impl FromStr for TenantsBy {
    type Err = TraceError;

    fn from_str(text: &str) -> Result<TenantsBy, TraceError> {
        match text.to_ascii_lowercase().as_str() {
            "job" => Ok(TenantsBy::Job),
            "coflow" => Ok(TenantsBy::Coflow),
            "split" => Ok(TenantsBy::Split),
            _ => Err(bad("by", "job, coflow or split", crate::error::quote(text))),
        }
    }
}

/// `workload` with a tenant for each coflow, drawn at random; tenants that it names are replaced.
/// With [`TenantsBy::Split`] the flows of coflow `7` make the coflows `7.a` of tenant `a`, `7.b` of
/// tenant `b` and so on, without those that have no flow. They have the arrival, weight and
/// deadline of `7` and its job, or else the job `7`. Each waits for all parts of the parents of
/// `7`.
///
/// # Errors
/// [`TraceError::Argument`] if there are no tenants; if a workload that is to be split has events
/// or attempts, or the result would exceed the limits on parents or names, or give two coflows the
/// same name.
pub fn tenants(workload: &Workload, how: &Tenants) -> Result<Workload, TraceError> {
    let names = how.shares.names();
    if names.is_empty() {
        return Err(bad("shares", "at least one tenant", "none"));
    }
    let mut random = Random::new("covey tenants", how.seed);
    let mut draw = || pick(how.shares.weights(), random.unit());
    match how.by {
        TenantsBy::Job => {
            let mut of_job: HashMap<String, usize> = HashMap::new();
            Ok(assigned(workload, names, |coflow| match &coflow.job {
                Some(job) => *of_job.entry(job.clone()).or_insert_with(&mut draw),
                None => draw(),
            }))
        }
        TenantsBy::Coflow => Ok(assigned(workload, names, |_| draw())),
        TenantsBy::Split => {
            only_static(workload)?;
            take_apart(workload, "tenants", |coflow| parts(coflow, names, &mut draw))
        }
    }
}

/// The place of a weight, by a number from 0 to 1 of their sum.
fn pick(weights: &[f64], unit: f64) -> usize {
    let mut left = unit * weights.iter().sum::<f64>();
    let reaches = |weight: &f64| {
        left -= weight;
        left < 0.0
    };
    // Sums are rounded.
    weights.iter().position(reaches).unwrap_or(weights.len() - 1)
}

fn assigned(
    workload: &Workload,
    names: &[String],
    mut tenant_of: impl FnMut(&Coflow) -> usize,
) -> Workload {
    let mut workload = workload.clone();
    for coflow in &mut workload.coflows {
        coflow.tenant = Some(names[tenant_of(coflow)].clone());
    }
    workload
}

/// A part for each tenant that gets some flows; a coflow without flows is the part of one.
fn parts(coflow: &Coflow, names: &[String], draw: &mut impl FnMut() -> usize) -> Vec<Part> {
    let part =
        |name: &String| Part { name: name.clone(), tenant: Some(name.clone()), flows: Vec::new() };
    let mut parts: Vec<Part> = names.iter().map(part).collect();
    if coflow.flows.is_empty() {
        return vec![parts.swap_remove(draw())];
    }
    (0..coflow.flows.len() as u32).for_each(|flow| parts[draw()].flows.push(flow));
    parts.retain(|part| !part.flows.is_empty());
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_picks_the_weight_in_whose_part_it_is() {
        let picked = [0.0, 0.7499, 0.75, 0.999_999].map(|unit| pick(&[3.0, 1.0], unit));
        assert_eq!(picked, [0, 0, 1, 1]);
        assert_eq!(pick(&[1e-6, 1e6, 1e-6], 0.5), 1);
    }
}
