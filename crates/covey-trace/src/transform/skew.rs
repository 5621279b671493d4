//! Unequal flows inside a coflow.

use super::shared::{bad, only_static};
use crate::error::TraceError;
use crate::random::Random;
use crate::workload::Workload;

/// Multiplies every flow's size by a lognormal factor exp(σ z) of its own, with z normal, and then
/// scales each coflow back to its size. The public trace shares a reducer's bytes equally among the
/// mappers, which favours policies that estimate sizes from a few flows. This transformation
/// removes that advantage.
///
/// # Errors
/// [`TraceError::Argument`] if `sigma` is not from 0 to 10.
pub fn skew(workload: &Workload, sigma: f64, seed: u64) -> Result<Workload, TraceError> {
    only_static(workload)?;
    if !(0.0..=10.0).contains(&sigma) {
        return Err(bad("sigma", "a number from 0 to 10", sigma));
    }
    let mut random = Random::new("covey skew", seed);
    let mut workload = workload.clone();
    for coflow in &mut workload.coflows {
        let total = coflow.size_bytes();
        for flow in &mut coflow.flows {
            flow.bytes *= libm::exp(sigma * random.normal());
        }
        let drawn = coflow.size_bytes();
        if drawn > 0.0 {
            coflow.flows.iter_mut().for_each(|flow| flow.bytes *= total / drawn);
        }
    }
    Ok(workload)
}
