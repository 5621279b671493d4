//! Jobs of several stages (Stream, §V: many-to-many pattern).

use std::str::FromStr;

use super::shared::{bad, only_static};
use crate::error::TraceError;
use crate::limits::{MAX_FLOWS, MAX_PARENTS};
use crate::workload::{Coflow, Workload};

/// The shape of a job: its stages and the stages that each waits for.
///
/// Our copy of the paper lacks Stream's Figure 4, which draws both shapes. Its table of sizes
/// begins at 6 MB for jobs made of coflows of 1 MB, so both shapes have six stages. The
/// dependencies are our choice.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    /// TPC-DS query 42: stage 3 joins `date_dim` (1) and `store_sales` (2); stage 5 joins the
    /// result with `item` (4) and aggregates it; stage 6 sorts.
    Query42,
    /// Facebook's TAO: a read that misses goes from web server to follower cache, leader cache and
    /// database, and the answer back: a chain of six.
    Tao,
}

impl Shape {
    /// The stages that each stage waits for, counted from 0.
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

/// Makes every coflow of `workload` a job. Each stage is an exact copy of the coflow, released when
/// the stages before it have ended. Stage s, from 1, of coflow `7` has the name `7.s`. The job has
/// the name of the coflow's own job, or else `7`. Children of the coflow wait for the last stage.
///
/// # Errors
/// [`TraceError::Argument`] if the result exceeds the limits on flows or parents.
pub fn dag(workload: &Workload, shape: Shape) -> Result<Workload, TraceError> {
    only_static(workload)?;
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
    for (index, coflow) in workload.coflows.iter().enumerate() {
        for (stage, parents) in stages.iter().enumerate() {
            let number = |index: usize, stage: u32| (index * n) as u32 + stage;
            let parents = if parents.is_empty() {
                coflow.parents.iter().map(|&p| number(p as usize, n as u32 - 1)).collect()
            } else {
                parents.iter().map(|&p| number(index, p)).collect()
            };
            coflows.push(Coflow {
                id: format!("{}.{}", coflow.id, stage + 1),
                parents,
                job: Some(coflow.job.clone().unwrap_or_else(|| coflow.id.clone())),
                ..coflow.clone()
            });
        }
    }
    Ok(workload.with_coflows(coflows))
}
