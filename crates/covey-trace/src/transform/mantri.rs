//! Mappers that send unequally, as in the cluster Mantri describes (OSDI 2010; Philae, ATC 2019,
//! §8.1).

use super::shared::{bad, counted, only_static, senders};
use crate::error::TraceError;
use crate::random::Random;
use crate::stats::Quantiles;
use crate::workload::{Coflow, Workload};

/// The coefficient of variation of the mappers' bytes, over coflows with several mappers.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Mantri {
    /// Its median over these coflows; 0.34 in the cluster.
    pub cv_p50: f64,
    /// Its 90th percentile; 3.1 in the cluster.
    pub cv_p90: f64,
    /// The seed.
    pub seed: u64,
}

/// The 90th percentile of a standard normal variable.
const Z90: f64 = 1.281_551_565_544_600_4;

/// The tolerance of percentiles, as a share.
const TOLERANCE: f64 = 0.02;

/// `workload` with mappers that send unequally. Each reducer receives as much as before.
///
/// Coefficients of variation are lognormal over coflows, with the two percentiles. Among m mappers
/// the coefficient is at most √(m - 1), where one of them sends everything. So large coefficients
/// are assigned first, each to a random coflow that can have it. A mapper of a coflow has the
/// weight exp(s z), with z normal and the spread s that gives the coefficient drawn. A reducer's
/// bytes are shared in proportion to weights, but each flow has at least a byte.
///
/// # Errors
/// [`TraceError::Argument`] unless 0 < `cv_p50` < `cv_p90`, and if the coflows have too
/// few mappers for them.
pub fn mantri(workload: &Workload, how: Mantri) -> Result<Workload, TraceError> {
    only_static(workload)?;
    let Mantri { cv_p50, cv_p90, seed } = how;
    if !(cv_p50 > 0.0 && cv_p90 > cv_p50 && cv_p90.is_finite()) {
        return Err(bad("cv-p50, cv-p90", "0 < cv-p50 < cv-p90", format!("{cv_p50}, {cv_p90}")));
    }
    let mut workload = workload.clone();
    let mut random = Random::new("covey mantri", seed);
    // Indices and numbers of mappers of coflows with several, in random order.
    let mut coflows: Vec<(usize, usize)> = (0..)
        .zip(&workload.coflows)
        .map(|(index, coflow)| (index, senders(coflow).0.len()))
        .filter(|&(_, mappers)| mappers > 1)
        .collect();
    random.shuffle(&mut coflows);
    let sigma = libm::log(cv_p90 / cv_p50) / Z90;
    let several = coflows.len();
    let n = several as f64;
    for rank in (0..coflows.len()).rev() {
        let q = (rank as f64 + 0.5) / n;
        let cv = cv_p50 * libm::exp(sigma * normal_quantile(q));
        let max_cv = |mappers: usize| ((mappers - 1) as f64).sqrt();
        let able = coflows.iter().position(|&(_, mappers)| 0.999 * max_cv(mappers) >= cv);
        let widest = (0..coflows.len()).max_by_key(|&k| coflows[k].1);
        if let Some(chosen) = able.or(widest) {
            let (index, mappers) = coflows.swap_remove(chosen);
            redraw(&mut workload.coflows[index], cv.min(0.999 * max_cv(mappers)), &mut random);
        }
    }
    let cvs = Quantiles::of(workload.coflows.iter().filter_map(mapper_cv).collect());
    let near = |found: f64, wanted: f64| (found / wanted - 1.0).abs() <= TOLERANCE;
    if !cvs.is_some_and(|cvs| near(cvs.p50, cv_p50) && near(cvs.p90, cv_p90)) {
        let expected = format!(
            "enough coflows, with enough mappers, for coefficients of variation of {cv_p50} and {cv_p90} \
             (n mappers allow up to √(n - 1))"
        );
        let found = cvs.map_or("none with two mappers".to_owned(), |cvs| {
            let (p50, p90) = (cvs.p50, cvs.p90);
            let several = counted(several, "coflow");
            format!("{p50:.3} and {p90:.3} at most, over {several} with several mappers")
        });
        return Err(bad("mantri", expected, found));
    }
    Ok(workload)
}

/// The coefficient of variation (standard deviation over mean) of the bytes of a coflow's mappers
/// (sending ports). `None` with fewer than two mappers, or without bytes.
pub fn mapper_cv(coflow: &Coflow) -> Option<f64> {
    let (ports, of_flow) = senders(coflow);
    let bytes = coflow.flows.iter().map(|flow| flow.bytes);
    cv(&sums(&of_flow, bytes, ports.len()))
}

/// The sum of each of `n` groups, by the group of each item.
fn sums(group: &[usize], items: impl Iterator<Item = f64>, n: usize) -> Vec<f64> {
    let mut sums = vec![0.0; n];
    for (&group, item) in group.iter().zip(items) {
        sums[group] += item;
    }
    sums
}

fn cv(values: &[f64]) -> Option<f64> {
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    let variance =
        values.iter().map(|v| (v - mean) * (v - mean)).sum::<f64>() / values.len() as f64;
    (values.len() > 1 && mean > 0.0).then(|| variance.sqrt() / mean)
}

/// Divides each reducer's bytes again among the mappers. Their coefficient of variation becomes
/// `target`, or as near as possible.
fn redraw(coflow: &mut Coflow, target: f64, random: &mut Random) {
    let (ports, of_flow) = senders(coflow);
    let normal: Vec<f64> = ports.iter().map(|_| random.normal()).collect();
    let greatest = normal.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let reducer: Vec<usize> = {
        let mut receiver_index = std::collections::HashMap::new();
        let number = coflow.flows.iter().map(|flow| {
            let next = receiver_index.len();
            *receiver_index.entry(flow.dst).or_insert(next)
        });
        number.collect()
    };
    let reducers = reducer.iter().max().map_or(0, |last| last + 1);
    let received = sums(&reducer, coflow.flows.iter().map(|flow| flow.bytes), reducers);
    let flows = sums(&reducer, coflow.flows.iter().map(|_| 1.0), reducers);
    // The flows' bytes for a spread of weights.
    let share = |spread: f64| -> Vec<f64> {
        let weight = |&sender: &usize| libm::exp(spread * (normal[sender] - greatest));
        let weights: Vec<f64> = of_flow.iter().map(weight).collect();
        let all = sums(&reducer, weights.iter().copied(), reducers);
        let bytes = reducer.iter().zip(&weights).map(|(&r, weight)| {
            let min_bytes = (received[r] / flows[r]).min(1.0);
            min_bytes + (received[r] - flows[r] * min_bytes) * weight / all[r]
        });
        bytes.collect()
    };
    let cv_at = |spread| cv(&sums(&of_flow, share(spread).into_iter(), ports.len())).unwrap_or(0.0);
    let (mut low, mut high) = (0.0, 1.0);
    while cv_at(high) < target && high < 1e6 {
        (low, high) = (high, 2.0 * high);
    }
    for _ in 0..50 {
        let middle = 0.5 * (low + high);
        if cv_at(middle) < target {
            low = middle;
        } else {
            high = middle;
        }
    }
    for (flow, bytes) in coflow.flows.iter_mut().zip(share(high)) {
        flow.bytes = bytes;
    }
}

/// The value below which a standard normal variable lies with probability `q`, by bisection of the
/// error function.
fn normal_quantile(q: f64) -> f64 {
    let (mut low, mut high) = (-10.0, 10.0);
    for _ in 0..60 {
        let middle = 0.5 * (low + high);
        if 0.5 * libm::erfc(-middle * std::f64::consts::FRAC_1_SQRT_2) < q {
            low = middle;
        } else {
            high = middle;
        }
    }
    0.5 * (low + high)
}
