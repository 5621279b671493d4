//! Jobs of several stages (Stream, §V: many-to-many pattern).

use std::str::FromStr;

use super::shared::bad;
use crate::error::TraceError;
use crate::limits::{MAX_FLOWS, MAX_PARENTS};
use crate::workload::{Coflow, Workload};

/// The shape of a job: its stages and what each waits for.
///
/// Stream's Figure 4, which draws both, is lost in the text we have. Its table of sizes begins at
/// 6 MB for jobs made of coflows of 1 MB, so both have six stages; which wait for which is our
/// choice.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    /// TPC-DS query 42: `date_dim` (1) and `store_sales` (2) are joined (3); that and `item` (4) are
    /// joined and aggregated (5) and then sorted (6).
    Query42,
    /// Facebook's TAO: a read that misses goes from web server to follower cache, leader cache and
    /// database, and the answer back: a chain of six.
    Tao,
}

impl Shape {
    /// The stages each stage waits for, from 0.
    fn parents(self) -> [&'static [u32]; 6] {
        match self {
            Shape::Query42 => [&[], &[], &[0, 1], &[], &[2, 3], &[4]],
            Shape::Tao => [&[], &[0], &[1], &[2], &[3], &[4]],
        }
    }
}

impl FromStr for Shape {
    type Err = TraceError;

    fn from_str(text: &str) -> Result<Shape, TraceError> {
        match text.to_ascii_lowercase().as_str() {
            "q42" => Ok(Shape::Query42),
            "tao" => Ok(Shape::Tao),
            _ => Err(bad("shape", "q42 or tao", crate::error::quote(text))),
        }
    }
}

/// Every coflow of `workload` as a job: each stage is an exact copy of it, released when the stages
/// before have ended. Stage s, from 1, of coflow `7` is named `7.s`; the job is called as the
/// coflow's own job, if it has one, or else `7`. Children of the coflow wait for the last stage.
///
/// # Errors [`TraceError::Argument`] if the result exceeds the limits on flows or parents.
pub fn dag(workload: &Workload, shape: Shape) -> Result<Workload, TraceError> {
    let stages = shape.parents();
    let n = stages.len();
    let flows = workload.num_flows() * n;
    if flows > MAX_FLOWS as usize {
        let expected = format!("at most {MAX_FLOWS} flows in {n} stages a coflow");
        return Err(bad("shape", expected, flows));
    }
    let links = workload.coflows.iter().map(|c| n * (c.parents.len() + 1)).sum::<usize>();
    if links > MAX_PARENTS {
        return Err(bad("shape", format!("at most {MAX_PARENTS} parents"), links));
    }
    let mut coflows = Vec::with_capacity(workload.coflows.len() * n);
    for (place, coflow) in workload.coflows.iter().enumerate() {
        for (stage, parents) in stages.iter().enumerate() {
            let number = |place: usize, stage: u32| (place * n) as u32 + stage;
            let parents = if parents.is_empty() {
                coflow.parents.iter().map(|&p| number(p as usize, n as u32 - 1)).collect()
            } else {
                parents.iter().map(|&p| number(place, p)).collect()
            };
            coflows.push(Coflow {
                id: format!("{}.{}", coflow.id, stage + 1),
                parents,
                job: Some(coflow.job.clone().unwrap_or_else(|| coflow.id.clone())),
                ..coflow.clone()
            });
        }
    }
    Ok(Workload { ports: workload.ports, coflows })
}
